"""Controls of a search: the distance on cells that it did not see, and from permuted tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.cells.protocols.score import FloatArray, cell_names, distances, errors_of

if TYPE_CHECKING:
    import pandas as pd

PERMUTATIONS = 500
_SPLIT = ["control", "table", "searched", "judged", "tried"]
_SPLIT += ["nearest", "distance", "elsewhere", "typical"]


def held_out(runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Search on half of the rows, or on all tables but one, and judge on the rest.

    Parameters
    ----------
    runs : DataFrame
        The runs. Protocols that did not run all rows of all tables are left out.
    printed : mapping of str to DataFrame
        The published values, from :func:`fedmix.cells.protocols.score.printed_cells`.

    Returns
    -------
    DataFrame
        One row per split:

        - ``control``: "rows" or "tables";
        - ``table``, for a split of rows;
        - ``searched`` and ``judged``: the two parts of the split;
        - ``tried``: the number of protocols;
        - ``nearest``: the protocol nearest to the part searched;
        - ``distance`` and ``elsewhere``: its distance from the part searched and the part judged;
        - ``typical``: the median distance of all protocols from the part judged.

        There is no row if the search is for one table of one row.
    """
    import pandas as pd

    deviations = {table: _deviations(runs, table, cells) for table, cells in printed.items()}
    splits: list[dict[str, Any]] = []
    for table, own in deviations.items():
        for seen, rest in _halves(list(dict.fromkeys(own.columns.get_level_values(0)))):
            parts = own[seen], own[rest]
            where = {"control": "rows", "table": table, **_names(seen, rest)}
            splits.append(where | _judge(*parts))
    for left_out in deviations if len(deviations) > 1 else ():
        others = [table for table in deviations if table != left_out]
        seen = pd.concat([deviations[table] for table in others], axis=1, join="inner")
        rest = deviations[left_out].loc[seen.index]
        where = {"control": "tables", "table": "", **_names(others, [left_out])}
        splits.append(where | _judge(seen, rest))
    return pd.DataFrame(splits, columns=_SPLIT)


def permuted(runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Search for tables with permuted columns (methods) and permuted rows.

    This repeats the search of the first rung, because its protocols do not depend on the published
    values. It takes all protocols, on the rows that all of them ran.

    Parameters
    ----------
    runs : DataFrame
        The runs of the first rung.
    printed : mapping of str to DataFrame
        The published values, from :func:`fedmix.cells.protocols.score.printed_cells`.

    Returns
    -------
    DataFrame
        One row per table:

        - ``table``, ``tried`` (number of protocols) and ``permutations`` (their number);
        - ``distance``: that of the nearest protocol from the published table;
        - ``permuted_median``, ``permuted_lowest``: the median and the least, over permuted tables,
          of the distance of the nearest protocol;
        - ``share`` of the permuted tables that have a protocol at most as far as ``distance``.
    """
    import pandas as pd

    rows = []
    for table, cells in printed.items():
        means = _means(runs, table, cells)
        values = cells.set_index(cell_names(cells)).loc[means.columns]
        n_methods = means.columns.get_level_values(1).nunique()
        places = np.arange(len(values)).reshape(-1, n_methods)
        centre, sd = values["mean"].to_numpy(), values["sd"].to_numpy()
        found = [
            float(distances(means.to_numpy(), centre[order], sd[order]).min())
            for order in _orders(places)
        ]
        true, others = found[0], np.array(found[1:])
        rows.append(
            {
                "table": table,
                "tried": len(means),
                "permutations": len(others),
                "distance": true,
                "permuted_median": float(np.median(others)),
                "permuted_lowest": float(others.min()),
                "share": float((others <= true).mean()),
            }
        )
    return pd.DataFrame(rows)


def _orders(places: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a table's places (rows, methods) in order, then with columns and rows permuted."""
    yield places.ravel()
    rng = np.random.default_rng(0)
    n_rows, n_methods = places.shape
    identity = np.arange(n_methods)
    for _ in range(PERMUTATIONS):
        columns = rng.permutation(n_methods)
        while (columns == identity).all():
            columns = rng.permutation(n_methods)
        rows = rng.permutation(n_rows) if n_rows > 1 else [0]
        yield places[rows][:, columns].ravel()


def _means(runs: pd.DataFrame, table: str, cells: pd.DataFrame) -> pd.DataFrame:
    """Return means over replications: one row per protocol, one column per cell that all ran."""
    import pandas as pd

    errors = errors_of(runs[runs["table"] == table], cells)
    # a mean is missing if one of its fits diverged
    means = {protocol: own.mean(skipna=False) for protocol, own in errors.items()}
    widest = max(len(own) for own in means.values())
    return pd.DataFrame({name: own for name, own in means.items() if len(own) == widest}).T


def _deviations(runs: pd.DataFrame, table: str, cells: pd.DataFrame) -> pd.DataFrame:
    means = _means(runs, table, cells)
    values = cells.set_index(cell_names(cells)).loc[means.columns]
    return (means - values["mean"]) / values["sd"]


def _judge(seen: pd.DataFrame, rest: pd.DataFrame) -> dict[str, Any]:
    near, far = _length(seen), _length(rest)
    best = int(np.argmin(near))
    return {
        "tried": len(seen),
        "nearest": str(seen.index[best]),
        "distance": float(near[best]),
        "elsewhere": float(far[best]),
        "typical": float(np.median(far)),
    }


def _length(deviations: pd.DataFrame) -> FloatArray:
    return distances(deviations.to_numpy(), np.zeros(1), np.ones(1))


def _halves(rows: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield all splits of the rows into half to search on, and the others to judge on."""
    for seen in combinations(rows, len(rows) // 2):
        if seen:
            yield list(seen), [row for row in rows if row not in seen]


def _names(seen: list, rest: list) -> dict[str, str]:
    return {"searched": " ".join(map(str, seen)), "judged": " ".join(map(str, rest))}
