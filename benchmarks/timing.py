"""The clock of all benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_seconds(
    function: Callable[[], object],
    repeats: int = 5,
    warm_up: bool = True,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Return the shortest of several times in CPU seconds, to reduce the effect of other jobs.

    Parameters
    ----------
    function : callable
        What is timed.
    repeats : int, default=5
        Runs that are timed.
    warm_up : bool, default=True
        Whether a first run, which may compile, is not timed.
    clock : callable, default=time.process_time
        ``time.perf_counter`` where threads are to be seen.
    """
    if warm_up:
        function()
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)
