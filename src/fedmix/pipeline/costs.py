"""The cost of a replication of a method, which Snakemake does not know.

It sizes blocks and forecasts the run time. ``config/costs.csv`` holds measured costs, one row per
study, data set, variant and method, each with the speed of the machine that it was measured on. A
plan depends on this file and not on the machine, so blocks have the same names everywhere. A
forecast is in seconds of the machine here.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import truediv
from pathlib import Path
from statistics import fmean, geometric_mean, median
from timeit import timeit
from typing import TYPE_CHECKING, NamedTuple

from fedmix.cells.printed import rows_of
from fedmix.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# In the column of methods: what the methods of a replication share, clients and initial values.
SHARED = "shared"
# In the column of studies: embeddings; the column of methods has the embedding's name.
EMBEDDINGS = "embeddings"
#: What identifies a cost. The variant is empty where the cost is known for all of them together.
PLACE = ("study", "dataset", "variant", "method")
COLUMNS = (*PLACE, "seconds", "memory", "arithmetic", "bandwidth", "interpreter")
_JOB = 600.0  # seconds of work: short enough to distribute, and its start takes less than 1 %
_UNKNOWN = 1.0  # seconds of a method with unknown cost
_SIZES = [digit * 10**power for power in range(6) for digit in (1, 2, 5)]


class Machine(NamedTuple):
    """Seconds that fixed tasks take on one core.

    ``arithmetic`` is an E-step, ``bandwidth`` passes over an array that no cache holds,
    ``interpreter`` Python code without arrays. Ratios say how many times as long the tasks take as
    on another machine.
    """

    arithmetic: float
    bandwidth: float
    interpreter: float

    def shortest(self, other: Machine) -> float:
        """Return the smallest ratio."""
        return min(map(truediv, self, other))

    def typical(self, other: Machine) -> float:
        """Return the geometric mean of the ratios."""
        return geometric_mean(map(truediv, self, other))

    def longest(self, other: Machine) -> float:
        """Return the largest ratio."""
        return max(map(truediv, self, other))


Key = tuple[str, str, str, str]
#: How many times as long as on the machine of a cost something takes on another.
Scale = Callable[[Machine], float]
_Relative = tuple[str | None, str | None, str | None, str | None]


@dataclass(frozen=True)
class Cost:
    """The cost of one replication: CPU seconds on one core, and peak memory of its job in MB.

    ``machine`` is the one that it was measured on.
    """

    seconds: float
    memory: float
    machine: Machine


@dataclass(frozen=True)
class Costs:
    """Known costs by study, data set (empty for simulations), variant and method."""

    known: Mapping[Key, Cost] = field(default_factory=dict)

    def seconds(
        self, study: str, dataset: str, variant: str, method: str, scale: Scale | None = None
    ) -> float:
        """Return CPU seconds per replication of a method, or of the most similar known ones.

        The most similar are the method in other variants, then on other data sets of the study,
        then in other studies, then all methods of the study. The unknown cost of shared work or of
        an embedding is zero. Without a ``scale``, they are those of the machines of the costs.
        """
        relatives: list[_Relative] = [
            (study, dataset, variant, method),
            (study, dataset, "", method),
            (study, dataset, None, method),
        ]
        if study != EMBEDDINGS:
            relatives += [(study, None, variant, method), (study, None, None, method)]
        if study != EMBEDDINGS and method != SHARED:
            relatives += [(None, None, None, method), (study, None, None, None)]
        for key in relatives:
            near = self._near.get(key)
            if near:
                return fmean(c.seconds * (scale(c.machine) if scale else 1.0) for c in near)
        return 0.0 if method == SHARED or study == EMBEDDINGS else _UNKNOWN

    def memory(self, study: str) -> float:
        """Return the largest known memory of a study's jobs in MB, or 0."""
        near = self._near.get((study, None, None, None), ())
        return max((cost.memory for cost in near), default=0.0)

    def block(self, study: str, dataset: str, variant: str, methods: Iterable[str]) -> int:
        """Return the number of replications of some methods that take a job at most ten minutes.

        It is 1, 2 or 5 times a power of ten, so that blocks keep their names if costs change a bit.
        """
        seconds = sum(self.seconds(study, dataset, variant, name) for name in (SHARED, *methods))
        return max((n for n in _SIZES if n * seconds <= _JOB), default=1)

    @cached_property
    def _near(self) -> Mapping[_Relative, list[Cost]]:
        """Costs by study, data set, variant and method; None stands for any of them."""
        near = defaultdict(list)
        for (study, dataset, variant, method), cost in self.known.items():
            for place in dict.fromkeys([(dataset, variant), (dataset, None), (None, variant)]):
                near[study, *place, method].append(cost)
            near[study, None, None, method].append(cost)
            near[None, None, None, method].append(cost)
            if method != SHARED:
                near[study, None, None, None].append(cost)
        return near


@cache
def read_costs(path: Path) -> Costs:
    """Read the known costs; a missing file gives none."""
    known = {}
    for line, row in enumerate(rows_of(path), start=2):
        try:
            study, dataset, variant, method = (row[name] for name in PLACE)
            seconds, memory, *tasks = (float(row[name]) for name in COLUMNS[len(PLACE) :])
            known[study, dataset, variant, method] = Cost(seconds, memory, Machine(*tasks))
        except (KeyError, ValueError):
            raise ConfigurationError(
                f"{path}:{line}: expected {', '.join(COLUMNS)}, of which the last five are "
                f"numbers, got {', '.join(row.values())}."
            ) from None
    return Costs(known)


def costs_text(actual: pd.DataFrame, machine: Machine, known: Costs) -> str:
    """Return the text of ``config/costs.csv``: one row per study, data set, variant and method.

    ``actual`` is as :func:`fedmix.pipeline.forecast.read_actual` returns it, from runs on
    ``machine``. ``known`` has the costs of all that was not run, such as embeddings.
    """
    import pandas as pd

    costs = dict(known.known)
    for (study, dataset, variant, method), rows in actual.groupby(list(PLACE)):
        costs.pop((study, dataset, "", method), None)  # the cost of all variants together
        cost = Cost(rows["seconds"].mean(), rows["memory"].max(), machine)
        costs[study, dataset, variant, method] = cost
    rows = []
    for key, cost in sorted(costs.items(), key=lambda entry: entry[0]):
        tasks = (f"{seconds:.4g}" for seconds in cost.machine)
        rows.append([*key, f"{cost.seconds:.4g}", f"{cost.memory:.0f}", *tasks])
    return pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False)


def core_hours(hours: float, most: float | None = None) -> str:
    """Return core-hours in words, or a range of them, in seconds where they are few.

    Examples
    --------
    >>> core_hours(1.5), core_hours(0.001), core_hours(1.0, 1.4)
    ('1.50 core-hours', '4 core-seconds', '1.00 to 1.40 core-hours')
    """
    most = hours if most is None else most
    unit, factor, digits = ("core-hours", 1, 2) if most >= 0.01 else ("core-seconds", 3600, 0)
    texts = dict.fromkeys(f"{number * factor:.{digits}f}" for number in (hours, most))
    return f"{' to '.join(texts)} {unit}"


def benchmark(seconds: float = 10.0) -> Machine:
    """Measure one core of this machine, in CPU seconds.

    The tasks take turns for some seconds, and the medians count, which a short load changes little.
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
    taken: list[list[float]] = []
    while not taken or time.monotonic() < end:
        taken.append([timeit(task, timer=time.process_time, number=1) for task in tasks])
    return Machine(*map(median, zip(*taken, strict=True)))


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
