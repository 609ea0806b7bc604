"""Results and timings, asked by study, variant, setting, method and metric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.cells.matching import has_values
from fedmix.cells.summary import steady
from fedmix.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SECONDS = "seconds"
_Slice = tuple[np.ndarray, np.ndarray]
_PLACE = ["study", "variant", "setting"]
_CELL = [*_PLACE, "method", "metric"]
# Columns of results that describe a run, not its setting.
_RUN = {
    "method",
    "replication",
    "round",
    "metric",
    "value",
    "status",
    "message",
    "rounds",
    "converged",
    "floats_up",
    "floats_down",
}


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

    def has(self, where: Mapping[str, Any]) -> bool:
        """Return whether the place has the given values (a list means any of them)."""
        names = {"study": self.study, "variant": self.variant, "setting": self.setting}
        return has_values({**self.values, **names}, where)


class Evidence:
    """All that was measured.

    Parameters
    ----------
    results : DataFrame
        Tidy rows: ``study, variant, setting``, the setting's values, ``method, replication,
        round, metric, value, status``; ``round`` is missing for final scores. Only rows whose
        status is ``ok`` count as values.
    timings : DataFrame, optional
        ``study, variant, setting, method, replication, seconds`` (and ``status``); asked for as
        the metric ``"seconds"``.

    Raises
    ------
    DataError
        If a replication of a cell occurs twice.
    """

    def __init__(self, results: pd.DataFrame, timings: pd.DataFrame | None = None) -> None:
        if results.empty:
            results = results.reindex(columns=[*_CELL, "replication", "round", "value", "status"])
        finished = results[results["status"] == "ok"]
        final = finished["round"].isna()
        self._finals = _slices_by_cell(finished[final], "value")
        self._paths = dict(tuple(finished[~final].groupby(_CELL, sort=False)))
        if timings is not None and len(timings):
            ok = steady(timings[timings["status"] == "ok"] if "status" in timings else timings)
            self._finals |= _slices_by_cell(ok.assign(metric=SECONDS), SECONDS)
        failed = results[results["status"] != "ok"]
        self._failed = failed.groupby([*_PLACE, "method"])["replication"].nunique().to_dict()
        self._places = _places(results)
        self._methods: dict[Place, list[str]] = {}
        pairs = results[[*_PLACE, "method"]].drop_duplicates()
        for study, variant, setting, method in pairs.itertuples(index=False):
            self._methods.setdefault(Place(study, variant, setting), []).append(method)

    def places(self, study: str, where: Mapping[str, Any] | None = None) -> list[Place]:
        """Return the places of a study that have the given values."""
        return [p for p in self._places if p.study == study and p.has(where or {})]

    def methods(self, place: Place) -> list[str]:
        """Return the methods that were run at a place, failed or not."""
        return self._methods.get(place, [])

    def values(self, place: Place, method: str, metric: str) -> pd.Series:
        """Return a metric's final values, indexed by replication (empty if there are none)."""
        import pandas as pd

        key = (place.study, place.variant, place.setting, method, metric)
        replications, values = self._finals.get(key, ([], []))
        return pd.Series(values, index=replications, dtype=float)

    def metrics(self, place: Place, method: str) -> list[str]:
        """Return the metrics that a method has final values of at a place."""
        key = (place.study, place.variant, place.setting, method)
        return [cell[-1] for cell in self._finals if cell[:-1] == key]

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


def of_variants(rows: pd.DataFrame, variants: Mapping[str, Collection[str]]) -> NDArray[np.bool_]:
    """Return which rows are of the variants named, by study; of shape (n,)."""
    pairs = zip(rows["study"], rows["variant"], strict=True)
    return np.array([variant in variants.get(study, ()) for study, variant in pairs], dtype=bool)


def by_variant(places: Iterable[Place]) -> dict[str, list[Place]]:
    """Group places by their variant, in order of appearance."""
    groups: dict[str, list[Place]] = {}
    for place in places:
        groups.setdefault(place.variant, []).append(place)
    return groups


def _slices_by_cell(rows: pd.DataFrame, column: str) -> dict[tuple, _Slice]:
    """Return replications and values of every cell, as views of two sorted arrays."""
    rows = rows.sort_values([*_CELL, "replication"], kind="stable", ignore_index=True)
    twice = rows.duplicated([*_CELL, "replication"])
    if twice.any():
        first = rows[twice].iloc[0]
        raise DataError(
            f"Replication {first.replication} of {first.study}/{first.variant}/{first.setting}/"
            f"{first.method}, metric {first.metric!r}, occurs twice. Are blocks of two runs mixed?"
        )
    starts = np.flatnonzero(~rows.duplicated(_CELL))
    keys = rows.iloc[starts][_CELL].itertuples(index=False, name=None)
    replications, values = rows["replication"].to_numpy(), rows[column].to_numpy(dtype=float)
    slices = zip(np.split(replications, starts[1:]), np.split(values, starts[1:]), strict=True)
    return dict(zip(keys, slices, strict=False))  # no rows still make one (empty) slice


def _places(results: pd.DataFrame) -> list[Place]:
    columns = [c for c in results.columns if c not in _RUN]
    rows = results[columns].drop_duplicates(_PLACE)
    return [
        Place(
            row["study"],
            row["variant"],
            row["setting"],
            {k: v for k, v in row.items() if k not in _PLACE and v is not None and v == v},
        )
        for row in rows.to_dict("records")
    ]
