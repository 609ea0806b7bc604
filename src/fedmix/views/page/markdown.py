"""The pages of a kept run in Markdown, which every forge shows; in short, with links to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fedmix.cells.scorecard import scorecard
from fedmix.views.page.build import FOLDER
from fedmix.views.page.contents import Page
from fedmix.views.page.context import PageContext
from fedmix.views.page.views import claims_about, entries_about, score_in_words
from fedmix.views.page.words import names_of, translator
from fedmix.views.tables.format import to_markdown


def table_page(page: Page, table: Mapping[str, Any], context: PageContext, text: str) -> str:
    """Return a table's page: what it comes to, the table, its figures, claims and discrepancies.

    Parameters
    ----------
    page : Page
        Where the table stands.
    table : mapping
        One of the page's; what belongs to the page stands with the first.
    context : PageContext
        Its figures lie in ``figures``, beside the folder of the table's page.
    text : str
        The table itself.
    """
    lines = [f"# {table['title']}", ""]
    lines += [f"**{said}**\n" for said in _said_of(table["name"], context)]
    lines += [_whole(f"../{FOLDER}/{page.name}.html", "The whole page"), "", text]
    if table is page.tables[0] and page.is_of_print:
        lines += [*_figures(page), *_claims(page, context), *_discrepancies(page, context)]
    return "\n".join(lines)


def front_page(
    pages: Iterable[Page], context: PageContext, costs: Iterable[str], command: str
) -> str:
    """Return the front page: scorecard, a line a table or figure, how it was run and what it took.

    Parameters
    ----------
    pages : iterable of Page
    context : PageContext
    costs : iterable of str
        Lines of a Markdown table.
    command : str
        What regenerates all of it.
    """
    score = scorecard(context.cells, context.claims)
    lines = ["# A reproduction that can be read without running anything", ""]
    lines += [_whole("index.html", "The whole page") + ": ours beside the papers' printed numbers."]
    lines += ["This folder is written by", "", "```sh", command, "```", ""]
    lines += ["## Scorecard", "", to_markdown(score.T)]
    lines += ["A printed cell counts by one variant, the authors' or else the text's, which is"]
    lines += ["named table by table; `cells.csv` has every variant. [All claims](claims.md)", ""]
    lines += ["## Tables and figures", ""]
    for page in pages:
        for table in page.tables:
            said = "".join(f": {words}" for words in _said_of(table["name"], context))
            lines.append(f"- [{table['title']}](tables/{table['name']}.md){said}")
        if not page.tables:
            lines.append(f"- {_whole(f'{FOLDER}/{page.name}.html', page.title)}")
    lines += ["", "## How it was run", "", "| | |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in context.provenance.items()]
    lines += ["", "## What it took", "", *costs]
    return "\n".join([*lines, ""])


def _whole(address: str, text: str) -> str:
    """Return a link as HTML: Sphinx copies these pages, and knows nothing of them."""
    return f'<a href="{address}">{text}</a>'


def _said_of(item: str, context: PageContext) -> list[str]:
    """Return what a printed table comes to; nothing for a table without printed numbers."""
    scores = context.scores[context.scores["item"] == item]
    return [score_in_words(row) for row in scores.to_dict("records")]


def _figures(page: Page) -> Iterator[str]:
    for figure in page.figures:
        yield f"![{figure.title}](../figures/{Path(figure.path).name})\n"
        yield f"{figure.read_caption().strip()}\n"


def _claims(page: Page, context: PageContext) -> Iterator[str]:
    claims, told = (
        claims_about(context.claims, page.paper, page.title),
        translator(names_of(context.tables, context.cells)),
    )
    if len(claims):
        yield "## What the paper says of it\n"
    for claim in claims.to_dict("records"):
        quote = f" “{claim['quote']}”" if claim["quote"] else ""
        found = f": {told(claim['where'])}" if claim["where"] else ""
        yield f"- {claim['claim']}{quote} ({claim['section']}) **{claim['verdict']}**{found}"


def _discrepancies(page: Page, context: PageContext) -> Iterator[str]:
    entries, told = (
        entries_about(context.discrepancies, page.paper, page.title),
        translator(names_of(context.tables, context.cells)),
    )
    if entries:
        yield "\n## Discrepancies\n"
    for entry in entries:
        yield f"- {entry['what']} *{told(entry['effect'])}*"
    yield ""
