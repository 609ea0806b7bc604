"""Write the pages that the repository keeps: Markdown, figures, and tables for other programs.

Code hosts show Markdown and SVG, and no HTML, so these pages are short versions with links.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fedmix.cells.claims import claims_table
from fedmix.cells.scorecard import cells_table, scorecard
from fedmix.cells.verdicts import SEARCHED
from fedmix.errors import DataError
from fedmix.storage import write_text
from fedmix.views.captions import in_words, names_of
from fedmix.views.figures.build import copy_light
from fedmix.views.format import tally, to_markdown, without_html
from fedmix.views.page.contents import Figure, Page, PageContext, light_image, pages_of
from fedmix.views.page.views import about, claim_counts, in_percent, score_in_words
from fedmix.views.tables.build import as_text
from fedmix.views.tables.layout import lay_out

#: The largest size of the folder in bytes, because it is kept in the repository.
LIMIT = 6_500_000
_PARTS = ("tables", "figures")
_SEARCHED_APART = (
    "They are judged in the study's own variants. The remarks say what the protocol that the "
    "search chose gives."
)
# A figure from another folder has the folder in its name.
_FOLDERS = ("figures", "page_figures")
#: Columns of a table's CSV file that the copy leaves out: its name says them, ``data/evidence``,
#: which has the origin of every replication, or ``data/published``.
_KNOWN = ["paper", "item", "made", "checked", "preset", "commit", "printed_file", "printed_line"]
#: Columns with parameters of methods, which the study's configuration has.
_PARAMETERS = "method_"


def export_reproduction(
    folder: str | os.PathLike,
    context: PageContext,
    tables: Iterable[str | os.PathLike],
    timings: pd.DataFrame,
    stamp: str,
) -> None:
    """Write pages, tables, figures, scorecard, claims and provenance of a run into a folder.

    An earlier export there is replaced. ``tables`` are Markdown files with the tables' names. The
    CSV and LaTeX files next to those that a paper numbers are copied; the others have too many rows
    to be kept. Every page ends with the ``stamp`` that says what it is made from. A folder that is
    larger than :data:`LIMIT` is an error, with the largest files.
    """
    folder = Path(folder)
    for name in _PARTS:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    kept = _with_figures_in(folder / "figures", context)
    listed = claims_table(context.claims)
    shown = listed.assign(
        where=listed["where"].map(context.in_names),
        chance=listed["chance"].map(in_percent),
        remarks=[context.in_names(_in_sentences(own)) for own in context.claims["remarks"]],
    )
    summary = shown[["paper", "section", "claim", "verdict", "where", "chance", "remarks"]]
    write_text(
        folder / "cells.csv", cells_table(context.cells).to_csv(index=False, float_format="%.6g")
    )
    write_text(folder / "scorecard.csv", scorecard(context.cells, context.claims).to_csv())
    write_text(folder / "scores.csv", context.scores.to_csv(index=False))
    write_text(folder / "claims.csv", listed.to_csv())
    claims = [to_markdown(summary, "# Claims"), *_figures(kept.claim_figures, "figures")]
    _write_page(folder / "claims.md", "\n".join(claims), stamp)
    pages = pages_of(kept)
    on_page = {table["name"]: (page, table) for page in pages for table in page.tables}
    for path in map(Path, tables):
        page, table = on_page[path.stem]
        text = table_page(page, table, kept, path.read_text(encoding="utf-8"))
        _write_page(folder / "tables" / path.name, text, stamp)
        if page.is_published:
            shutil.copyfile(path.with_suffix(".tex"), folder / "tables" / f"{path.stem}.tex")
            rows = pd.read_csv(path.with_suffix(".csv"), dtype=str, keep_default_na=False)
            own = [name for name in rows if name not in _KNOWN and not name.startswith(_PARAMETERS)]
            write_text(folder / "tables" / f"{path.stem}.csv", rows[own].to_csv(index=False))
    for page in filter(_has_no_table_s_page, pages):
        text = "\n".join([f"# {without_html(page.title)}", "", *_below(page, kept)])
        _write_page(folder / "figures" / f"{page.name}.md", text, stamp)
    _write_page(folder / "README.md", front_page(pages, kept, timings), stamp)
    _check_size(folder)


def _write_page(path: Path, text: str, stamp: str) -> None:
    write_text(path, f"{text.rstrip()}\n\n{stamp}\n")


def _with_figures_in(folder: Path, context: PageContext) -> PageContext:
    """Copy each figure once, and return the context with paths from ``folder``.

    The figures of kept searches stay where they are.
    """

    def copied(figure: Figure) -> Figure:
        source = light_image(figure.path)
        if folder.parent.resolve() in source.resolve().parents:  # belongs to a kept search
            path = os.path.relpath(source.resolve(), folder.resolve())
        else:
            of_folder = "" if source.parent.name in _FOLDERS else f"{source.parent.name}_"
            path = f"{of_folder}{source.name}"
            copy_light(source, folder / path)
        return replace(figure, path=path, caption=figure.read_caption())

    return replace(
        context,
        figures=[copied(f) for f in context.figures],
        claim_figures=[copied(f) for f in context.claim_figures],
        searches=[replace(s, figures=[copied(f) for f in s.figures]) for s in context.searches],
    )


def _check_size(folder: Path) -> None:
    files = [file for file in folder.rglob("*") if file.is_file()]
    total = sum(f.stat().st_size for f in files)
    if total > LIMIT:
        largest = sorted(files, key=lambda f: f.stat().st_size)[-3:]
        names = ", ".join(f"{f.name} ({f.stat().st_size // 1000} kB)" for f in largest)
        raise DataError(
            f"The reproduction has {total // 1000} kB, more than {LIMIT // 1000} kB. "
            f"The largest files: {names}."
        )


def table_page(page: Page, table: Mapping[str, Any], context: PageContext, text: str) -> str:
    """Return the page of one of a page's tables: its score, and the text of the table itself.

    The figures, claims and discrepancies of the page follow its first table.
    """
    lines = [f"# {without_html(table['title'])}", ""]
    scores = _scores_of(table["name"], context)
    for row in scores:
        said = f"**{row['answer']}** {row['more']}".rstrip(), score_in_words(row)
        lines += [f"{sentence}\n" for sentence in said if sentence]
    counts = claim_counts(about(page, context.claims, "section"))
    if counts and table is page.tables[0] and page.is_published:
        apart = f" {_SEARCHED_APART}" if any(row["variant"] == SEARCHED for row in scores) else ""
        lines += [f"[Claims](#claims-of-the-paper): {tally(counts)}.{apart}", ""]
    if page.is_published:
        files = ", ".join(f"[{suffix}]({table['name']}.{suffix})" for suffix in ("csv", "tex"))
        lines += [f"The table as a file: {files}", ""]
    lines += [text, *_chosen(table, context)]
    if table is page.tables[0] and page.is_published:
        lines += _below(page, context)
    return "\n".join(lines)


def _chosen(table: Mapping[str, Any], context: PageContext) -> Iterator[str]:
    """Yield the values of the protocol that a search chose, which is no variant of the study."""
    cells = context.cells[context.cells["n"] > 0]
    own = cells[(cells["item"] == table["name"]) & (cells["role"] == SEARCHED)]
    if len(own):
        n = own["n"].max()
        yield f"The protocol that the search chose, on {n} new replications:\n"
        yield to_markdown(as_text(lay_out(own, names=names_of(table)), own))


def _below(page: Page, context: PageContext) -> Iterator[str]:
    yield from _figures(page.figures)
    yield from _claims(page, context)
    yield from _discrepancies(page, context)
    yield from _searches(page, context)


def front_page(pages: Iterable[Page], context: PageContext, timings: pd.DataFrame) -> str:
    """Return the front page: scorecard, a line per table or figure, how it was run, its costs.

    ``timings`` are those of all studies.
    """
    counts = scorecard(context.cells, context.claims).rename(index=context.papers)
    lines = ["# The results of a reproduction, to read without running anything", ""]
    lines += ["`make kept` writes this folder from the [evidence](../evidence.md). `make` shows"]
    lines += ["the same results as HTML pages, which explain every value.", ""]
    lines += ["## Published values by verdict", "", to_markdown(_part_of(counts, "cells"))]
    lines += ["A published value is counted in one variant, which its table names: the authors',"]
    lines += ["else the inferred one, else the text's. If the protocol is not known, the nearest"]
    lines += ["one counts."]
    lines += ["Run times are not counted. `cells.csv` has all variants.", ""]
    lines += ["## Claims by verdict", "", to_markdown(_part_of(counts, "claims"))]
    lines += ["[All claims](claims.md), with the settings in which each holds. `claims.csv` has"]
    lines += ["the papers' sentences and what was measured.", ""]
    lines += ["## Tables and figures", ""]
    for page in pages:
        for table in page.tables:
            score = "".join(_answer(row) for row in _scores_of(table["name"], context))
            title = without_html(table["title"])
            lines.append(f"- [{title}](tables/{table['name']}.md){score}")
        if _has_no_table_s_page(page):
            title = without_html(page.title)
            rest = ", figures" if page.figures else ", search for the protocol"
            ending = "" if "Figure" in title else rest
            lines.append(f"- [{title}{ending}](figures/{page.name}.md)")
    run = pd.Series(dict(context.provenance), name="", dtype=object).to_frame()
    lines += ["", "## How it was run", "", to_markdown(run)]
    lines += ["## Costs", "", to_markdown(_costs(timings))] if len(timings) else []
    return "\n".join(lines)


def _has_no_table_s_page(page: Page) -> bool:
    """Return whether no table's page shows the figures and searches of a page."""
    return bool(page.figures or page.searches) and not (page.tables and page.is_published)


def _part_of(counts: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the counts of cells or claims: a row per verdict that occurs, a column per paper."""
    part = counts.filter(like=f"{kind}: ").T
    part.index = part.index.str.removeprefix(f"{kind}: ")
    return part.loc[part.any(axis=1), part.any()].rename_axis("verdict")


def _answer(score: Mapping[str, Any]) -> str:
    variant = f" ({in_words(score['variant'])})" if score["variant"] else ""
    return f": {score['answer']}{variant}"


def _costs(timings: pd.DataFrame) -> pd.DataFrame:
    replication = ["study", "variant", "setting", "replication"]
    # Each method's row has the seconds that the methods of its replication share.
    parts = timings.groupby(replication).agg({"cpu_seconds": "sum", "shared_seconds": "max"})
    of_study = parts.sum(axis=1).groupby("study").sum() / 3600
    costs = timings.groupby("study").agg(replications=("replication", "nunique"))
    costs = costs.astype(object).assign(**{"core-hours": of_study})
    costs.loc["together"] = {"replications": "", "core-hours": of_study.sum()}
    return costs.round(2)


def _scores_of(item: str, context: PageContext) -> list[dict[str, Any]]:
    """Return the score of a published table; nothing for a table without published values."""
    return context.scores[context.scores["item"] == item].to_dict("records")


def _figures(figures: Iterable[Figure], folder: str = "../figures") -> Iterator[str]:
    for figure in figures:
        yield f"![{without_html(figure.title)}]({folder}/{figure.path})\n"
        yield f"{without_html(figure.read_caption().strip())}\n"


def _searches(page: Page, context: PageContext) -> Iterator[str]:
    for search in page.searches:
        yield "## Which protocol gives these values?\n"
        found = map(context.in_names, search.read_words())
        yield from (f"- {without_html(sentence)}" for sentence in found)
        yield ""
        yield from _figures(search.figures)


def _claims(page: Page, context: PageContext) -> Iterator[str]:
    claims = about(page, context.claims, "section")
    if len(claims):
        yield "## Claims of the paper\n"
    for claim in claims.to_dict("records"):
        quote = f" “{claim['quote']}”" if claim["quote"] else ""
        found = f": {context.in_names(claim['where'])}" if claim["where"] else ""
        said = f"{claim['claim']}{quote} ({claim['section']}) **{claim['verdict']}**{found}"
        sentence = f"{said.rstrip('.')}."
        remarks = context.in_names(_in_sentences(claim["remarks"]))
        yield f"- {without_html(f'{sentence} {remarks}'.rstrip())}"


def _in_sentences(remarks: Iterable[str]) -> str:
    return " ".join(f"{remark.rstrip('.')}." for remark in remarks)


def _discrepancies(page: Page, context: PageContext) -> Iterator[str]:
    entries = about(page, context.discrepancies, "where").to_dict("records")
    if entries:
        yield "\n## Discrepancies\n"
    for entry in entries:
        yield without_html(f"- {entry['what']} *{context.in_names(entry['effect'])}*")
    yield ""
