"""Hot loops of t-SNE: nearest neighbours, and the two sums of the gradient.

The sums run over a range of points, so that threads can share the work. Their kernels keep the
precision of the embedding they are given (float32 in use, float64 in the tests), release the
interpreter lock, and add up in an order that does not depend on the threads.
"""

import numpy as np

from fedmix.kernels.compiler import njit

#: References in a block of the repulsion: long rows for the vector units, still near in the cache.
BLOCK = 512

_CACHE_LINE = 64
_REORDER = {"reassoc", "contract", "nsz", "arcp"}  # lets sums be vectorised; NaN stays NaN


def aligned_empty(shape, dtype):
    """Return an uninitialised array whose rows all start on a cache line.

    Rows that straddle cache lines cost the repulsion a third of its speed. Rows are padded, so
    the last axis may come out longer than asked for.
    """
    per_line = _CACHE_LINE // np.dtype(dtype).itemsize
    shape = (*shape[:-1], -(-shape[-1] // per_line) * per_line)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + _CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + size].view(dtype).reshape(shape)


# Inlined, because separately compiled code can round differently from code within the callers, and
# the cache of compiled code would decide which of the two runs.
@njit(inline="always", nogil=True, fastmath=_REORDER, error_model="numpy")
def _student(spread, degrees, force):
    """Return the sum of the Student densities; turn ``spread`` into u, ``force`` into density * u.

    ``spread`` holds 1 + distance^2; u = 1 / spread, density = u^((degrees + 1) / 2). Whole
    degrees of freedom need no power function, so that the loops vectorise.
    """
    one, total = spread.dtype.type(1), spread.dtype.type(0)
    if degrees == 1.0:
        for j in range(spread.shape[0]):
            u = one / spread[j]
            total += u
            spread[j] = u
            force[j] = u * u
        return total
    for j in range(spread.shape[0]):
        spread[j] = one / spread[j]
    half_powers = int(degrees) + 1
    if half_powers == degrees + 1.0:
        for j in range(spread.shape[0]):
            force[j] = np.sqrt(spread[j]) if half_powers % 2 else one
        for _ in range(half_powers // 2):
            for j in range(spread.shape[0]):
                force[j] *= spread[j]
    else:
        for j in range(spread.shape[0]):
            force[j] = spread[j] ** ((degrees + 1.0) / 2.0)
    for j in range(spread.shape[0]):
        total += force[j]
        force[j] *= spread[j]
    return total


@njit(inline="always", nogil=True, fastmath=_REORDER, error_model="numpy")
def _add_squares(row, other, first, second, spread):
    """Add to rows 0 to 3 of ``spread`` the squared distances to four points in two features.

    ``row`` and ``other`` hold the two features of the references, ``first`` and ``second`` those
    of the points. A name a point, rather than a loop, lets the compiler vectorise over j.
    """
    size = row.shape[0]
    spread0, spread1 = spread[0, :size], spread[1, :size]
    spread2, spread3 = spread[2, :size], spread[3, :size]
    y0, y1, y2, y3 = first[0], first[1], first[2], first[3]
    z0, z1, z2, z3 = second[0], second[1], second[2], second[3]
    for j in range(size):
        y, z = row[j], other[j]
        spread0[j] += (y0 - y) * (y0 - y) + (z0 - z) * (z0 - z)
        spread1[j] += (y1 - y) * (y1 - y) + (z1 - z) * (z1 - z)
        spread2[j] += (y2 - y) * (y2 - y) + (z2 - z) * (z2 - z)
        spread3[j] += (y3 - y) * (y3 - y) + (z3 - z) * (z3 - z)


@njit(inline="always", nogil=True, fastmath=_REORDER, error_model="numpy")
def _add_pushes(row, other, first, second, force, pushes):
    """Add to ``pushes`` (2, 4) the sums of four points' differences in two features.

    Rows 4 to 7 of ``force`` hold the weights of the four points' differences.
    """
    zero, size = row.dtype.type(0), row.shape[0]
    force0, force1 = force[4, :size], force[5, :size]
    force2, force3 = force[6, :size], force[7, :size]
    y0, y1, y2, y3 = first[0], first[1], first[2], first[3]
    z0, z1, z2, z3 = second[0], second[1], second[2], second[3]
    push0, push1, push2, push3 = zero, zero, zero, zero
    side0, side1, side2, side3 = zero, zero, zero, zero
    for j in range(size):
        y, z = row[j], other[j]
        push0 += force0[j] * (y0 - y)
        side0 += force0[j] * (z0 - z)
        push1 += force1[j] * (y1 - y)
        side1 += force1[j] * (z1 - z)
        push2 += force2[j] * (y2 - y)
        side2 += force2[j] * (z2 - z)
        push3 += force3[j] * (y3 - y)
        side3 += force3[j] * (z3 - z)
    pushes[0, 0] += push0
    pushes[0, 1] += push1
    pushes[0, 2] += push2
    pushes[0, 3] += push3
    pushes[1, 0] += side0
    pushes[1, 1] += side1
    pushes[1, 2] += side2
    pushes[1, 3] += side3


@njit(cache=True, nogil=True, fastmath=_REORDER, error_model="numpy")
def repulsion(
    references, n_references, points, places, degrees, start, stop, workspace, forces, totals
):
    """Sum the repulsion of the reference points on the points ``start:stop``.

    Four points and two features are done at a time: each load of a reference serves four points,
    and each load of a distance serves two features.

    Parameters
    ----------
    references : (d + d % 2, >= n_references) array
        Coordinates of the reference points in rows, divided by sqrt(degrees), from
        ``aligned_empty``; an odd d is followed by a row of zeros.
    n_references : int
        Number of reference points.
    points : (n, d) array
        The embedding, divided by sqrt(degrees).
    places : (n,) int array
        Where a point stands among the references, which is left out of its sums; -1: nowhere.
    degrees : float
        Degrees of freedom of the Student kernel.
    start, stop : int
        The points to do.
    workspace : (8, BLOCK) array
        Scratch space of this thread, from ``aligned_empty``.
    forces : (n, d) array
        Receives sum_j density_ij u_ij (y_i - y_j).
    totals : (n,) float64 array
        Receives sum_j density_ij.
    """
    d, dtype = points.shape[1], points.dtype
    group = np.zeros((references.shape[0], 4), dtype)
    pushes, densities = np.empty((references.shape[0], 4)), np.empty(4)
    for i in range(start, stop, 4):
        for g in range(4):
            group[:d, g] = points[min(i + g, stop - 1)]
        pushes[:] = 0
        densities[:] = 0
        for a in range(0, n_references, BLOCK):
            size = min(BLOCK, n_references - a)
            workspace[:4, :size] = 1
            for k in range(0, references.shape[0], 2):
                row, other = references[k, a : a + size], references[k + 1, a : a + size]
                _add_squares(row, other, group[k], group[k + 1], workspace)
            for g in range(4):
                place = places[min(i + g, stop - 1)] - a
                if 0 <= place < size:
                    workspace[g, place] = np.inf
                spread, force = workspace[g, :size], workspace[4 + g, :size]
                densities[g] += _student(spread, degrees, force)
            for k in range(0, references.shape[0], 2):
                row, other = references[k, a : a + size], references[k + 1, a : a + size]
                _add_pushes(row, other, group[k], group[k + 1], workspace, pushes[k : k + 2])
        for g in range(min(4, stop - i)):
            forces[i + g] = pushes[:d, g]
            totals[i + g] = densities[g]


@njit(cache=True, nogil=True, fastmath=_REORDER, error_model="numpy")
def _add_weighted(differences, weights, sums):
    """Add to ``sums[k]`` the sum of row k of ``differences``, weighted."""
    size = weights.shape[0]
    for k in range(differences.shape[0]):
        row, part = differences[k, :size], weights.dtype.type(0)
        for e in range(size):
            part += weights[e] * row[e]
        sums[k] += part


@njit(cache=True, nogil=True, fastmath=_REORDER, error_model="numpy")
def attraction(
    indptr, indices, affinities, points, degrees, correction, with_logs, start, stop, workspace,
    forces, near, logs,
):  # fmt: skip
    """Sum the attraction of the neighbours of the points ``start:stop``.

    Parameters
    ----------
    indptr, indices, affinities : arrays
        The symmetric affinities p_ij in compressed rows.
    points : (n, d) array
        The embedding, divided by sqrt(degrees).
    degrees : float
        Degrees of freedom of the Student kernel.
    correction : (n,) array, or empty
        Factor of each point's repulsion when met as a neighbour; empty leaves ``near`` alone.
    with_logs : bool
        Whether to fill ``logs``.
    start, stop : int
        The points to do.
    workspace : (d + 3, width) array
        Scratch space of this thread, from ``aligned_empty``; ``width`` neighbours go at once.
    forces : (n, d) array
        Receives sum_j p_ij u_ij (y_i - y_j).
    near : (n, d + 1) array
        Receives the neighbours' repulsion times their factor and, last, their density likewise.
    logs : (n,) float64 array
        Receives sum_j p_ij log density_ij.
    """
    d, width = points.shape[1], workspace.shape[1]
    zero = points.dtype.type(0)
    corrected = correction.shape[0] > 0
    for i in range(start, stop):
        forces[i] = 0
        near[i] = 0
        logs[i] = 0.0
        for a in range(indptr[i], indptr[i + 1], width):
            size = min(width, indptr[i + 1] - a)
            others, weights = indices[a : a + size], affinities[a : a + size]
            differences = workspace[:d]
            spread, force = workspace[d, :size], workspace[d + 1, :size]
            factor = workspace[d + 2, :size]
            spread[:] = 1
            for k in range(d):
                row, y = differences[k, :size], points[i, k]
                for e in range(size):
                    row[e] = y - points[others[e], k]
                    spread[e] += row[e] * row[e]
            if with_logs:
                for e in range(size):
                    logs[i] -= (degrees + 1.0) / 2.0 * weights[e] * np.log(spread[e])
            _student(spread, degrees, force)
            if corrected:
                total = zero
                for e in range(size):
                    factor[e] = correction[others[e]] * force[e]
                    total += factor[e] / spread[e]
                near[i, d] += total
                _add_weighted(differences, factor, near[i])
            for e in range(size):
                force[e] = weights[e] * spread[e]
            _add_weighted(differences, force, forces[i])


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

    ``products`` (r, c) are those of r points with c others, whose squared norms are ``squares``
    (c,), both float32. The block begins at point ``first_row`` and other ``first_column``; a point
    is no neighbour of itself. ``nearest`` and ``labels`` (r, k) are a max-heap a point of (squared
    distance less the point's own squared norm, index), changed in place; empty places hold
    infinity.
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
