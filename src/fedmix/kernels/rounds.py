"""The small formulas of a round. At a few small clients NumPy's calls take longer than the E-step.

They keep NumPy's order of operations, so that a fit does not depend on who computes them.
"""

import math

import numpy as np

from fedmix.kernels.compiler import njit


@njit(cache=True)
def mixing_weights(responsibilities, sizes, previous):
    """Return sums of responsibilities (K, R) over sizes (K,); empty clients keep the previous."""
    weights = np.empty(responsibilities.shape)
    for k in range(len(sizes)):
        for r in range(weights.shape[1]):
            own = responsibilities[k, r] / sizes[k] if sizes[k] > 0 else previous[k, r]
            weights[k, r] = own
    return weights


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
def penalty_thresholds(penalty, sizes):
    """Return lambda / sqrt(n_k), (K,), from sizes (K,); infinite for a client without points."""
    thresholds = np.empty(len(sizes))
    for k in range(len(sizes)):
        thresholds[k] = penalty / math.sqrt(sizes[k]) if sizes[k] > 0 else np.inf
    return thresholds


@njit(cache=True)
def shorten(deviations, lengths, thresholds):
    """Shorten deviations (K, R, d) of lengths (K, R) by thresholds (K,), to no less than zero."""
    shortened = np.empty(deviations.shape)
    for k in range(lengths.shape[0]):
        for r in range(lengths.shape[1]):
            ratio = thresholds[k] / lengths[k, r] if lengths[k, r] > 0 else 1.0
            factor = max(1.0 - ratio, 0.0)
            for c in range(deviations.shape[2]):
                shortened[k, r, c] = factor * deviations[k, r, c]
    return shortened


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
