"""Selection of nearest neighbours from blocks of a distance matrix."""

import numpy as np

from fedmix.kernels.compiler import njit


@njit(cache=True, nogil=True)
def _replace_farthest(distances, labels, distance, label):
    """Replace the root of a max-heap and sift the new entry down."""
    size = distances.shape[0]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and distances[child + 1] > distances[child]:
            child += 1
        if distances[child] <= distance:
            break
        distances[place], labels[place] = distances[child], labels[child]
        place = child
    distances[place], labels[place] = distance, label


@njit(cache=True, nogil=True)
def merge_nearest(products, squares, first_row, first_column, nearest, labels):
    """Merge a block of scalar products into the nearest neighbours found so far.

    Parameters
    ----------
    products : (r, c) float32 array
        Scalar products of r points with c others.
    squares : (c,) float32 array
        Squared norms of the c others.
    first_row, first_column : int
        Index of the block's first point and of its first other; a point is no neighbour of itself.
    nearest, labels : (r, k) arrays
        A max-heap a point of (squared distance less the point's own squared norm, index),
        changed in place; empty places hold infinity.
    """
    for i in range(products.shape[0]):
        heap, heap_labels = nearest[i], labels[i]
        itself = first_row + i - first_column
        for j in range(products.shape[1]):
            distance = squares[j] - 2 * products[i, j]
            if distance < heap[0] and j != itself:
                _replace_farthest(heap, heap_labels, distance, first_column + j)


@njit(cache=True, nogil=True)
def squared_distances(points, neighbors, first):
    """Return the squared distances of points ``first + i`` to their neighbours, (r, k) float64."""
    result = np.zeros(neighbors.shape)
    for i in range(neighbors.shape[0]):
        for e in range(neighbors.shape[1]):
            j = neighbors[i, e]
            for c in range(points.shape[1]):
                difference = float(points[first + i, c]) - float(points[j, c])
                result[i, e] += difference * difference
    return result
