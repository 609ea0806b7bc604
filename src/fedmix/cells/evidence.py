"""The frame of cells, looked up by study, variant, setting, method and metric."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zlib import crc32

from fedmix.cells.effects import PrintedMean, Replications, Score
from fedmix.cells.measured import PLACE, by_round
from fedmix.cells.verdicts import headline
from fedmix.conditions import Where, has_values
from fedmix.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from fedmix.cells.measured import Measured

_CELL = [*PLACE, "method", "metric"]
_COUNTED = ["replications", "values", "failed"]
# What trajectories need: selections of the other columns of results would take seconds.
_STEP = ["replication", "round", "value"]
_TEXTS = [*_CELL, "status"]
_PATH = [*_TEXTS, *_STEP]
#: The role of places that hold published values.
PUBLISHED = "published"
#: What a control can shuffle.
METHODS, SETTINGS, ROUNDS = SHUFFLED = ("methods' names", "settings", "rounds")
#: A sum of two metrics that claims may name.
FLOATS, _FLOATS = "floats", ("floats_up", "floats_down")


@dataclass(frozen=True)
class Place:
    """Where something was measured: one setting of a study in one variant.

    Two places are equal if their study, variant and setting are.
    """

    study: str
    variant: str
    setting: str
    #: What the variant stands for.
    role: str = field(default="", compare=False)
    #: The setting's values, without missing ones.
    values: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it."""
        return self.study, self.variant, self.setting

    @cached_property
    def _named(self) -> dict[str, Any]:
        names = {"variant": self.variant, "setting": self.setting, "role": self.role}
        return {**self.values, **names}

    def has(self, where: Where) -> bool:
        """Return whether the place has the given values (a list means any of them)."""
        return has_values(self._named, where)


def read_paths(files: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read the rows of results that have a round, with the columns that trajectories need.

    Text becomes categories: the results of a study have millions of rows, with few different texts.
    """
    import pandas as pd
    from pyarrow import ArrowException, compute, concat_tables, parquet

    with_round = compute.field("round").is_valid()
    options = {"columns": _PATH, "read_dictionary": _TEXTS, "page_checksum_verification": True}
    tables = []
    for file in files:
        try:
            if parquet.read_metadata(file).num_rows:
                tables.append(parquet.read_table(file, filters=with_round, **options))
        except (ArrowException, OSError) as error:
            raise DataError(
                f"{file} is damaged or truncated ({error}). Delete it and run Snakemake again: it "
                "will be remade."
            ) from error
    if not tables:
        return pd.DataFrame()
    # A column may be of integers in one file and of decimals in another.
    return concat_tables(tables, promote_options="permissive").unify_dictionaries().to_pandas()


def quartiles_by_round(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a score's quartiles over replications, in every round; see :func:`by_round`.

    Values of zero or less are left out, because figures have a log scale. The columns are ``study,
    variant, setting, method, round, q1, median, q3``, sorted by round.
    """
    import pandas as pd

    place = [*PLACE, "method"]
    names = ["q1", "median", "q3"]
    paths = results[results["round"].notna() & (results["metric"] == metric)]
    parts = [pd.DataFrame(columns=[*place, "round", *names])]
    for key, own in paths.groupby(place, sort=False, observed=True):
        path = by_round(own)
        found = path.where(path > 0).quantile([0.25, 0.5, 0.75]).T.dropna()
        found = found.set_axis(names, axis=1).reset_index()
        parts.append(found.assign(**dict(zip(place, key, strict=True))))
    wide = pd.concat(parts[1:] or parts)[[*place, "round", *names]]
    return wide.sort_values("round", kind="stable", ignore_index=True)


class Evidence:
    """Everything that was measured, or everything that is published.

    ``cells`` are those of :mod:`fedmix.cells.frame`; rows that were not run are left out. The rows
    of ``results`` with a round give the trajectories.
    """

    def __init__(self, cells: pd.DataFrame, results: pd.DataFrame | None = None) -> None:
        run = cells[cells["method"] != ""]
        self._places = _places(run)
        self._found: dict[str, list[Place]] = {}  # shuffles and single replications share it
        self._scores: dict[tuple, Score] = {}
        self._runs: dict[tuple, tuple[int, int]] = {}
        self._methods: dict[tuple, list[str]] = {}
        self._paths: dict[tuple, NDArray[np.intp]] = {}
        self._wide: dict[int, pd.DataFrame] = {}  # by the first row; shuffles share it
        self._rounds_draw: int | None = None
        self._names: tuple[int, Mapping[tuple, Mapping[str, str]]] | None = None
        self._read(run)
        if results is not None and len(results):
            ok = results["round"].notna() & (results["status"] == "ok")
            self._rows = results.loc[ok, _STEP]
            self._paths = results.loc[ok, _CELL].groupby(_CELL, sort=False, observed=True).indices

    @classmethod
    def of_print(cls, cells: pd.DataFrame) -> Evidence:
        """Return the published values as if they had been measured in our settings.

        If a value is compared with several variants, the one that counts for the paper names the
        place. Values whose data ours stand in for are published all the same.
        """
        judged = cells[(cells["verdict"] != "") & (cells["method"] != "")]
        answering = judged.groupby("study")["role"].transform(headline)
        own = judged[judged["role"] == answering].assign(role=PUBLISHED)
        found = cls(own.iloc[:0])
        found._places = _places(own)
        for row in own.to_dict("records"):
            key = tuple(row[name] for name in _CELL)
            mean, sd = (row[name] * row["scale"] for name in ("printed_mean", "printed_sd"))
            found._scores[key] = PrintedMean(mean, sd, int(row["printed_replications"]))
            found._methods.setdefault(key[:3], []).append(row["method"])
        return found

    @classmethod
    def of_settings(cls, settings: Iterable[Measured], role: str) -> Evidence:
        """Return what was measured in settings, all in variants of one role, without cells."""
        import pandas as pd

        found = cls(pd.DataFrame(columns=[*_CELL, "role", *_COUNTED]))
        for measured in settings:
            place = _place(role, next(iter(measured.methods.values())))
            found._places.append(place)
            found._methods[place.key] = list(measured.methods)
            for method, runs in measured.runs.items():
                found._runs[*place.key, method] = measured.failed[method], len(runs)
            for cell, values in measured.values.items():
                if len(values):
                    found._scores[*place.key, *cell] = Replications.of(values)
        return found

    def shuffled(self, draw: int, what: str) -> Evidence:
        """Return the evidence with something shuffled, for a control.

        That is the methods' names within every place, the settings within every variant, or the
        rounds of every trajectory. Each ``draw`` is a shuffle of its own, which is always the same.
        """
        other = copy(self)
        if what == ROUNDS:
            other._rounds_draw = draw
        elif what == METHODS:
            other._names = 3, _permuted(self._methods, draw)
        else:
            settings: dict[tuple, list[str]] = {}
            for place in self._places:
                settings.setdefault(place.key[:2], []).append(place.setting)
            other._names = 2, _permuted(settings, draw)
        return other

    def _key(self, place: Place, *rest: str) -> tuple[str, ...]:
        """Return the key of a place's method, or of its metric, with the names as they were."""
        key = (*place.key, *rest)
        if self._names is None:
            return key
        at, names = self._names
        return (*key[:at], names.get(key[:at], {}).get(key[at], ""), *key[at + 1 :])

    def single_replications(self) -> list[Evidence]:
        """Return the evidence of each replication alone, in their order."""
        by_number: dict[int, dict[tuple, Score]] = {}
        for key, score in self._scores.items():
            if isinstance(score, Replications):
                for i, number in enumerate(score.numbers):
                    one = Replications(score.numbers[i : i + 1], score.scores[i : i + 1])
                    by_number.setdefault(int(number), {})[key] = one
        found = []
        for number in sorted(by_number):
            other = copy(self)
            other._scores = by_number[number]
            found.append(other)
        return found

    def places(self, study: str, where: Mapping[str, Any] | None = None) -> list[Place]:
        """Return the places of a study that have the given values."""
        asked = f"{study} {where}"
        if asked not in self._found:
            own = (place for place in self._places if place.study == study)
            self._found[asked] = [place for place in own if place.has(where or {})]
        return self._found[asked]

    def methods(self, place: Place) -> list[str]:
        """Return the methods that were run at a place, failed or not."""
        return self._methods.get(place.key, [])

    def score(self, place: Place, method: str, metric: str) -> Score | None:
        """Return a metric's final score; None if there is none."""
        key = self._key(place, method, metric)
        if metric == FLOATS and key not in self._scores:
            up, down = (self.values(place, method, name) for name in _FLOATS)
            return Replications.of(up + down) if len(up) and len(down) else None
        return self._scores.get(key)

    def values(self, place: Place, method: str, metric: str) -> pd.Series:
        """Return a measured metric's values, indexed by replication (empty if there are none)."""
        import pandas as pd

        score = self.score(place, method, metric)
        return score.values if isinstance(score, Replications) else pd.Series(dtype=float)

    def path(self, place: Place, method: str, metric: str) -> pd.DataFrame:
        """Return a metric as :func:`fedmix.cells.measured.by_round`; empty without trajectories."""
        import pandas as pd

        key = self._key(place, method, metric)
        if key not in self._paths:
            return pd.DataFrame()
        rows = self._paths[key]
        if rows[0] not in self._wide:
            self._wide[rows[0]] = by_round(self._rows.iloc[rows])
        path = self._wide[rows[0]]
        if self._rounds_draw is None:
            return path
        order = _generator(self._rounds_draw, key).permutation(path.shape[1])
        return path.iloc[:, order].set_axis(path.columns, axis=1)

    def runs(self, place: Place, method: str) -> tuple[int, int] | None:
        """Return how many replications failed and how many there were; None if none was run."""
        return self._runs.get(self._key(place, method))

    def _read(self, run: pd.DataFrame) -> None:
        import numpy as np

        once = run.drop_duplicates(_CELL)[[*_CELL, *_COUNTED]]
        for *cell, replications, values, failed in once.itertuples(index=False, name=None):
            key = tuple(cell)
            if len(values):
                scores = np.asarray(values, dtype=float)
                self._scores[key] = Replications(np.asarray(replications), scores)
            if key[:4] not in self._runs:
                self._methods.setdefault(key[:3], []).append(key[3])
            total = max(failed + len(values), self._runs.get(key[:4], (0, 0))[1])
            self._runs[key[:4]] = (failed, total)


def _permuted(names: Mapping[tuple, list[str]], draw: int) -> dict[tuple, dict[str, str]]:
    """Return, for every key, its names after a permutation -> those before, in any order."""
    return {
        key: dict(zip(_generator(draw, key).permutation(own).tolist(), own, strict=True))
        for key, own in zip(names, map(sorted, names.values()), strict=True)
    }


def _generator(draw: int, key: tuple) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng([draw, crc32("/".join(key).encode())])


def _places(cells: pd.DataFrame) -> list[Place]:
    columns = [*PLACE, "role", *(c for c in cells if c.startswith("setting_"))]
    rows = cells[columns].drop_duplicates(PLACE).to_dict("records")
    return [_place(row["role"], row) for row in rows]


def _place(role: str, identity: Mapping[str, Any]) -> Place:
    """Return the place of cells, or of a method of a setting."""
    values = {
        name.removeprefix("setting_"): value
        for name, value in identity.items()
        if name.startswith("setting_") and value is not None and value == value
    }
    study, variant, setting = (str(identity[name]) for name in PLACE)
    return Place(study, variant, setting, role, values)
