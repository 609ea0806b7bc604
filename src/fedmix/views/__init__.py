"""Tables, figures and the page: layouts of cells."""
