"""Short Markdown versions of the pages of a kept run, which code hosts display, with links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.scorecard import scorecard
from fedmix.views.captions import in_words
from fedmix.views.page.contents import Page
from fedmix.views.page.context import PageContext
from fedmix.views.page.views import claims_about, entries_about, score_in_words
from fedmix.views.page.words import names_of, translator
from fedmix.views.tables.format import to_markdown, without_html

if TYPE_CHECKING:
    import pandas as pd


def table_page(page: Page, table: Mapping[str, Any], context: PageContext, text: str) -> str:
    """Return a table's page: its score, the table, its figures, claims and discrepancies.

    Parameters
    ----------
    page : Page
        The page that contains the table.
    table : mapping
        One of the page's tables. Figures, claims and discrepancies follow the first one.
    context : PageContext
        Its figures are in the folder ``figures``, next to the folder of the table's page.
    text : str
        The table itself.
    """
    lines = [f"# {without_html(table['title'])}", ""]
    lines += [f"**{row['answer']}**\n" for row in _scores_of(table["name"], context)]
    lines += [f"{score_in_words(row)}\n" for row in _scores_of(table["name"], context)]
    files = ", ".join(f"[{suffix}]({table['name']}.{suffix})" for suffix in ("csv", "tex"))
    lines += [f"The table as a file: {files}", "", text]
    if table is page.tables[0] and page.is_published:
        lines += [*_figures(page), *_claims(page, context), *_discrepancies(page, context)]
    return "\n".join(lines)


def front_page(pages: Iterable[Page], context: PageContext, timings: pd.DataFrame) -> str:
    """Return the front page: scorecard, a line per table or figure, how it was run, its costs.

    Parameters
    ----------
    pages : iterable of Page
    context : PageContext
    timings : DataFrame
        The timings of all studies.
    """
    score = scorecard(context.cells, context.claims)
    lines = ["# The results of a reproduction, to read without running anything", ""]
    lines += ["`make kept` writes this folder from the [evidence](../evidence.md). `make` shows"]
    lines += ["the same results as HTML pages, which explain every value.", ""]
    lines += ["## Scorecard", "", to_markdown(score.T)]
    lines += [
        "A published cell is counted in one variant: the authors', else the inferred one, else"
    ]
    lines += [
        "the text's. Run times are not counted. Each table names its variant; `cells.csv` has"
    ]
    lines += ["all variants. [All claims](claims.md)", ""]
    lines += ["## Tables and figures", ""]
    for page in pages:
        for table in page.tables:
            score = "".join(_answer(row) for row in _scores_of(table["name"], context))
            title = without_html(table["title"])
            lines.append(f"- [{title}](tables/{table['name']}.md){score}")
        if not page.tables:
            lines += [f"- [{f.title}](figures/{Path(f.path).name})" for f in page.figures]
    lines += ["", "## How it was run", "", "| | |", "|---|---|"]
    lines += [f"| {k} | {without_html(v)} |" for k, v in context.provenance.items()]
    lines += ["", "## Costs", "", to_markdown(_costs(timings))]
    return "\n".join(lines)


def _answer(score: Mapping[str, Any]) -> str:
    variant = f" ({in_words(score['variant'])})" if score["variant"] else ""
    return f": {score['answer']}{variant}"


def _costs(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the replications and core-hours of every study."""
    seconds = timings["cpu_seconds"] + timings["shared_seconds"]
    of_study = timings.assign(hours=seconds / 3600).groupby("study")
    costs = of_study.agg(replications=("replication", "nunique"), hours=("hours", "sum"))
    return costs.rename(columns={"hours": "core-hours"}).round(2)


def _scores_of(item: str, context: PageContext) -> list[dict[str, Any]]:
    """Return the score of a published table; nothing for a table without published values."""
    return context.scores[context.scores["item"] == item].to_dict("records")


def _figures(page: Page) -> Iterator[str]:
    for figure in page.figures:
        yield f"![{without_html(figure.title)}](../figures/{Path(figure.path).name})\n"
        yield f"{without_html(figure.read_caption().strip())}\n"


def _claims(page: Page, context: PageContext) -> Iterator[str]:
    claims = claims_about(context.claims, page.paper, page.title)
    translate = translator(names_of(context.tables, context.cells))
    if len(claims):
        yield "## Claims of the paper\n"
    for claim in claims.to_dict("records"):
        quote = f" “{claim['quote']}”" if claim["quote"] else ""
        found = f": {translate(claim['where'])}" if claim["where"] else ""
        told = f"{claim['claim']}{quote} ({claim['section']}) **{claim['verdict']}**{found}"
        yield f"- {without_html(told)}"


def _discrepancies(page: Page, context: PageContext) -> Iterator[str]:
    entries = entries_about(context.discrepancies, page.paper, page.title)
    translate = translator(names_of(context.tables, context.cells))
    if entries:
        yield "\n## Discrepancies\n"
    for entry in entries:
        yield without_html(f"- {entry['what']} *{translate(entry['effect'])}*")
    yield ""
