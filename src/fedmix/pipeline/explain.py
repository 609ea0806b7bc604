"""Explain where a number comes from, which Snakemake cannot do, in the order of the data flow.

``python -m fedmix explain`` prints the same text as the page shows for every cell. Where nothing
has been run, the kept pages explain it more briefly.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from fedmix import methods
from fedmix.cells.papers import read_claims, read_discrepancies
from fedmix.cells.predicates import methods_named, metrics_named
from fedmix.conditions import has_values
from fedmix.errors import ConfigurationError, DataError, FedmixError
from fedmix.pipeline.judged import (
    Cell,
    Names,
    answer_of,
    explain_kept,
    find_cells,
    kept_cells,
    variant_lines,
    verdict_lines,
)
from fedmix.pipeline.plan import PlannedMethod, Setting, Study, setting_folder
from fedmix.pipeline.provenance import ROOT, source_files
from fedmix.pipeline.request import Part, Request, named
from fedmix.storage import sha256_of
from fedmix.views.format import number_of


class Explainer:
    """Explains where the cells of a run come from; Snakemake works in ``workdir``."""

    def __init__(self, request: Request, workdir: str | Path = ".") -> None:
        self.request, self.workdir = request, Path(workdir)
        self.claims = read_claims(request.papers)
        self.discrepancies = read_discrepancies(request.papers)

    def cells_of(self, item: str) -> list[Path]:
        """Return the finished files of the cells behind an item and its verdicts."""
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
        """Return the explanation of a cell that was run as lines of text, see :meth:`facts`."""
        return [
            line
            for title, own in self.facts(cell).items()
            for line in (title, *(f"  {one}" for one in own))
        ]

    def facts(self, cell: Cell) -> dict[str, list[str]]:
        """Return the explanation of a cell that was run: title -> lines.

        They go from the raw data to the verdict, then to what depends on the cell and the files
        behind it.
        """
        study = self.request.studies[cell["study"]]
        setting = study.settings.get(setting_folder(cell["variant"], cell["setting"]))
        if setting is None or cell["method"] not in study.methods:
            raise DataError(
                f"{study.name} no longer has {cell['method']} in setting {cell['setting']} of "
                f"variant {cell['variant']}, which was run: the configuration has changed since, "
                "or an embedding is missing."
            )
        method = study.method_in(cell["method"], setting)
        facts: dict[str, Iterable[str]] = {
            **self._data(setting),
            "Partition and start": _values(setting.values),
            "Method": [
                f"{method.name}: {methods.index()[method.estimator]}.{method.estimator}",
                *_values(method.parameters),
            ],
            "Seeds": [
                f"fedmix.streams.Streams({study.name!r}, {setting.name!r}, replication)",
                f"one generator for each purpose that fedmix.experiments.{study.experiment} names",
            ],
            "Results": self._results(study, setting, method, cell),
            "Published value": [*_printed(cell), *self._pending(cell["item"])],
            "Used by": self._dependents(cell, setting),
            "Files": self._files(study, setting, method),
        }
        return {title: own for title, lines in facts.items() if (own := list(lines))}

    def _pending(self, item: str) -> Iterator[str]:
        """Yield a note that the verdict is not final while draws are missing."""
        study = self.request.items[item].other_draws
        if not all(path.is_file() for path in self._cells(self.request.parts_in(study))):
            yield f"The verdict is not final: it waits for the draws of {study}."

    def _data(self, setting: Setting) -> dict[str, list[str]]:
        """Return the raw data and their embedding, with checksums; nothing for a simulation."""
        name = setting.dataset
        if not name:
            return {}
        entry, embedding = self.request.datasets[name], setting.values["embedding"]
        shape = [str(entry.get(size, "?")) for size in ("n_points", "n_features")]
        files = [file for source in entry["sources"] for file in source.get("files", [])]
        spec = ", ".join(f"{k}={v}" for k, v in entry["embeddings"][embedding].items())
        return {
            "Raw data": [
                f"{entry['title']}: {' x '.join(shape)}",
                *(f"{f['name']}: sha256 {f.get('sha256', 'not recorded')}" for f in files),
                self._with_checksum(f"data/raw/{name}.npz"),
            ],
            "Embedding": [f"{embedding}: {spec}", self._with_checksum(setting.embedded)],
        }

    def _with_checksum(self, file: str) -> str:
        path = self.workdir / file
        return f"{file}: {f'sha256 {_checksum(path)}' if path.is_file() else 'not available'}"

    def _results(
        self, study: Study, setting: Setting, method: PlannedMethod, cell: Cell
    ) -> Iterator[str]:
        coverage, folder = self.request.coverage, f"results/{study.name}/{setting.folder}"
        held = coverage.counts(study, setting).get(method.name)
        if held:
            yield f"data/evidence/{study.name}.parquet: {number_of(held, 'replication')}"
        for block in coverage.lacking(study, setting):
            if method.name in block.methods:
                yield f"{folder}/{block.name}.parquet"
        parts = self.request.parts_in(study.name)
        part = next(part for part in parts if setting in part.settings)
        yield f"{self.request.folder_of(part)}/cells.parquet: metric {cell['metric']}"
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
        yield f"again: python -m fedmix rerun {place} {self.request.asked}"

    def _dependents(self, cell: Cell, setting: Setting) -> Iterator[str]:
        """Yield the claims and the discrepancies that depend on a cell."""
        for claim in self.claims:
            if (
                claim.get("study") == cell["study"]
                and {cell["method"], "all"} & methods_named(claim)
                and cell["metric"] in (metrics_named(claim) or {cell["metric"]})
                and setting.matches(claim.get("where", {}))
            ):
                yield f"claim {claim['id']}: {claim['claim']}"
        for entry in self.discrepancies:
            if any(_reads(effect, cell, setting) for effect in entry.get("effects", [])):
                yield f"discrepancy {entry['id']}: {entry['what']}"

    def _files(self, study: Study, setting: Setting, method: PlannedMethod) -> Iterator[str]:
        """Yield the files of the repository behind a cell: configuration, rules, code."""
        paper = self.request.papers[study.paper]
        yield f"config/{paper.kind}/{paper.key}/studies/{study.name}.yaml"
        of_data = ("fetch_data", "embed_features") if setting.dataset else ()
        for rule in (*of_data, "run_methods", "collect_results"):
            yield f"workflow/scripts/{rule}.py"
        code = methods.index()[method.estimator], f"fedmix.experiments.{study.experiment}"
        yield from _code(*code)


_checksum = cache(sha256_of)


def _values(values: Mapping[str, Any]) -> list[str]:
    return [f"{key}: {value}" for key, value in sorted(values.items())]


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
    if interval := _known(("[{:+.4g},", cell["low"]), ("{:+.4g}]", cell["high"])):
        yield f"90 % interval of this difference: {' '.join(interval)}"
    if cell["verdict"]:  # none beside a published value of another metric
        yield from verdict_lines(cell)
    if cell["draws"]:
        yield f"variance between draws: {cell['draws']}"


def _known(*numbers: tuple[str, float]) -> list[str]:
    """Return numbers as text, without those that need more replications than there are."""
    return [form.format(value) for form, value in numbers if not isnan(value)]


def _reads(effect: Mapping[str, Any], cell: Cell, setting: Setting) -> bool:
    """Return whether an effect of a discrepancy is measured on a cell."""
    if effect["study"] != cell["study"]:
        return False
    named = ("method", "metric")
    values = {**setting.identity, **{key: cell[key] for key in named}}
    shared = {**{key: effect.get(key) for key in named}, **effect.get("where", {})}
    return any(has_values(values, {**shared, **effect[side]}) for side in ("from", "to"))


@cache
def _code(*modules: str) -> list[str]:
    """Return the files of modules and of all that they import, from the repository's folder."""
    return [
        f"src/fedmix/{name}" if path.is_relative_to(ROOT) else str(path)
        for name, path in sorted(source_files(*modules).items())
    ]


def names_in(request: Request, item: str) -> Names:
    """Return the names of rows and columns in an item's table: titles of data sets, its own."""
    titles = {name: entry["title"] for name, entry in request.datasets.items()}
    shown = request.items.get(item)
    return titles | (shown.options.get("names", {}) if shown else {})


def variants_in(request: Request, item: str) -> Names:
    """Return what the variants in an item's table are, in words."""
    shown = request.items.get(item)
    return request.papers[request.studies[shown.study].paper].variants if shown else {}


def explain_run(
    explainer: Explainer, frame: pd.DataFrame, audit: Path, item: str, row: str, column: str
) -> Iterator[str]:
    """Yield the explanation of a number of a run, in every variant that ran it.

    What a variant has in common with the one before it is not repeated. ``frame`` has the item's
    cells, from :func:`fedmix.cells.frame.judged_cells`. ``audit`` is the run's folder ``audit``,
    which a run up to the page makes.
    """
    place = item, row, column, names_in(explainer.request, item)
    variants = variants_in(explainer.request, item)
    try:
        judged = kept_cells(audit, *place)
    except FedmixError:  # a run without its page, or a number that no paper publishes
        judged = []
    try:
        cells = find_cells(frame, *place)
    except ConfigurationError:
        if not judged:
            raise
        yield from explain_kept(audit, *place, variants)
        return
    if said := answer_of(audit, item):
        yield from [said, ""]
    if judged and judged[0].get("counted"):
        *_, said = verdict_lines(judged[0])
        yield from [f"{judged[0]['variant']}: {said}", ""]
    above: dict[str, list[str]] = {}
    for cell in cells:
        yield cell["variant"]
        yield from variant_lines(cell, variants)
        for title, own in explainer.facts(cell).items():
            if above.get(title) == own:
                yield f"{title}: as above"
            else:
                yield from (title, *(f"  {line}" for line in own))
            above[title] = own
        yield ""
