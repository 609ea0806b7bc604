"""Explain where a number comes from, in the order of the data flow.

``python -m fedmix explain`` prints the same text as the page shows for every cell. Where nothing
has been run, the kept pages explain it more briefly.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from fedmix import methods
from fedmix.cells import verdicts
from fedmix.cells.papers import read_claims, read_discrepancies
from fedmix.cells.predicates import methods_named, metrics_named
from fedmix.cells.printed import rows_of
from fedmix.conditions import has_values
from fedmix.errors import ConfigurationError, DataError, nearest_names
from fedmix.pipeline.plan import PlannedMethod, Setting, Study, setting_folder
from fedmix.pipeline.provenance import ROOT, source_files
from fedmix.pipeline.request import Part, Request, named
from fedmix.storage import sha256_of
from fedmix.views.marks import number_of

Cell = Mapping[str, Any]
#: The pages that are made from the evidence.
KEPT = Path("docs") / "reproduction"


def find_cells(frame: pd.DataFrame, item: str, row: str, column: str) -> list[Cell]:
    """Return an item's cells at a row and a column, one per variant.

    Parameters
    ----------
    frame : DataFrame
        From :func:`fedmix.cells.frame.judged_cells`.
    item, row, column : str
        Names as in the table, with or without spaces and capitals.

    Raises
    ------
    ConfigurationError
        If the item, row or column is unknown, with the nearest names.
    """
    for name, wanted in (("item", item), ("row", row), ("column", column)):
        known = [value for value in dict.fromkeys(frame[name]) if value]
        same = [value for value in known if _plain(value) == _plain(wanted)]
        if not same:
            hint = nearest_names(wanted, known)
            raise ConfigurationError(f"No cells with {name} {wanted!r}. {hint}")
        frame = frame[frame[name].isin(same)]
    return frame.to_dict("records")


def _plain(name: str) -> str:
    """Return a name without spaces and capitals, so that "0%" finds "0 %"."""
    return "".join(name.split()).casefold()


class Explainer:
    """Explains where the cells of a run come from; Snakemake works in ``workdir``."""

    def __init__(self, request: Request, workdir: str | Path = ".") -> None:
        self.request, self.workdir = request, Path(workdir)
        self.claims = read_claims(request.papers)
        self.discrepancies = read_discrepancies(request.papers)

    def cells_of(self, item: str) -> list[Path]:
        """Return the finished files of the cells behind an item and its verdicts.

        Raises
        ------
        ConfigurationError
            If the preset has no such item, or none of the item has been run.
        """
        shown = named("item", item, self.request.items)
        if shown.kind == "figure":
            raise ConfigurationError(
                f"{item} is a figure, which has no rows and columns. Name a table: "
                f"{', '.join(key for key, i in self.request.items.items() if i.kind == 'table')}."
            )
        found = [path for path in self._cells(self.request.parts_behind(shown)) if path.is_file()]
        if not set(found) & set(self._cells(self.request.parts_of(shown))):
            raise ConfigurationError(
                f"Nothing of {item} has been run here; `snakemake --cores 2 {item} "
                f"{self.request.asked}` runs it. With --kept, explain shows the kept results."
            )
        return found

    def _cells(self, parts: Iterable[Part]) -> list[Path]:
        return [self.workdir / self.request.folder_of(part) / "cells.parquet" for part in parts]

    def lines(self, cell: Cell) -> list[str]:
        """Return the explanation of a cell that was run as lines of text.

        They go from the raw data to the verdict, then to what depends on the cell and the files
        behind it.

        Raises
        ------
        DataError
            If the request has no such setting or method.
        """
        study = self.request.studies[cell["study"]]
        setting = study.settings.get(setting_folder(cell["variant"], cell["setting"]))
        if setting is None or cell["method"] not in study.methods:
            raise DataError(
                f"{study.name} has no longer {cell['method']} in setting {cell['setting']} of "
                f"variant {cell['variant']}, which was run: the configuration has changed since, "
                "or an embedding is missing."
            )
        method = study.method_in(cell["method"], setting)
        facts: dict[str, Iterable[str]] = {
            **_data(self.request, setting, self.workdir),
            "Partition and start": _values(setting.values),
            "Method": [
                f"{method.name}: {methods.index()[method.estimator]}.{method.estimator}",
                *_values(method.parameters),
            ],
            "Seeds": [
                f"fedmix.streams.Streams({study.name!r}, {setting.name!r}, replication)",
                f"one generator for each purpose that fedmix.experiments.{study.experiment} names",
            ],
            "Results": _results(self.request, study, setting, method, cell),
            "Published value": [*_printed(cell), *self._pending(cell["item"])],
            "Used by": _dependents(cell, setting, self.claims, self.discrepancies),
            "Files": _files(self.request, study, setting, method),
        }
        shown = {title: own for title, lines in facts.items() if (own := list(lines))}
        return [
            line for title, own in shown.items() for line in (title, *(f"  {one}" for one in own))
        ]

    def _pending(self, item: str) -> Iterator[str]:
        """Yield a note that the verdict is not final while draws are missing."""
        study = self.request.items[item].other_draws
        if not all(path.is_file() for path in self._cells(self.request.parts_in(study))):
            yield f"The verdict is not final: it waits for the draws of {study}."


def _data(request: Request, setting: Setting, workdir: Path) -> dict[str, list[str]]:
    """Return the raw data and their embedding, with checksums; nothing for a simulation."""
    if "dataset" not in setting.values:
        return {}
    name, embedding = setting.values["dataset"], setting.values["embedding"]
    entry = request.datasets[name]
    raw = workdir / "data" / "raw" / f"{name}.npz"
    shape = [str(entry.get(size, "?")) for size in ("n_points", "n_features")]
    files = [file for source in entry["sources"] for file in source.get("files", [])]
    spec = ", ".join(f"{k}={v}" for k, v in entry["embeddings"][embedding].items())
    return {
        "Raw data": [
            f"{entry['title']}: {' x '.join(shape)}",
            *(f"{f['name']}: sha256 {f.get('sha256', 'not recorded')}" for f in files),
            _with_checksum(raw, workdir),
        ],
        "Embedding": [f"{embedding}: {spec}", _with_checksum(workdir / setting.embedded, workdir)],
    }


def _with_checksum(path: Path, workdir: Path) -> str:
    known = f"sha256 {_checksum(path)}" if path.is_file() else "not available"
    return f"{path.relative_to(workdir)}: {known}"


_checksum = cache(sha256_of)


def _values(values: Mapping[str, Any]) -> list[str]:
    return [f"{key}: {value}" for key, value in sorted(values.items())]


def _results(
    request: Request, study: Study, setting: Setting, method: PlannedMethod, cell: Cell
) -> Iterator[str]:
    folder = f"results/{study.name}/{setting.folder}"
    held = request.coverage.counts(study, setting).get(method.name)
    if held:
        yield f"data/evidence/{study.name}.parquet: {number_of(held, 'replication')}"
    for block in request.coverage.lacking(study, setting):
        if method.name in block.methods:
            yield f"{folder}/{block.name}.parquet"
    part = next(part for part in request.parts_in(study.name) if setting in part.settings)
    yield f"{request.folder_of(part)}/cells.parquet: metric {cell['metric']}"
    numbers = _known(
        ("mean {:.6g}", cell["mean"]),
        ("sd {:.4g}", cell["sd"]),
        ("standard error {:.3g}", cell["se"]),
        ("median {:.6g}", cell["median"]),
    )
    finished = f"{number_of(cell['n'], 'replication')}, {cell['failed']} failed"
    yield f"{', '.join(numbers)}; {finished}" if numbers else finished
    if numbers and cell["scale"] != 1:
        yield f"in the table's unit: mean {cell['mean'] / cell['scale']:.6g}"
    place = shlex.join([study.name, setting.folder, method.name, "0"])
    yield f"again: python -m fedmix rerun {place} {request.asked}"


def _printed(cell: Cell) -> Iterator[str]:
    if not cell["printed_text"]:
        yield "The paper does not publish this number."
        return
    file = f"data/published/{cell['printed_file']}"
    yield f"{cell['printed_text']} in {file}, line {cell['printed_line']}"
    units = _known(
        ("{:+.2f} published sd", cell["difference_in_sd"]),
        ("{:+.2f} standard errors", cell["difference_in_se"]),
    )
    for difference in _known(("{:+.4g}", cell["difference"])):
        yield f"ours minus theirs: {difference}" + f", that is {' and '.join(units)}" * bool(units)
    if cell["verdict"]:  # none beside a published value of another metric
        yield from _verdict(cell)
    if cell["draws"]:
        yield f"variance between draws: {cell['draws']}"


def _verdict(cell: Cell) -> Iterator[str]:
    """Yield a cell's verdict, and what it counts as where the paper reports no protocol."""
    yield f"verdict: {cell['verdict']} ({verdicts.RULES[cell['verdict']]})"
    counted = verdicts.counted_as(cell["verdict"], cell["role"])
    if counted != cell["verdict"]:
        yield f"counted as: {counted} ({verdicts.COUNTING_RULES[counted]})"


def _known(*numbers: tuple[str, float]) -> list[str]:
    """Return numbers as text, without those that need more replications than there are."""
    return [form.format(value) for form, value in numbers if not isnan(value)]


def _dependents(
    cell: Cell,
    setting: Setting,
    claims: Sequence[Mapping[str, Any]],
    discrepancies: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    for claim in claims:
        if (
            claim.get("study") == cell["study"]
            and {cell["method"], "all"} & methods_named(claim)
            and cell["metric"] in (metrics_named(claim) or {cell["metric"]})
            and setting.matches(claim.get("where", {}))
        ):
            yield f"claim {claim['id']}: {claim['claim']}"
    for entry in discrepancies:
        if any(_reads(effect, cell, setting) for effect in entry.get("effects", [])):
            yield f"discrepancy {entry['id']}: {entry['what']}"


def _reads(effect: Mapping[str, Any], cell: Cell, setting: Setting) -> bool:
    """Return whether an effect of a discrepancy is measured on a cell."""
    if effect["study"] != cell["study"]:
        return False
    named = ("method", "metric")
    values = {**setting.identity, **{key: cell[key] for key in named}}
    shared = {**{key: effect.get(key) for key in named}, **effect.get("where", {})}
    return any(has_values(values, {**shared, **effect[side]}) for side in ("from", "to"))


def _files(
    request: Request, study: Study, setting: Setting, method: PlannedMethod
) -> Iterator[str]:
    """Yield the files of the repository behind a cell: configuration, rules, code."""
    paper = request.papers[study.paper]
    yield f"config/{paper.kind}/{paper.key}/studies/{study.name}.yaml"
    of_data = ("fetch_data", "embed_features") if setting.dataset else ()
    for rule in (*of_data, "run_methods", "collect_results"):
        yield f"workflow/scripts/{rule}.py"
    yield from _code(methods.index()[method.estimator], f"fedmix.experiments.{study.experiment}")


@cache
def _code(*modules: str) -> list[str]:
    """Return the files of modules and of all that they import, from the repository's folder."""
    return [
        f"src/fedmix/{name}" if path.is_relative_to(ROOT) else str(path)
        for name, path in sorted(source_files(*modules).items())
    ]


def answer_of(folder: Path, item: str) -> str:
    """Return a table's answer in words, from a folder's ``scores.csv``; empty if unknown."""
    scores = {row["item"]: row for row in rows_of(folder / "scores.csv")}
    parts = [scores.get(item, {}).get(part, "") for part in ("answer", "more")]
    return " ".join(filter(None, parts))


def explain_kept(folder: Path, item: str, row: str, column: str) -> Iterator[str]:
    """Yield what the kept evidence says of a number, in every variant that ran it.

    Parameters
    ----------
    folder : Path
        With ``cells.csv`` and ``scores.csv``, usually ``docs/reproduction``.
    item, row, column : str
        As for :func:`find_cells`.

    Raises
    ------
    ConfigurationError
        If the item, row or column is unknown.
    DataError
        If there are no kept cells.
    """
    path = folder / "cells.csv"
    if not path.is_file():
        raise DataError(f"{path}: no such file; `make kept` makes it from the evidence.")
    frame = pd.read_csv(path, dtype={"row": str, "column": str}, keep_default_na=False)
    tables = list(dict.fromkeys(filter(None, frame["item"])))
    if _plain(item) not in map(_plain, tables):
        raise ConfigurationError(
            f"The kept results explain the published values of a table, and know none of {item!r}. "
            f"{nearest_names(item, tables)}"
        )
    cells = find_cells(frame, item, row, column)
    yield from [answer_of(folder, item), ""]
    for cell in cells:
        yield cell["variant"] or "not run"
        yield f"  published: {cell['printed_text']}"
        if cell["n"]:  # a single replication has no spread, and a stand-in is not compared
            spread, low = (f"{cell[name]}" for name in ("sd", "low"))
            ours = f"  ours: {cell['mean']}" + f" (sd {spread})" * bool(spread)
            yield f"{ours}, {number_of(cell['n'], 'replication')}"
            if f"{cell['difference']}":
                interval = f", 90 % [{low}, {cell['high']}]" * bool(low)
                yield f"  ours minus theirs: {cell['difference']}{interval}"
        yield from (f"  {line}" for line in _verdict(cell))
        if cell["draws"]:
            yield f"  variance between draws: {cell['draws']}"
        yield ""
