"""Check tables, figures, claims and discrepancies against the studies that they are about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from string import Formatter
from typing import Any

from fedmix.cells import predicates
from fedmix.cells.items import Item
from fedmix.cells.papers import Paper, misnamed
from fedmix.cells.printed import names_of
from fedmix.cells.verdicts import SEARCHED
from fedmix.configuration import Document, read_document
from fedmix.declarations import names_in, problems
from fedmix.errors import ConfigurationError
from fedmix.pipeline.checking import (
    Vocabulary,
    condition_errors,
    number_errors,
    unknown,
    unknown_names,
    value_errors,
)
from fedmix.pipeline.checking.printed import PrintedFiles, printed_errors
from fedmix.pipeline.coverage import identity_in
from fedmix.pipeline.plan import Setting, Study

#: Each setting of a study, with what identifies each method there.
Numbers = list[tuple[Setting, dict[str, dict[str, Any]]]]
# Options of a figure whose value is a column of the frame of cells.
_COLUMNS = ("series", "along")
# Builder of a figure -> the options that it needs, and those that each of its panels needs.
_NEEDED: dict[str, tuple[str, ...]] = {
    "lines": ("x",),
    "points": ("along",),
    "maps": ("x", "along"),
    "ranks": ("rows",),
    "trajectories": ("columns", "ylabel"),
}
_NEEDED_OF_PANELS = {
    "ranks": ("rows", ("metric", "rank", "title")),
    "trajectories": ("columns", ("methods", "title")),
}
# Keys of a discrepancy's readings that are not conditions on a setting.
_NO_SETTINGS = ("method", "metric")
# Pairs of a predicate's parameters: nothing is compared if they are equal.
_DIFFERENT = (
    *(("method", other) for other in ("than", "to", "relative_to")),
    *(("first", "middle"), ("middle", "last"), ("metric", "than_metric"), ("at", "than")),
    *(("along", "column"), ("along", "per"), ("column", "per")),
)
# Pairs of which the second is larger.
_INCREASING = (("low", "high"), ("split", "until"))


def name_errors(name: str, document: Document, papers: Collection[str]) -> Iterator[str]:
    """Yield an error if an item's name cannot be that of its files and its target."""
    yield from misnamed("a table or a figure", name, document.place())
    if name in papers:
        yield f"{document.place()}: {name!r} is the name of a paper. Rename the table or figure."


def item_errors(
    item: Item, document: Document, studies: Mapping[str, Vocabulary], files: PrintedFiles
) -> Iterator[str]:
    """Yield the names in an item that its study or the file of published values does not have."""
    if item.study not in studies:
        yield from unknown(document.place("study"), "study", item.study, studies)
        return
    study = studies[item.study]
    if item.where:
        yield from condition_errors(document.part("where"), study.settings)
    yield from _shown_errors(document, study)
    if item.printed and item.judged:
        yield from printed_errors(document.part("printed"), item.paper, study, files)
        if other := item.other_draws:
            yield from unknown(document.place("printed", "other_draws"), "study", other, studies)
    known = {*study.cell_columns, *item.printed.get("columns", ())}
    for key, template in (("row", item.row), ("column", item.column)):
        for _, name, _, _ in Formatter().parse(template):
            if name is not None:
                yield from unknown(document.place(key), "column", name, known)
    if item.kind == "figure":
        yield from _missing_options(document.part("options"), item.builder)
        yield from _option_errors(document.part("options"), study, item.builder == "lines")
    for option in ("show", "metrics"):
        yield from unknown_names(document, "metric", study.metrics, "options", option)
    for option in ("difference", "leaderboard"):
        if metric := item.options.get(option):
            yield from unknown(document.place("options", option), "metric", metric, study.metrics)


def unmatched_errors(item: Item, document: Document, plans: Mapping[str, Study]) -> Iterator[str]:
    """Yield an error if a preset changes an item but runs none of its settings."""
    if item.study not in plans:
        yield f"{document.place()}: the preset does not run {item.study!r}, which it shows"
    elif not any(setting.matches(item.where) for setting in plans[item.study].settings.values()):
        yield f"{document.place('where')}: the preset has no setting with all of these values"


def place_errors(
    items: Mapping[str, Item], documents: Mapping[str, Document], plans: Mapping[str, Study]
) -> Iterator[str]:
    """Yield an error for each table in which two numbers have the same place, or one has none."""
    numbers: dict[str, Numbers] = {}  # many items show the same study
    for name, item in items.items():
        if item.kind == "table" and "condensed" not in item.options:
            plan = plans[item.study]
            if item.study not in numbers:
                numbers[item.study] = [
                    (s, {name: identity_in(plan, s, name) for name in plan.methods_of(s)})
                    for s in plan.settings.values()
                ]
            yield from _clashes(item, documents[name], numbers[item.study])


def _clashes(item: Item, document: Document, numbers: Numbers) -> Iterator[str]:
    """Yield an error if two numbers have the same place in a table, or one has none."""
    first: dict[tuple[str, ...], str] = {}
    for identity, cell in _cells(item, numbers):
        try:
            place = item.place_of(cell)
        except (ValueError, TypeError) as error:
            yield f"{document.place()}: {item.row!r} and {item.column!r} cannot be filled: {error}"
            return
        if place is None:
            continue
        own = f"{identity['setting']} {identity['method']}"
        other = first.setdefault((identity["variant"], *place, cell["metric"]), own)
        if other != own:
            yield (
                f"{document.place()}: {other} and {own} both have row {place[0]!r}, column "
                f"{place[1]!r}. Name a column in `row` or `column` that distinguishes them, or "
                "give one of two methods another label."
            )
            return


def _cells(item: Item, numbers: Numbers) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield what identifies each number of an item, without and with values in printed columns."""
    for setting, identities in numbers:
        for name, identity in identities.items() if setting.matches(item.where) else ():
            names = names_of(item, identity)[0]
            for metric in item.metrics_of(name) if names is not None else ():
                yield identity, {**identity, **names, "metric": metric}


def paper_errors(
    paper: Paper, items: Iterable[Item], studies: Mapping[str, Vocabulary]
) -> Iterator[str]:
    """Yield the names in a paper's ``about.yaml`` that its items and its studies do not show."""
    about = read_document(paper.folder / "about.yaml")
    variants = {setting.variant for study in studies.values() for setting in study.settings}
    yield from unknown_names(about, "variant", {*variants, SEARCHED}, "variants")
    drawn = {name for study in studies.values() for name in study.methods} | variants
    items = [item for item in items if item.study in studies]
    drawn.update(metric for item in items for metric in item.metrics)
    if paper.looks.keys() - drawn:
        drawn.update(text for item in items for text in _written(item, studies[item.study]) if text)
    yield from unknown_names(about, "series", drawn, "looks")


def _written(item: Item, study: Vocabulary) -> Iterator[str]:
    """Yield the texts that an item's templates give for a study's settings."""
    for setting in study.settings:
        known = {f"setting_{name}": value for name, value in setting.identity.items()}
        for template in (item.row, item.column):
            with suppress(KeyError, ValueError, TypeError):  # not a setting's column
                yield template.format(**known)


def _shown_errors(part: Document, study: Vocabulary) -> Iterator[str]:
    """Yield unknown metrics and methods."""
    content = part.content
    yield from unknown_names(part, "method", study.methods, "methods")
    metric = content.get("metric", [])
    for i, one in enumerate(_listed(metric)):
        place = part.place("metric", i) if isinstance(metric, list) else part.place("metric")
        for method, name in one.items() if isinstance(one, Mapping) else [("default", one)]:
            yield from unknown(place, "method", method, ("default", *study.methods))
            yield from unknown(place, "metric", name, study.metrics)


def _missing_options(options: Document, builder: str) -> Iterator[str]:
    """Yield the options that a builder needs, and that neither the figure nor all panels have."""
    content = options.content
    panels = [content[side] for side in ("rows", "columns") if isinstance(content.get(side), list)]
    for key in _NEEDED.get(builder, ()):
        if key not in content and not any(all(key in one for one in side) for side in panels):
            yield f"{options.place()}: missing {key}, which a figure of {builder} needs"
    side, keys = _NEEDED_OF_PANELS.get(builder, ("", ()))
    for i, one in enumerate(content[side] if isinstance(content.get(side), list) else ()):
        if lacking := [key for key in keys if key not in one]:
            yield f"{options.place(side, i)}: missing {', '.join(lacking)}"


def _option_errors(options: Document, study: Vocabulary, of_lines: bool) -> Iterator[str]:
    """Yield the unknown names in the options of a figure, or of a row or column of panels."""
    content, columns = options.content, study.cell_columns
    yield from _shown_errors(options, study)
    for key in _COLUMNS:
        if isinstance(content.get(key), str):
            yield from unknown(options.place(key), "column", content[key], columns)
    if isinstance(level := content.get("level"), str):
        known = {*columns, *study.methods}
        yield from unknown(options.place("level"), "column or method", level, known)
    if "rank" in content:
        yield from unknown(options.place("rank"), "metric", content["rank"], study.metrics)
    for name in names_in(content["x"]) if "x" in content else ():
        known = {*columns, *study.metrics}
        yield from unknown(options.place("x"), "column or metric", name, known)
        if of_lines and name in columns and name.startswith("setting_"):
            key = name.removeprefix("setting_")
            yield from number_errors(options.place("x"), key, study.settings)
    for key, value in content.get("where", {}).items():
        name = key.removeprefix("setting_")
        yield from unknown(options.place("where", key), "column", key, columns)
        if key in columns and (name != key or key == "variant"):
            yield from value_errors(options.place("where", key), name, value, study.settings)
    for key in ("rows", "columns"):
        panels = content.get(key, [])
        if isinstance(panels, str):
            yield from unknown(options.place(key), "column", panels, columns)
        else:
            for i in range(len(panels)):
                yield from _option_errors(options.part(key, i), study, of_lines)


def claim_errors(claim: Document, studies: Mapping[str, Vocabulary]) -> Iterator[str]:
    """Yield the names in a claim that its study does not have or its predicate does not accept."""
    content = claim.content
    if "study" not in content:
        return
    if content["study"] not in studies:
        yield from unknown(claim.place("study"), "study", content["study"], studies)
        return
    study = studies[content["study"]]
    if "where" in content:
        yield from condition_errors(claim.part("where"), study.settings)
    try:
        declared = predicates.parameters_of(content["predicate"])
    except ConfigurationError as error:
        yield f"{claim.place('predicate')}: {error}"
        return
    given = content.get("parameters", {})
    found = list(problems(declared, given, study.context))
    for keys, message in found:
        yield f"{claim.place('parameters', *keys)}: {message}"
    if not found:
        yield from _value_errors(claim, given, study)


def _value_errors(claim: Document, given: Mapping[str, Any], study: Vocabulary) -> Iterator[str]:
    """Yield a predicate's parameters that no setting has, or that do not fit one another."""
    if "along" in given:
        where = claim.content.get("where", {})
        there = [setting for setting in study.settings if setting.matches(where)]
        place = claim.place("parameters", "along")
        yield from number_errors(place, given["along"], there, least=2)
    for one, other in _DIFFERENT:
        if {one, other} <= given.keys() and _listed(given[one]) == _listed(given[other]):
            yield f"{claim.place('parameters', other)}: the same as `{one}`. Change one of them"
    for low, high in _INCREASING:
        if None not in (given.get(low), given.get(high)) and given[low] >= given[high]:
            place = claim.place("parameters", high)
            yield f"{place}: expected a number above `{low}`, which is {given[low]}"
    if "column" in given:
        for key in ("at", "than"):
            place = claim.place("parameters", key)
            yield from value_errors(place, given["column"], given[key], study.settings)
    if given.get("targets"):
        place = claim.place("parameters", "targets")
        yield from value_errors(place, "dataset", list(given["targets"]), study.settings)
    if claim.content["predicate"] == "between" and not {"low", "high"} & set(given):
        yield f"{claim.place('parameters')}: neither low nor high is given; give at least one"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def discrepancy_errors(entry: Document, studies: Mapping[str, Vocabulary]) -> Iterator[str]:
    """Yield the names in a discrepancy's effects that their study does not have."""
    for i, effect in enumerate(entry.content.get("effects", ())):
        part = entry.part("effects", i)
        if effect["study"] in studies:
            yield from _effect_errors(part, studies[effect["study"]])
        else:
            yield from unknown(part.place("study"), "study", effect["study"], studies)


def _effect_errors(effect: Document, study: Vocabulary) -> Iterator[str]:
    content = effect.content
    if content["from"] == content["to"]:
        yield f"{effect.place('to')}: the same as `from`, so there is no effect. Change one of them"
    for switch in _listed(content.get("switch", [])):
        known = {*study.context["setting"], *study.parameters}
        yield from unknown(effect.place("switch"), "switch", switch, known)
    for side in ("from", "to"):
        reading = {**content, **content[side]}
        for kind in _NO_SETTINGS:
            if kind not in reading:
                yield f"{effect.place(side)}: a {kind} is missing, here and in the effect"
                continue
            place = effect.place(side, kind) if kind in content[side] else effect.place(kind)
            yield from unknown(place, kind, reading[kind], study.context[kind])
        wanted = {**content.get("where", {}), **content[side]}
        where = {key: value for key, value in wanted.items() if key not in _NO_SETTINGS}
        yield from condition_errors(Document(where, effect.part(side).finders), study.settings)
