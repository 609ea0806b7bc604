"""One frame of cells: our values beside the published ones, and the conclusions they support."""
