"""The descent of t-SNE: momentum, gains, and a schedule that is robust to sampling noise."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedmix.errors import DivergenceError

_EARLY_ITERATIONS = 250
_EARLY_MOMENTUM, _LATE_MOMENTUM = 0.5, 0.95
_MOMENTUM_RISE = 100  # iterations from one to the other
_MEMORY = 0.9  # of the running mean gradient that decides the gains
_LEAST_RATE = 200.0  # the usual rate of van der Maaten's program
_LONGEST_STEP = 0.5  # in units of the kernel's width
_REPORT_EVERY = 50


@dataclass(frozen=True)
class Progress:
    """Where a running t-SNE stands.

    Attributes
    ----------
    iteration, n_iter : int
        Iterations done, and in all.
    kl : float
        KL divergence without exaggeration; an estimate with sampled repulsion.
    seconds_left : float
        Time to the end at the pace so far.
    """

    iteration: int
    n_iter: int
    kl: float
    seconds_left: float

    def __str__(self) -> str:
        return (
            f"t-SNE iteration {self.iteration} of {self.n_iter}: KL {self.kl:.4f}, "
            f"{self.seconds_left:.0f} s left"
        )


def minimise(
    objective: Callable[..., Any],
    start: np.ndarray,
    early_exaggeration: float,
    n_iter: int,
    size: int | None,
    generator: np.random.Generator,
    callback: Callable[[Progress], None] | None,
) -> np.ndarray:
    """Minimise the KL divergence by gradient descent with momentum and gains.

    Parameters
    ----------
    objective : Objective
        Evaluates embeddings.
    start : ndarray of shape (n, d)
        Where to begin; left as it is.
    early_exaggeration : float
        Factor of the attraction in the first 250 iterations (a third of them if there are fewer
        than 750).
    n_iter : int
        Iterations in all.
    size : int or None
        Points that repel in an iteration, drawn anew each time; None for all.
    generator : numpy.random.Generator
        Draws the samples.
    callback : callable or None
        Called with a :class:`Progress` every 50 iterations and at the end.

    Returns
    -------
    ndarray of float32, shape (n, d)

    Raises
    ------
    DivergenceError
        The embedding left the finite numbers.
    """
    n = len(start)
    embedding = np.ascontiguousarray(start, dtype=np.float32)
    step, mean_gradient = np.zeros_like(embedding), np.zeros_like(embedding)
    gains = np.ones_like(embedding)
    early = min(_EARLY_ITERATIONS, n_iter // 3)
    began = time.perf_counter()
    for done in range(1, n_iter + 1):
        exaggeration, momentum = early_exaggeration, _EARLY_MOMENTUM
        if done > early:
            exaggeration, momentum = 1.0, _late_momentum(done - early)
        if done == early + 1:
            step[:], mean_gradient[:], gains[:] = 0, 0, 1
        rate = max(n / exaggeration, _LEAST_RATE) / 4  # the gradient has a factor 4, rates do not
        sample = None if size is None else generator.choice(n, size, replace=False)
        report = callback is not None and (done % _REPORT_EVERY == 0 or done == n_iter)
        gradient, kl, _ = objective(embedding, exaggeration, sample, with_kl=report)
        mean_gradient += np.float32(1 - _MEMORY) * (gradient - mean_gradient)
        _update_gains(gains, mean_gradient, step)
        step *= np.float32(momentum)
        step -= np.float32(rate) * gains * gradient
        _limit_rows(step, _LONGEST_STEP)
        embedding += step
        embedding -= embedding.mean(axis=0)
        if not np.isfinite(embedding).all():
            raise DivergenceError(
                f"t-SNE left the finite numbers in iteration {done} of {n_iter}; "
                "check init, or lower early_exaggeration."
            )
        if report:
            pace = (time.perf_counter() - began) / done
            callback(Progress(done, n_iter, kl, pace * (n_iter - done)))
    return embedding


def _late_momentum(done: int) -> float:
    """Return the momentum after ``done`` iterations without exaggeration; it rises slowly."""
    risen = min(done / _MOMENTUM_RISE, 1.0)
    return _EARLY_MOMENTUM + risen * (_LATE_MOMENTUM - _EARLY_MOMENTUM)


def _update_gains(gains: np.ndarray, gradient: np.ndarray, step: np.ndarray) -> None:
    """Raise a coordinate's gain if the last step still descends, and lower it otherwise."""
    descends = (gradient > 0) != (step > 0)
    gains *= np.where(descends, np.float32(1), np.float32(0.8))
    gains += np.where(descends, np.float32(0.2), np.float32(0))
    np.maximum(gains, np.float32(0.01), out=gains)


def _limit_rows(step: np.ndarray, longest: float) -> None:
    """Shorten the rows that are longer than ``longest``, in place."""
    length = np.sqrt(np.einsum("ij,ij->i", step, step))
    step *= np.float32(longest) / np.maximum(length, np.float32(longest))[:, None]
