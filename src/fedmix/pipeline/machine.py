"""How fast a machine is at the kinds of work that methods do, to scale known costs to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_SECONDS = 10.0  # how long the benchmark lasts


@dataclass(frozen=True)
class Machine:
    """Seconds that fixed tasks take on one core.

    Parameters
    ----------
    arithmetic : float
        Distances, exponentials and weighted means, as in an E-step.
    bandwidth : float
        Passes over an array that no cache holds.
    interpreter : float
        Python code without arrays.
    """

    arithmetic: float
    bandwidth: float
    interpreter: float

    def ratios(self, other: Machine) -> list[float]:
        """Return how many times as long each task takes as on another machine."""
        return [mine / theirs for mine, theirs in zip(self.tasks, other.tasks, strict=True)]

    @property
    def tasks(self) -> tuple[float, float, float]:
        """The seconds in the order of the parameters."""
        return self.arithmetic, self.bandwidth, self.interpreter

    def shortest(self, other: Machine) -> float:
        """Return the smallest ratio to another machine."""
        return min(self.ratios(other))

    def typical(self, other: Machine) -> float:
        """Return the geometric mean of the ratios to another machine."""
        return geometric_mean(self.ratios(other))

    def longest(self, other: Machine) -> float:
        """Return the largest ratio to another machine."""
        return max(self.ratios(other))


def benchmark(seconds: float = _SECONDS) -> Machine:
    """Measure one core of this machine, in CPU seconds.

    The tasks use NumPy and Python alone, so that they stay the same when the methods become faster.

    Parameters
    ----------
    seconds : float, default=10.0
        How long to repeat the tasks in turn. The medians count, which a short load changes little.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    points, centres, large = rng.random((1_000, 10)), rng.random((10, 10)), np.ones(16_000_000)
    tasks: list[Callable[[], object]] = [
        lambda: [_e_step(points, centres) for _ in range(300)],
        lambda: [np.add(large, 1.0, out=large) for _ in range(3)],
        _loop,
    ]
    for task in tasks:  # loads code and data
        task()
    end = time.monotonic() + seconds
    taken = [[_seconds(task) for task in tasks]]
    while time.monotonic() < end:
        taken.append([_seconds(task) for task in tasks])
    return Machine(*map(median, zip(*taken, strict=True)))


def _seconds(task: Callable[[], object]) -> float:
    started = time.process_time()
    task()
    return time.process_time() - started


def _e_step(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    import numpy as np

    logs = points @ centres.T - (centres**2).sum(axis=1) / 2
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return (shares / shares.sum(axis=1, keepdims=True)).T @ points


def _loop() -> dict[int, int]:
    counts: dict[int, int] = {}
    for i in range(200_000):
        counts[i % 97] = counts.get(i % 97, 0) + i
    return counts
