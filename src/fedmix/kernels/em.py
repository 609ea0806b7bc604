"""E-step of Gaussian mixtures with identity covariances, and the small formulas of a round.

At a few small clients NumPy's calls would take longer than the E-step. The formulas keep NumPy's
order of operations, so that a fit does not depend on who computes them.
"""

import numpy as np

from fedmix.kernels.compiler import njit
from fedmix.kernels.responsibilities import BLOCK, REORDER, normalise


@njit(cache=True, fastmath=REORDER)
def gaussian_expectation(
    columns, offsets, weights, means, component_offsets, floor, with_scatter, with_likelihood
):
    """Sum responsibilities and weighted deviations over each client's points.

    The points are walked once in blocks; responsibilities live for one block only. Sums are taken
    about the current means, so that they keep their digits when the data lie far from the origin.

    Client k owns the ``columns`` (d, n), one row a feature, from ``offsets[k]`` to
    ``offsets[k + 1]``. It owns the components, with ``weights`` (C,) and ``means`` (C, d), from
    ``component_offsets[k]`` to ``component_offsets[k + 1]``. ``floor`` is that of
    :func:`fedmix.kernels.responsibilities.normalise`.

    Returns the sums of responsibilities (C,), of responsibility times (x - mean) (C, d) and of
    responsibility times |x - mean|^2 (C,), and the log-likelihoods (K,) up to the density's
    constant. The last two are zeros where not asked for.
    """
    n_clients, n_features = len(offsets) - 1, columns.shape[0]
    responsibilities = np.zeros(len(weights))
    scores = np.zeros((len(weights), n_features))
    scatters = np.zeros(len(weights))
    log_likelihoods = np.zeros(n_clients)
    most = np.max(np.diff(component_offsets))
    squares, kept = np.empty((most, BLOCK)), np.empty((most, BLOCK))
    largest, total = np.empty(BLOCK), np.empty(BLOCK)
    for k in range(n_clients):
        first, last = component_offsets[k], component_offsets[k + 1]
        own_weights, own_means = weights[first:last], means[first:last]
        for start in range(offsets[k], offsets[k + 1], BLOCK):
            stop = min(start + BLOCK, offsets[k + 1])
            n = stop - start
            _squared_distances(columns, start, stop, own_means, squares)
            if with_scatter:
                kept[:] = squares
            log_likelihoods[k] += normalise(
                squares, own_weights, floor, largest[:n], total[:n], with_likelihood
            )
            for r in range(last - first):
                row = squares[r, :n]
                summed = 0.0
                for i in range(n):
                    summed += row[i]
                responsibilities[first + r] += summed
                for c in range(n_features):
                    x = columns[c, start:stop]
                    mean = own_means[r, c]
                    summed = 0.0
                    for i in range(n):
                        summed += row[i] * (x[i] - mean)
                    scores[first + r, c] += summed
                if with_scatter:
                    square = kept[r, :n]
                    summed = 0.0
                    for i in range(n):
                        summed += row[i] * square[i]
                    scatters[first + r] += summed
    return responsibilities, scores, scatters, log_likelihoods


@njit(inline="always")
def _squared_distances(columns, start, stop, means, squares):
    """Fill ``squares`` (R, BLOCK) with squared distances of points to means (R, d)."""
    n_components, n_features = means.shape
    for r in range(n_components):
        row = squares[r, : stop - start]
        row[:] = 0.0
        for c in range(n_features):
            x = columns[c, start:stop]
            mean = means[r, c]
            for i in range(stop - start):
                row[i] += (x[i] - mean) * (x[i] - mean)


@njit(cache=True)
def mixing_weights(responsibilities, sizes, previous):
    """Return sums of responsibilities (K, R) over sizes (K,); empty clients keep the previous."""
    weights = np.empty(responsibilities.shape)
    for k in range(len(sizes)):
        for r in range(weights.shape[1]):
            own = responsibilities[k, r] / sizes[k] if sizes[k] > 0 else previous[k, r]
            weights[k, r] = own
    return weights


@njit(cache=True)
def weighted_means(scores, masses, means):
    """Return means (K, R, d) plus scores (K, R, d) over masses (K, R); those of no mass stay."""
    moved = means.copy()
    for k in range(masses.shape[0]):
        for r in range(masses.shape[1]):
            if masses[k, r] > 0:
                for c in range(moved.shape[2]):
                    moved[k, r, c] += scores[k, r, c] / masses[k, r]
    return moved


@njit(cache=True, error_model="numpy")
def limited_steps(step_sizes, curvatures):
    """Return the step sizes (K, R), each at most one over its curvature (K, R)."""
    limited = np.empty(step_sizes.shape)
    for k in range(limited.shape[0]):
        for r in range(limited.shape[1]):
            limit = 1.0 / curvatures[k, r]
            limited[k, r] = limit if limit < step_sizes[k, r] else step_sizes[k, r]
    return limited


@njit(cache=True)
def all_within(values, largest):
    """Return whether no value (m,) is NaN or larger than ``largest`` in absolute value."""
    return (np.abs(values) <= largest).all()


@njit(cache=True)
def has_settled(before, after, tolerance):
    """Return whether each of the values (m,) changed by less than the tolerance or not at all."""
    for i in range(len(after)):
        change = abs(before[i] - after[i])
        if not (change < tolerance or change == 0.0):
            return False
    return True
