"""The hot loops, compiled with Numba."""
