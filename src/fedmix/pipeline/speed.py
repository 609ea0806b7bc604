"""How fast this machine is, in the unit of the known costs."""

from __future__ import annotations

import time
from statistics import median

_SECONDS = 10.0


def benchmark(seconds: float = _SECONDS) -> float:
    """Return CPU seconds that a fixed piece of work takes on one core of this machine.

    Parameters
    ----------
    seconds : float, default=10.0
        How long to repeat it, at least once; the median counts, so that a moment's load does not.
    """
    import numpy as np

    from fedmix.clients import Clients
    from fedmix.methods.unfederated_em import LocalEM

    points = np.random.default_rng(0).standard_normal((20_000, 10))
    clients = Clients.from_arrays(np.array_split(points, 20))
    start = np.full((20, 5), 0.2), np.tile(points[:5], (20, 1, 1))

    def work() -> float:
        started = time.process_time()
        LocalEM(n_components=5, max_rounds=200, tol=0.0, init=start, random_state=0).fit(clients)
        return time.process_time() - started

    work()  # loads compiled code
    end = time.monotonic() + seconds
    taken = [work()]
    while time.monotonic() < end:
        taken.append(work())
    return median(taken)
