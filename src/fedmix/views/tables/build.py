"""Build the tables that people ask for by name, and write them as text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fedmix.cells.condensed import data_of, mean_ranks
from fedmix.revision import commit
from fedmix.storage import write_text
from fedmix.views import captions
from fedmix.views.format import to_markdown
from fedmix.views.tables.latex import PACKAGES, to_latex
from fedmix.views.tables.layout import LISTS, Block, Entry, Part, lay_out, lay_out_condensed, named


def build_table(
    item: Mapping[str, Any], cells: pd.DataFrame, outputs: Iterable[str | os.PathLike]
) -> None:
    """Lay out a table and write it in the format of each output's suffix.

    ``cells`` are those of the item's settings. Those that were not run are left out; it is an error
    if none was. The suffixes are ``csv`` (the frame's rows), ``md``, ``tex`` and ``html``.
    """
    own = captions.cells_of(item, cells[cells["n"] + cells["failed"] > 0])
    writers = {"csv": _csv, "md": _markdown, "tex": _latex, "html": to_html}
    for output in outputs:
        suffix = os.fspath(output).rpartition(".")[2]
        write_text(output, writers[suffix](item, own))


def blocks_of(item: Mapping[str, Any], cells: pd.DataFrame) -> list[Block]:
    """Lay out an item's rows of the frame."""
    options = item["options"]
    if "condensed" in options:
        return lay_out_condensed(cells, options["condensed"])
    blocks = lay_out(cells, options.get("show"), captions.names_of(item))
    if "leaderboard" in options:
        ranked = {v: _ranked(item, own) for v, own in cells.groupby("variant")}
        return [block.ordered(list(ranked[block.variant]["label"])) for block in blocks]
    return blocks


def _ranked(item: Mapping[str, Any], cells: pd.DataFrame) -> pd.DataFrame:
    """Return the mean ranks of a leaderboard's methods in one variant, the best first."""
    options, names = item["options"], captions.names_of(item)
    ranked = mean_ranks(cells, options["leaderboard"], options.get("same_data"), item["direction"])
    return ranked.assign(label=[named(label, names) for label in ranked["label"]])


def _leaderboard(item: Mapping[str, Any], cells: pd.DataFrame) -> str:
    """Return the mean ranks of a leaderboard in words, with the groups that do not differ."""
    if "leaderboard" not in item["options"]:
        return ""
    several = cells["variant"].nunique() > 1
    said = []
    for variant, own in cells.groupby("variant", sort=False):
        n_data = len(set(data_of(own, item["options"].get("same_data")).values()))
        which = captions.in_words(variant) if several else ""
        said.append(captions.leaderboard(_ranked(item, own), n_data, captions.usual_n(own), which))
    return captions.sentences(*said)


def _csv(item: Mapping[str, Any], cells: pd.DataFrame) -> str:
    rows = cells.drop(columns=list(LISTS)).assign(preset=item["preset"], commit=commit())
    used = (rows.notna() & (rows != "")).any()
    return rows.loc[:, used].to_csv(index=False, float_format="%.6g")


def _markdown(item: Mapping[str, Any], cells: pd.DataFrame) -> str:
    table = as_text(blocks_of(item, cells), cells, item["options"].get("rows", ""))
    return to_markdown(table, caption(item, cells), [*_brackets(cells), *_below(item, cells)])


def to_html(item: Mapping[str, Any], cells: pd.DataFrame, template: str = "table.html") -> str:
    """Return a table with its notes as a page, or as a part of one with ``table_part.html``.

    The item and the cells are those of :func:`build_table`.
    """
    from jinja2 import Environment, FileSystemLoader

    blocks = blocks_of(item, cells)
    loader = FileSystemLoader(Path(__file__).parent)
    templates = Environment(loader=loader, autoescape=True, trim_blocks=True)
    return templates.get_template(template).render(
        title=item["title"],
        caption=caption(item, cells),
        corner=corner_of(blocks, item["options"].get("rows", "")),
        columns=blocks[0].columns,
        rows=text_rows(blocks, cells),
        notes=[*_brackets(cells), *_below(item, cells)],
    )


def _latex(item: Mapping[str, Any], cells: pd.DataFrame) -> str:
    """Return one table per variant and metric, because two would be too wide together."""
    blocks, variants = blocks_of(item, cells), dict(iter(cells.groupby("variant")))
    tables = []
    for block in blocks:
        own = variants[block.variant]
        below = _below(item, own)
        for index in range(block.depth):
            part = block.only(index)
            shown = (entry.cell for own in part.entries.values() for entry in own if entry.cell)
            metrics = list(dict.fromkeys(cell["metric"] for cell in shown))
            parted = "metrics" in item["options"] or block.depth > 1
            named = [block.variant] * (len(blocks) > 1) + metrics * parted
            tables.append(
                to_latex(
                    part,
                    caption(item, own, [_name_of(name, item) for name in named]),
                    below,
                    label=":".join([item["name"], *named]),
                    corner=item["options"].get("rows", ""),
                    usual_n=captions.usual_n(own),
                )
            )
    head = f"% Preset {item['preset']}. {captions.origin(cells)}\n{PACKAGES}\n"
    return head + "\n".join(tables)


def _name_of(name: str, item: Mapping[str, Any]) -> str:
    return item["options"].get("metrics", {}).get(name, captions.in_words(name))


def caption(item: Mapping[str, Any], cells: pd.DataFrame, of: Iterable[str] = ()) -> str:
    """Return the text above a table in a file of its own: its title and description.

    ``of`` names the variant and the metric where the table has only one of several.
    """
    metrics = _metrics_named(item, cells)
    named = list(of) or metrics * (len(metrics) == 1)
    title = f"{item['title']}{''.join(f', {name}' for name in named)}."
    return captions.sentences(title, described(item, cells, one_metric=bool(named)))


def described(item: Mapping[str, Any], cells: pd.DataFrame, one_metric: bool = False) -> str:
    """Return a table's description: stand-ins for its data, caption, metrics and n."""
    metrics = _metrics_named(item, cells)
    several = len(metrics) > 1 and not one_metric
    return captions.sentences(
        captions.stand_in(cells, item["datasets"]),
        item["caption"],
        f"In each place: {' / '.join(metrics)}." if several else "",
        captions.replications(cells, item["preset"], "unless a cell says otherwise"),
    )


def _metrics_named(item: Mapping[str, Any], cells: pd.DataFrame) -> list[str]:
    """Return the names of the metrics that are shown, if the item gives names."""
    if "metrics" not in item["options"]:
        return []
    return [_name_of(metric, item) for metric in dict.fromkeys(cells["metric"])]


def _below(item: Mapping[str, Any], cells: pd.DataFrame) -> list[str]:
    """Return all notes below a table in a file of its own."""
    plain = not any(item["options"].get(name) for name in ("show", "condensed"))
    spread = ["Means, and standard deviations in parentheses."] if plain else []
    best = captions.best_explained(cells, item["direction"])
    return [*spread, *best, *notes(item, cells), captions.origin(cells)]


def _brackets(cells: pd.DataFrame) -> list[str]:
    printed = (cells["printed_text"] != "").any()
    return ["In brackets: the published values, as printed."] if printed else []


def notes(item: Mapping[str, Any], cells: pd.DataFrame) -> list[str]:
    """Return the sentences below a table."""
    lines = [
        _leaderboard(item, cells),
        captions.failures(cells),
        *captions.variants_explained(cells, item["variants"]),
        captions.marks_explained(cells),
        captions.power(cells, item["direction"], item["options"].get("difference", "")),
        captions.left_out(item["left_out"]),
    ]
    return [line for line in lines if line]


def text_rows(blocks: list[Block], cells: pd.DataFrame) -> list[tuple[str, list[list[Part]]]]:
    """Return a table's rows as text, block after block: their names, and the parts of each place.

    ``cells`` are the blocks' rows of the frame.
    """
    n = captions.usual_n(cells)
    several = len(blocks) > 1
    return [
        (
            f"{captions.in_words(block.variant)}, {row}" if several else row,
            [parts_of(block.entries.get((row, column), []), n) for column in block.columns],
        )
        for block in blocks
        for row in block.rows
    ]


def as_text(blocks: list[Block], cells: pd.DataFrame, rows: str = "") -> pd.DataFrame:
    """Return a Markdown table: ours, the best in bold, with marks and published values.

    ``rows`` is the heading of the rows' names; the rest is as in :func:`text_rows`.
    """
    lines = {
        name: ["".join(map(_marked, place)) for place in places]
        for name, places in text_rows(blocks, cells)
    }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=blocks[0].columns)
    return table.rename_axis(index=corner_of(blocks, rows))


def _marked(part: Part) -> str:
    return f"**{part.ours}**{part.after}" if part.is_best else part.ours + part.after


def corner_of(blocks: list[Block], rows: str) -> str:
    """Return the table's corner: the heading of the rows' names."""
    return f"variant, {rows}" if len(blocks) > 1 and rows else rows


def parts_of(entries: list[Entry], n: int) -> list[Part]:
    """Return one place of a table as text, e.g. ``13.25 (1.20)``, ``● [13.30 (1.17)]``.

    Several entries are separated by slashes; none gives an en dash. ``n`` is the usual number of
    replications; only another number is shown.
    """
    if not entries:
        return [Part("–")]
    other = sorted({int(e.cell["n"]) for e in entries if e.cell} - {n})
    ends = [" / "] * (len(entries) - 1) + [f", n = {' / '.join(map(str, other))}" if other else ""]
    return [Part(e.ours, _beside(e) + end, e.is_best) for e, end in zip(entries, ends, strict=True)]


def _beside(entry: Entry) -> str:
    """Return the mark and the published value."""
    printed = f" [{entry.printed}]" if entry.printed else ""
    return f" {entry.mark}{printed}" if entry.mark else printed
