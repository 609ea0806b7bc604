"""The kept results of a search, as files and as cells.

Each table has a folder, so that a search for some tables leaves the others as they are. Its two
files hold all that claims and tables need. ``protocols.csv`` has one row per protocol, with its
choices. ``runs.parquet`` has one row per replication, with one column per method, which is empty
where the method failed. In both files ``kind`` says which protocols a row belongs to:

``drawn``
    The protocols that were drawn whatever their results.
``near``
    The protocols that the optimiser found for ``table``, on fresh replications of all its rows, and
    the drawn ones that are nearest to it.
``searched``
    The first of those that the optimiser found, by the objective that ranks them.

As cells, each protocol is a variant of the study, like any other variant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedmix.cells.evidence import Evidence
from fedmix.cells.frame import cells_of
from fedmix.cells.items import Item
from fedmix.cells.measured import Measured
from fedmix.cells.protocols.score import cell_identity, filled, read_protocols
from fedmix.cells.protocols.space import DRAWN, JUDGED, KEPT, NEAR, Space
from fedmix.cells.verdicts import DIAGNOSTIC, SEARCHED
from fedmix.errors import DataError, nearest_names
from fedmix.storage import read_table, write_table, write_text

#: How many of the nearest drawn protocols are kept as near.
SHOWN = 20
PROTOCOLS, RUNS = KEPT
_LISTED = ["kind", "table", "protocol", "distance"]
_FIT = ["kind", "protocol", "table", "row", "replication"]


def keep(
    space: Space,
    design: pd.DataFrame,
    drawn: pd.DataFrame,
    scores: pd.DataFrame,
    judged: pd.DataFrame,
) -> dict[str, pd.DataFrame]:
    """Return the two tables that are kept of a target of a search, ``protocols`` and ``runs``.

    ``design`` and ``drawn`` are the drawn protocols and their runs; ``scores`` and ``judged`` come
    from :mod:`fedmix.cells.protocols.score`.
    """
    protocols, runs = [], []
    for table, own in scores.groupby("table", sort=False):
        every = space.without_idle(design, [str(table)]).assign(table=table)
        close = own[own["kind"] == DRAWN].nsmallest(SHOWN, "distance")
        found = own[own["kind"] == JUDGED]
        first = found[found["rank"] == 1]
        for kind, listed, ran in (
            (DRAWN, every, drawn),
            (NEAR, close, drawn),
            (NEAR, found, judged),
            (SEARCHED, first, judged),
        ):
            theirs = (ran["table"] == table) & ran["protocol"].isin(listed["protocol"])
            protocols.append(listed.assign(kind=kind))
            runs.append(ran[theirs].assign(kind=kind))
    wide = pd.concat(runs).rename(columns={space.row: "row"}).set_index([*_FIT, "method"])
    wide = wide["value"].unstack("method", sort=False)[list(space.methods)].map(_rounded)
    listed = pd.concat(protocols)[[*_LISTED, *space.choices]]
    listed["distance"] = listed["distance"].map(_rounded)
    return {"protocols": listed, "runs": wide.reset_index()}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def write_search(folder: str | Path, kept: Mapping[str, pd.DataFrame]) -> None:
    """Write the two tables of :func:`keep` as files of a target's folder."""
    write_text(Path(folder) / PROTOCOLS, kept["protocols"].to_csv(index=False))
    write_table(Path(folder) / RUNS, kept["runs"], compression_level=19)


@dataclass(frozen=True)
class Search:
    """The kept results of a search: its two tables, see :func:`keep`, and its tables' items.

    ``published`` is ``data/published``. ``answers`` has what
    :func:`fedmix.cells.unreported.protocol_answers` found, by claim.
    """

    space: Space
    protocols: pd.DataFrame
    runs: pd.DataFrame
    items: Mapping[str, Item]
    published: str | Path
    answers: dict[str, Any] = field(default_factory=dict, repr=False)

    def choices_of(self, kind: str) -> pd.DataFrame:
        """Return the choices of all protocols of one kind, indexed by the protocol's name.

        In place of a number they have the part of its range.
        """
        own = self.protocols[self.protocols["kind"] == kind]
        own = own.replace("", None).groupby("protocol", sort=False)[list(self.space.choices)]
        whole = own.first().fillna("")  # a table's protocols lack what it does not depend on
        return self.space.in_categories(whole)

    @cached_property
    def drawn(self) -> Evidence:
        """The drawn protocols; the name of each is its variant.

        As in the search's scores, a method that diverged counts as the worst of its row.
        """
        return self._protocols(DRAWN)

    @cached_property
    def near(self) -> Evidence:
        """The protocols nearest to each table, on all its rows; otherwise like ``drawn``."""
        return self._protocols(NEAR)

    def _protocols(self, kind: str) -> Evidence:
        runs = self.runs[self.runs["kind"] == kind]
        methods = list(self.space.methods)
        runs = runs.assign(variant=runs["protocol"])
        runs[methods] = filled(runs[methods].to_numpy(), self.space.claim.sign)
        return Evidence.of_settings(self._measured(runs), DIAGNOSTIC)

    def searched_cells(self) -> pd.DataFrame:
        """Return the cells of the protocol chosen for each table, beside the published values."""
        runs = self.runs[self.runs["kind"] == SEARCHED].assign(variant=SEARCHED)
        shown = []
        for name in dict.fromkeys(table.item for table in self.space.tables.values()):
            item = self.items[name]
            where = {key: wanted for key, wanted in item.where.items() if key != "variant"}
            shown.append(item.model_copy(update={"where": where}))
        measured = self._measured(runs)
        return cells_of(measured, shown, self.published, self.space.paper, {SEARCHED: SEARCHED})

    def _measured(self, runs: pd.DataFrame) -> Iterator[Measured]:
        space, methods = self.space, self.space.methods
        numbered = runs.set_index("replication")
        for (variant, name, row), own in numbered.groupby(["variant", "table", "row"], sort=False):
            own, table = own.sort_index(), space.tables[name]
            # Arrays and not columns: a search has a thousand protocols.
            numbers, scores = own.index.to_numpy(), own[list(methods)].to_numpy()
            finished = ~np.isnan(scores)
            item = self.items[table.item]
            setting = f"{table.title}, {space.row} {row}"
            place = {"study": space.study, "variant": variant, "setting": setting}
            yield Measured(
                methods={
                    method: place | cell_identity(space, table, row, column)
                    for method, column in methods.items()
                },
                values={
                    (m, item.metrics_of(m)[0]): pd.Series(scores[ok, i], numbers[ok])
                    for i, (m, ok) in enumerate(zip(methods, finished.T, strict=True))
                },
                runs=dict.fromkeys(methods, numbers.tolist()),
                failed=dict(zip(methods, map(int, (~finished).sum(axis=0)), strict=True)),
                trajectories=runs.iloc[:0],
            )


def read_search(
    folder: str | Path, space: Space, items: Mapping[str, Item], published: str | Path
) -> Search | None:
    """Read the kept results of a search from the folders of its tables; None if there are none.

    The optimiser numbers its protocols anew for each table, so their names get the table's. It is
    an error if the space was changed after the search: a table is not in the space, its kept
    protocols lack a choice that it depends on, or two tables have a drawn protocol of one name with
    different choices.
    """
    kept = {path.parent.name for path in Path(folder).glob(f"*/{RUNS}")}
    unknown = sorted(kept - set(space.targets))
    if unknown and not space.only_tables:
        hint = nearest_names(unknown[0], space.targets)
        raise DataError(f"{folder}: unknown table {unknown[0]!r}. {hint}")
    there = [Path(folder) / table for table in space.tables if table in kept]
    if not there:
        return None
    parts = {own / PROTOCOLS: read_protocols(own / PROTOCOLS) for own in there}
    for path, part in parts.items():
        for choice in (own.name for own in space.choices_of(path.parent.name)):
            if choice not in part:
                raise DataError(
                    f"{path} has no column {choice!r}: the space was changed after the search, "
                    f"which must be run again. {nearest_names(choice, part.columns)}"
                )
    protocols = pd.concat(parts.values())  # without the choices that no table here depends on
    protocols = protocols.reindex(columns=[*_LISTED, *space.choices], fill_value="").fillna("")
    runs = pd.concat([read_table(own / RUNS) for own in there], ignore_index=True)
    drawn = protocols[protocols["kind"] == DRAWN]
    for choice in space.choices:
        numbers = drawn[drawn[choice] != ""].groupby("protocol")[choice].nunique()
        if (numbers > 1).any():
            raise DataError(
                f"{folder}: tables have different protocols of the name {numbers.idxmax()!r} "
                f"({choice}). The space was changed after one of them was searched, so all must be "
                "searched again."
            )
    for part in (protocols, runs):
        names = part["table"] + " " + part["protocol"]
        part["protocol"] = part["protocol"].where(part["protocol"].isin(drawn["protocol"]), names)
    return Search(space, protocols, runs, items, published)
