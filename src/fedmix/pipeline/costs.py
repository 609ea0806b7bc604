"""The cost of a replication of a method, used to size blocks and to forecast run time.

``config/costs.csv`` holds costs measured on one machine, one row per study, data set and method.
A plan depends on this file and not on the machine, so blocks have the same names everywhere.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from fedmix.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd

# In the column of methods: what the methods of a replication share, clients and initial values.
SHARED = "shared"
# In the column of studies: embeddings; the column of methods has the embedding's name.
EMBEDDINGS = "embeddings"
COLUMNS = ("study", "dataset", "method", "seconds", "memory", "benchmark")
_JOB = 600.0  # seconds of work: short enough to distribute, and its start takes less than 1 %
_UNKNOWN = 1.0  # seconds of a method with unknown cost
_SIZES = [digit * 10**power for power in range(6) for digit in (1, 2, 5)]

Key = tuple[str, str, str]
_Relative = tuple[str | None, str | None, str | None]


@dataclass(frozen=True)
class Cost:
    """The cost of one replication.

    Parameters
    ----------
    seconds : float
        CPU seconds on one core.
    memory : float
        Peak memory of its job, in MB.
    benchmark : float
        Seconds of :func:`fedmix.pipeline.forecast.benchmark` on the same machine.
    """

    seconds: float
    memory: float
    benchmark: float


@dataclass(frozen=True)
class Costs:
    """Known costs by study, data set (empty for simulations) and method."""

    known: Mapping[Key, Cost] = field(default_factory=dict)

    def seconds(self, study: str, dataset: str, method: str, unit: float | None = None) -> float:
        """Return CPU seconds per replication of a method, or of the most similar known ones.

        The most similar are the method on other data sets of the study, then in other studies, then
        all methods of the study. The unknown cost of shared work or of an embedding is zero.

        Parameters
        ----------
        study, dataset, method : str
        unit : float, optional
            Seconds that the benchmark takes on the machine of interest; default is the machine
            that the costs were measured on.
        """
        relatives: list[_Relative] = [(study, dataset, method)]
        if study != EMBEDDINGS:
            relatives.append((study, None, method))
        if study != EMBEDDINGS and method != SHARED:
            relatives += [(None, None, method), (study, None, None)]
        for key in relatives:
            near = self._near.get(key)
            if near:
                return fmean(c.seconds * (unit / c.benchmark if unit else 1.0) for c in near)
        return 0.0 if method == SHARED or study == EMBEDDINGS else _UNKNOWN

    def memory(self, study: str) -> float:
        """Return the largest known memory of a study's jobs in MB, or 0."""
        return max((cost.memory for cost in self._near.get((study, None, None), ())), default=0.0)

    def block(self, study: str, dataset: str, methods: Iterable[str]) -> int:
        """Return the number of replications of some methods that take a job at most ten minutes.

        It is 1, 2 or 5 times a power of ten, so that blocks keep their names if costs change a
        little or replications are added.
        """
        seconds = sum(self.seconds(study, dataset, name) for name in (SHARED, *methods))
        return max((n for n in _SIZES if n * seconds <= _JOB), default=1)

    @cached_property
    def _near(self) -> Mapping[_Relative, list[Cost]]:
        """Costs by study, data set and method; None stands for any of them."""
        near = defaultdict(list)
        for (study, dataset, method), cost in self.known.items():
            for key in ((study, dataset, method), (study, None, method), (None, None, method)):
                near[key].append(cost)
            if method != SHARED:
                near[study, None, None].append(cost)
        return near


@cache
def read_costs(path: Path) -> Costs:
    """Read the known costs; a missing file gives none.

    Raises
    ------
    ConfigurationError
        With the line that is not as expected.
    """
    if not path.is_file():
        return Costs()
    known = {}
    with open(path, encoding="utf-8", newline="") as stream:
        for line, row in enumerate(csv.DictReader(stream), start=2):
            try:
                study, dataset, method, *numbers = (row[name] for name in COLUMNS)
                known[study, dataset, method] = Cost(*map(float, numbers))
            except (KeyError, TypeError, ValueError):
                raise ConfigurationError(
                    f"{path}:{line}: expected {', '.join(COLUMNS)}, the last three numbers, got "
                    f"{', '.join(map(str, row.values()))}."
                ) from None
    return Costs(known)


def costs_text(actual: pd.DataFrame, unit: float, known: Costs) -> str:
    """Return the text of ``config/costs.csv``: one row per study, data set and method.

    Parameters
    ----------
    actual : DataFrame
        One row per replication, see :func:`fedmix.pipeline.forecast.read_actual`.
    unit : float
        Seconds that the benchmark takes here.
    known : Costs
        The costs of all that was not run, such as embeddings.
    """
    costs = dict(known.known)
    for key, rows in actual.groupby(["study", "dataset", "method"]):
        costs[key] = Cost(rows["seconds"].mean(), rows["memory"].max(), unit)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, cost in sorted(costs.items()):
        writer.writerow(
            [*key, f"{cost.seconds:.4g}", f"{cost.memory:.0f}", f"{cost.benchmark:.4g}"]
        )
    return table.getvalue()
