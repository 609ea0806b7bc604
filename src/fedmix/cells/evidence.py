"""The frame of cells, asked by study, variant, setting, method and metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fedmix.cells.measured import PLACE
from fedmix.conditions import Where, has_values

if TYPE_CHECKING:
    import pandas as pd

_CELL = [*PLACE, "method", "metric"]


@dataclass(frozen=True)
class Place:
    """Where something was measured: one setting of a study in one variant.

    Parameters
    ----------
    study, variant, setting : str
        ``setting`` is the id; two places are equal if these three are.
    values : mapping
        The setting's values, without missing ones.
    """

    study: str
    variant: str
    setting: str
    values: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)

    def has(self, where: Where) -> bool:
        """Return whether the place has the given values (a list means any of them)."""
        names = {"study": self.study, "variant": self.variant, "setting": self.setting}
        return has_values({**self.values, **names}, where)


class Evidence:
    """All that was measured.

    Parameters
    ----------
    cells : DataFrame
        Of :mod:`fedmix.cells.frame`; rows that were not run count for nothing.
    results : DataFrame, optional
        Tidy rows, of which those with a round give the trajectories.
    """

    def __init__(self, cells: pd.DataFrame, results: pd.DataFrame | None = None) -> None:
        run = cells[cells["variant"] != ""]
        once = run.drop_duplicates(_CELL)
        columns = zip(once["replications"], once["values"], strict=True)
        self._finals = dict(zip(map(tuple, once[_CELL].to_numpy()), columns, strict=True))
        by_method = run.drop_duplicates([*PLACE, "method"])
        keys = map(tuple, by_method[[*PLACE, "method"]].to_numpy())
        self._failed = dict(zip(keys, by_method["failed"].astype(int), strict=True))
        self._methods: dict[tuple, list[str]] = {}
        for *place, method in self._failed:
            self._methods.setdefault(tuple(place), []).append(method)
        self._places = _places(run)
        self._paths: dict[tuple, pd.DataFrame] = {}
        if results is not None and len(results):
            ok = results[results["round"].notna() & (results["status"] == "ok")]
            self._paths = dict(tuple(ok.groupby(_CELL, sort=False)))

    def places(self, study: str, where: Mapping[str, Any] | None = None) -> list[Place]:
        """Return the places of a study that have the given values."""
        return [p for p in self._places if p.study == study and p.has(where or {})]

    def methods(self, place: Place) -> list[str]:
        """Return the methods that were run at a place, failed or not."""
        return self._methods.get((place.study, place.variant, place.setting), [])

    def values(self, place: Place, method: str, metric: str) -> pd.Series:
        """Return a metric's final values, indexed by replication (empty if there are none)."""
        import pandas as pd

        key = (place.study, place.variant, place.setting, method, metric)
        replications, values = self._finals.get(key, ([], []))
        return pd.Series(values, index=replications, dtype=float)

    def metrics(self, place: Place, method: str) -> list[str]:
        """Return the metrics that a method has final values of at a place."""
        key = (place.study, place.variant, place.setting, method)
        return [cell[-1] for cell, (_, own) in self._finals.items() if cell[:-1] == key and own]

    def path(self, place: Place, method: str, metric: str) -> pd.DataFrame:
        """Return a metric by round, one row a replication, one column a round."""
        import pandas as pd

        key = (place.study, place.variant, place.setting, method, metric)
        if key not in self._paths:
            return pd.DataFrame()
        return self._paths[key].pivot(index="replication", columns="round", values="value")

    def n_failed(self, place: Place, method: str) -> int:
        """Return how many replications diverged, timed out or failed."""
        return self._failed.get((place.study, place.variant, place.setting, method), 0)


def by_variant(places: Iterable[Place]) -> dict[str, list[Place]]:
    """Group places by their variant, in order of appearance."""
    groups: dict[str, list[Place]] = {}
    for place in places:
        groups.setdefault(place.variant, []).append(place)
    return groups


def _places(cells: pd.DataFrame) -> list[Place]:
    columns = [*PLACE, *(c for c in cells if c.startswith("setting_"))]
    return [
        Place(
            row["study"],
            row["variant"],
            row["setting"],
            {
                k.removeprefix("setting_"): v
                for k, v in row.items()
                if k not in PLACE and v is not None and v == v
            },
        )
        for row in cells[columns].drop_duplicates(PLACE).to_dict("records")
    ]
