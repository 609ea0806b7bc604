"""Runs of protocols on the tables of a search."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.protocols.space import Space

if TYPE_CHECKING:
    import pandas as pd


class Runner:
    """Runs protocols on some tables, and keeps the work that they share.

    Parameters
    ----------
    space : Space
    metrics : mapping of str to mapping
        Table -> the metric that it shows for each method.
    files : iterable of path-like
        The data sets that the tables need, as ``<dataset>/<embedding>.npz``; none for simulations.
    """

    def __init__(
        self,
        space: Space,
        metrics: Mapping[str, Mapping[str, str]],
        files: Iterable[str | os.PathLike] = (),
    ) -> None:
        from fedmix.data.dataset import load_dataset
        from fedmix.protocols import Bench

        data = {(Path(f).parent.name, Path(f).stem): load_dataset(f) for f in files}
        self.space = space
        self.benches = {
            table: Bench(
                space.experiment, space.study, space.row, space.tables[table].setting, own, data
            )
            for table, own in metrics.items()
        }

    def run(
        self, protocols: Iterable[Mapping[str, str]], cells: Mapping[str, list[tuple[Any, int]]]
    ) -> pd.DataFrame:
        """Run protocols on some cells (row, replication) of some tables.

        Returns
        -------
        DataFrame
            That of :meth:`fedmix.protocols.Bench.run`, with the ``table``.
        """
        import pandas as pd

        protocols, parts = list(protocols), []
        for table, own_cells in cells.items():
            named = [self.space.protocol(table, protocol) for protocol in protocols]
            own = self.benches[table].run(named, own_cells)
            own.insert(0, "table", table)
            parts.append(own)
        return pd.concat(parts, ignore_index=True)
