"""One frame of cells: our numbers beside the printed ones, and what follows from them."""
