"""Short Markdown versions of the pages of a kept run, which code hosts display, with links."""

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
from fedmix.views.tables.format import to_markdown, without_html


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
    lines += [f"**{score}**\n" for score in _scores_of(table["name"], context)]
    lines += [_whole(f"../{FOLDER}/{page.name}.html", "The whole page"), "", text]
    if table is page.tables[0] and page.is_published:
        lines += [*_figures(page), *_claims(page, context), *_discrepancies(page, context)]
    return "\n".join(lines)


def front_page(
    pages: Iterable[Page], context: PageContext, costs: Iterable[str], command: str
) -> str:
    """Return the front page: scorecard, a line per table or figure, how it was run, its costs.

    Parameters
    ----------
    pages : iterable of Page
    context : PageContext
    costs : iterable of str
        Lines of a Markdown table.
    command : str
        The command that regenerates the folder.
    """
    score = scorecard(context.cells, context.claims)
    lines = ["# The results of a reproduction, to read without running anything", ""]
    lines += [_whole("index.html", "The full page") + ": ours beside the published values."]
    lines += ["This command writes the folder:", "", "```sh", command, "```", ""]
    lines += ["## Scorecard", "", to_markdown(score.T)]
    lines += ["A published cell is counted in one variant: the authors', or else the text's. Each"]
    lines += ["table names its variant; `cells.csv` has all variants. [All claims](claims.md)", ""]
    lines += ["## Tables and figures", ""]
    for page in pages:
        for table in page.tables:
            score = "".join(f": {words}" for words in _scores_of(table["name"], context))
            title = without_html(table["title"])
            lines.append(f"- [{title}](tables/{table['name']}.md){score}")
        if not page.tables:
            lines.append(f"- {_whole(f'{FOLDER}/{page.name}.html', page.title)}")
    lines += ["", "## How it was run", "", "| | |", "|---|---|"]
    lines += [f"| {k} | {without_html(v)} |" for k, v in context.provenance.items()]
    lines += ["", "## Costs", "", *costs]
    return "\n".join([*lines, ""])


def _whole(address: str, text: str) -> str:
    """Return a link in HTML, because Sphinx copies these pages without knowing their targets."""
    return f'<a href="{address}">{without_html(text)}</a>'


def _scores_of(item: str, context: PageContext) -> list[str]:
    """Return the score of a published table; nothing for a table without published values."""
    scores = context.scores[context.scores["item"] == item]
    return [score_in_words(row) for row in scores.to_dict("records")]


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
