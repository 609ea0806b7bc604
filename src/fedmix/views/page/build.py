"""Build the pages: HTML files with relative links, which need no server and no network."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from fedmix.cells.claims import CLAIM_RULES
from fedmix.cells.verdicts import COUNTED, COUNTING_RULES, RULES, VERDICTS, judge_numbers
from fedmix.storage import write_text
from fedmix.views.format import COLORS, SIGNS, as_verb, number_of
from fedmix.views.page.contents import Figure, Page, PageContext, light_image, pages_of
from fedmix.views.page.views import (
    about,
    claim_counts,
    claim_views,
    downloads,
    failure_rows,
    page_lines,
    score_views,
    slug,
    table_views,
    variant_counts,
)
from fedmix.views.tables.build import build_table

#: The folder of all pages except the first, next to it.
FOLDER = "pages"
_TEMPLATES = Path(__file__).parent / "templates"
_ASSETS = ("page.css", "page.js")


def build_pages(context: PageContext, index: str | os.PathLike) -> None:
    """Write the scorecard to ``index`` and, in a folder next to it, all other pages.

    Figures are linked, not copied; a missing file is an error. The section of an empty frame says
    that it is empty.
    """
    index = Path(index)
    folder = index.parent / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    colors = [f".v-{slug(verdict)} {{ --c: {color}; }}\n" for verdict, color in COLORS.items()]
    style, script = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in _ASSETS)
    write_text(folder / "page.css", "".join(colors) + style)  # dark colours are in the style
    write_text(folder / "page.js", script)
    for table in context.tables:
        own = context.cells[context.cells["item"] == table["name"]]
        if files := downloads(table, own):
            build_table(table, own, [folder / name for name in files.values()])
    pages, environment = pages_of(context), _environment(context)
    numbers = judge_numbers(context.cells)

    def write(path: Path, template: str, **more: Any) -> None:
        to = {"root": "../", "pages": ""} if path.parent == folder else {"root": ""}
        html = environment.get_template(template).render(**{"pages": f"{FOLDER}/", **to, **more})
        write_text(path, html)

    for page in pages:
        shown = _shown(page, context, numbers, folder)
        write(folder / f"{page.name}.html", "item.html", page=page, **shown)
    claims = claim_views(context.claims)
    below = [_figure(figure, folder) for figure in context.claim_figures]
    counts = claim_counts(context.claims)
    write(folder / "claims.html", "claims.html", claims=claims, counts=counts, figures=below)
    discrepancies = context.discrepancies.to_dict("records")
    write(folder / "discrepancies.html", "discrepancies.html", discrepancies=discrepancies)
    write(
        index,
        "index.html",
        scores=score_views(context.cells, context.claims, context.papers),
        lines=page_lines(pages, context.scores, context.claims),
        variants=variant_counts(context.cells),
        failures=failure_rows(context.cells),
    )


def _shown(page: Page, context: PageContext, numbers: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Return the content of a page: a table, a figure, or the rest of a paper."""
    claims = about(page, context.claims, "section")
    return {
        "tables": table_views(page.tables, context, numbers),
        "figures": [_figure(figure, folder) for figure in page.figures],
        "searches": [
            {
                "words": search.read_words(),
                "figures": [_figure(figure, folder) for figure in search.figures],
            }
            for search in page.searches
        ],
        "claims": claim_views(claims),
        "counts": claim_counts(claims),
        "discrepancies": about(page, context.discrepancies, "where").to_dict("records"),
    }


def _figure(figure: Figure, folder: Path) -> dict[str, str]:
    address = quote(Path(os.path.relpath(light_image(figure.path), folder)).as_posix())
    return {"title": figure.title, "caption": figure.read_caption(), "source": address}


def _with_code(text: str) -> Markup:
    """Return a text for HTML in which what stands between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _environment(context: PageContext) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = slug
    environment.filters["people"] = context.in_names
    environment.filters["code"] = _with_code
    environment.globals.update(
        context=context,
        verdicts=VERDICTS,
        counted=COUNTED,
        claim_rules=CLAIM_RULES,
        symbols=SIGNS,
        as_verb=as_verb,
        number_of=number_of,
        explained={**RULES, **COUNTING_RULES},
    )
    return environment
