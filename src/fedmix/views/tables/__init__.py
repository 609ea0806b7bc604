"""Tables of the papers: our results beside the published values."""
