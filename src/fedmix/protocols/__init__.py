"""Many protocols of one experiment: a score under each of many fillings of what is not said.

A protocol says all that a paper leaves open: values of the setting and the methods' parameters. It
runs through the experiment's own functions (:mod:`fedmix.protocols.ordinary`), or through a module
that computes once what protocols share, where that saves hours
(:mod:`fedmix.protocols.real_clustering`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedmix.experiments.base import Method
from fedmix.protocols.ordinary import Ordinary
from fedmix.protocols.real_clustering import RealClustering
from fedmix.streams import Streams

if TYPE_CHECKING:
    import pandas as pd
    from pydantic import BaseModel

    from fedmix.data import Dataset

#: Experiments whose protocols share more than their data and initial values.
SHARING = {"real_clustering": RealClustering}


@dataclass(frozen=True)
class Protocol:
    """One filling of what a paper leaves open.

    Parameters
    ----------
    name : str
    setting : mapping
        Values that all methods see.
    methods : sequence of Method
        With the parameters that are filled in.
    """

    name: str
    setting: Mapping[str, Any]
    methods: Sequence[Method]


@dataclass(frozen=True)
class Bench:
    """What the protocols of a table have in common.

    Parameters
    ----------
    experiment : str
        Module of ``fedmix.experiments``.
    study : str
        Key of the random streams, with the data set's name and the replication: all protocols,
        and all rows of a table, see the same draws.
    row : str
        The setting whose values are the rows of the table.
    setting : mapping
        Values that no protocol changes, e.g. ``dataset``, ``n_clients``, ``n_components``.
    metrics : mapping of str to str
        Method -> the metric that the table shows of it.
    """

    experiment: str
    study: str
    row: str
    setting: Mapping[str, Any]
    metrics: Mapping[str, str]

    def run(
        self,
        protocols: Sequence[Protocol],
        cells: Iterable[tuple[Any, int]],
        data: Mapping[tuple[str, str], Dataset],
    ) -> pd.DataFrame:
        """Run every protocol on every cell.

        Parameters
        ----------
        protocols : sequence of Protocol
        cells : iterable of pairs
            A row's value, and a replication.
        data : mapping
            By the names of the data set and of its embedding; empty for simulations.

        Returns
        -------
        DataFrame
            One row a fit: ``protocol``, the row's value under the row's name, ``replication,
            method, value`` (missing where the fit diverged or its score is undefined).
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        by_replication: dict[int, list[Any]] = {}
        for value, replication in cells:
            by_replication.setdefault(replication, []).append(value)
        for replication, own in by_replication.items():
            name = str(self.setting.get("dataset", "simulated"))
            streams = Streams(self.study, name, replication)
            runner = SHARING.get(self.experiment, Ordinary)(self.experiment, data, streams)
            for protocol in protocols:
                for value in own:
                    where = {
                        "protocol": protocol.name,
                        self.row: value,
                        "replication": replication,
                    }
                    setting = {**self.setting, **protocol.setting, self.row: value}
                    rows += [
                        {
                            **where,
                            "method": method.name,
                            "value": runner.score(setting, method, self.metrics[method.name]),
                        }
                        for method in protocol.methods
                    ]
        return pd.DataFrame(rows)


def settings_of(experiment: str, values: Mapping[str, Any]) -> BaseModel:
    """Return a protocol's setting as the experiment declares it.

    Raises
    ------
    pydantic.ValidationError
        If it is not as declared.
    """
    return SHARING.get(experiment, Ordinary).settings_of(experiment, values)
