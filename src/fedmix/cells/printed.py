"""Read printed numbers and translate their names into ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.papers import Paper, read_part
from fedmix.errors import DataError, nearest_names

if TYPE_CHECKING:
    import pandas as pd

# Our settings' columns are told apart from the cells' other columns by this prefix.
_SETTING = "setting_"


def read_mapping(papers: Mapping[str, Paper]) -> dict[str, Any]:
    """Read how every paper's printed cells are mapped to ours.

    Returns
    -------
    dict
        ``tables``, each with its ``paper``, and ``stand_ins``.

    Raises
    ------
    ConfigurationError
        Listing all that is wrong.
    """
    mapping: dict[str, Any] = {"tables": [], "stand_ins": []}
    for paper in papers.values():
        own = read_part(paper, "printed") or {}
        mapping["tables"] += [{"paper": paper.key, **table} for table in own.get("tables", [])]
        mapping["stand_ins"] += own.get("stand_ins", [])
    return mapping


def load(folder: str | Path, mapping: Mapping[str, Any]) -> pd.DataFrame:
    """Return every printed cell with the cell of ours it is held against.

    Parameters
    ----------
    folder : path-like
        Holds a folder of printed numbers a paper.
    mapping : mapping
        Of :func:`read_mapping`.

    Returns
    -------
    DataFrame
        One row a printed cell: ``paper, table, title, row, column, printed_method,
        printed_mean, printed_sd, printed_replications, study, method, metric, scale, digits,
        best`` and a column ``setting_<name>`` for each column of ours that the cell fixes (missing
        where it does not). Printed values are in the paper's unit; times ``scale`` they are in
        ours.

    Raises
    ------
    DataError
        If a file, a column or a name is missing, or a printed row is covered twice or not at all.

    Examples
    --------
    >>> from fedmix.cells.papers import read_papers
    >>> cells = load("data/published", read_mapping(read_papers()))
    >>> first = cells.iloc[0]
    >>> first.study, first.setting_dataset, first.method, first.metric
    ('fedgrem_real', 'pendigits', 'LocalEM', 'misclustering')
    """
    import pandas as pd

    folder = Path(folder)
    paths = sorted(folder.glob("*/*.csv"))
    files = {f"{path.parent.name}/{path.name}": pd.read_csv(path) for path in paths}
    covered = {name: pd.Series(0, index=frame.index) for name, frame in files.items()}
    parts = []
    for entry in mapping["tables"]:
        name = f"{entry['paper']}/{entry['file']}"
        if name not in files:
            raise DataError(f"{folder} has no file {name!r}. {nearest_names(name, files)}")
        rows = _rows_of(files[name], entry.get("where", {}), name)
        covered[name].loc[rows.index] += 1
        parts += [_translate(row, entry) for row in rows.to_dict("records")]
    for name, times in covered.items():
        if (times != 1).any():
            line = int(times.index[times != 1][0]) + 2
            how = "no entry" if times[line - 2] == 0 else "more than one entry"
            raise DataError(f"{name}, line {line}: covered by {how} of printed.yaml.")
    return pd.DataFrame(parts)


def setting_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting values that one printed cell fixes, under our names.

    A value such as ``"mnist|mnist_vae"`` gives a list: any of these names will do.
    """
    fixed = {
        key.removeprefix(_SETTING): value
        for key, value in cell.items()
        if key.startswith(_SETTING) and value is not None and value == value
    }
    return {
        key: value.split("|") if isinstance(value, str) and "|" in value else value
        for key, value in fixed.items()
    }


def stand_in_settings(
    wanted: Mapping[str, Any], stand_ins: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the settings that may take a printed cell's place in a run without network.

    What is compared then is another data set, so it never counts as a reproduction.

    Parameters
    ----------
    wanted : mapping
        Of :func:`setting_of`.
    stand_ins : iterable of mapping
        The mapping's ``stand_ins``: where ``theirs`` is wanted, ``ours`` takes its place, and
        ``values`` translates other values (those without a translation stay).

    Examples
    --------
    >>> stand_in = {"theirs": {"dataset": "mnist"}, "ours": {"dataset": "digits"},
    ...             "values": {"n_contaminated": {8: 1}}}
    >>> list(stand_in_settings({"dataset": "mnist", "n_contaminated": 8}, [stand_in]))
    [{'dataset': 'digits', 'n_contaminated': 1}]
    """
    for stand_in in stand_ins:
        if all(wanted.get(key) == value for key, value in stand_in["theirs"].items()):
            translations = stand_in.get("values", {})
            changed = {
                key: table[wanted[key]]
                for key, table in translations.items()
                if wanted.get(key) in table
            }
            yield {**wanted, **changed, **stand_in["ours"]}


def _rows_of(frame: pd.DataFrame, where: Mapping[str, Any], name: str) -> pd.DataFrame:
    for column, value in where.items():
        if column not in frame:
            raise DataError(f"{name}: no column {column!r}. {nearest_names(column, frame)}")
        frame = frame[frame[column] == value]
    return frame


def _translate(row: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return one printed row as a cell of ours."""
    printed_method = row[entry["method"]]
    metric = entry["metric"]
    if isinstance(metric, Mapping):
        metric = metric.get(printed_method, metric["default"])
    cell = {
        "paper": entry["paper"],
        "table": f"{row['table']}",
        "title": entry["title"].format(**row),
        "row": entry["row"].format(**row),
        "column": entry["column"].format(**row),
        "printed_method": str(printed_method),
        "printed_mean": float(row[entry["mean"]]),
        "printed_sd": float(row[entry["sd"]]),
        "printed_replications": entry["replications"],
        "study": entry["study"],
        "method": _method_name(row, entry),
        "metric": metric,
        "scale": float(entry.get("scale", 1.0)),
        "digits": entry["digits"],
        "best": entry["best"],
    }
    settings = dict(entry.get("constants", {}))
    for printed_column, ours in entry["settings"].items():
        value = row[printed_column]
        settings[ours["column"]] = ours.get("values", {}).get(value, value)
    return cell | {_SETTING + key: value for key, value in settings.items()}


def _method_name(row: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    if "pattern" in entry:
        return entry["pattern"].format(**row)
    return entry.get("methods", {}).get(row[entry["method"]], row[entry["method"]])
