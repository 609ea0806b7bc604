"""Distances inside hot loops."""

from __future__ import annotations

from fedmix.kernels.compiler import njit


@njit(cache=True, inline="always")
def squared_distance(x, y):
    """Return the squared Euclidean distance of two vectors of shape (d,)."""
    total = 0.0
    for f in range(len(x)):
        difference = x[f] - y[f]
        total += difference * difference
    return total
