"""Build the page: one HTML file that needs nothing beside it and no network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.claims import CLAIM_RULES, CLAIM_VERDICTS
from fedmix.cells.scorecard import AGREES_ANYWAY, COUNTED
from fedmix.cells.verdicts import RULES, VERDICTS
from fedmix.storage import write_text
from fedmix.views.page.images import inline_image
from fedmix.views.page.views import (
    claim_views,
    claims_about,
    items_named,
    score_views,
    slug,
    table_views,
    variant_counts,
)
from fedmix.views.tables.format import SYMBOLS

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"
CLAIM_SYMBOLS = dict(zip(CLAIM_VERDICTS, "●◕◔◇◑?○–", strict=True))


_ANYWAY = "ours agrees, and so does every variant that was run: it tells nothing of any of them"


@dataclass(frozen=True)
class Figure:
    """A figure for the page.

    Parameters
    ----------
    paper : str
        Key of the paper, or of a comparison of our own.
    title : str
        Claims whose section names the figure that the title names (``"FedGrEM, Figure 3"``) are
        listed beside it.
    path : path-like
        An SVG or PNG file; of an SVG beyond the size limit the PNG beside it is taken.
    caption : str, optional
        By default it is read from the file of the figure's name that ends in ``.md``.
    """

    paper: str
    title: str
    path: str | os.PathLike
    caption: str = ""

    def read_caption(self) -> str:
        """Return the caption: what is shown, of what data, and what bands are."""
        return self.caption or Path(self.path).with_suffix(".md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class PageContext:
    """Everything the page shows.

    Parameters
    ----------
    cells : DataFrame
        The frame of cells of all settings.
    scores : DataFrame
        Of :func:`fedmix.cells.scorecard.score_tables`.
    ranks : DataFrame
        Of :func:`fedmix.cells.ranks.rank_agreement`.
    claims : DataFrame
        Of :func:`fedmix.cells.claims.evaluate_claims`.
    discrepancies : DataFrame
        Of :func:`fedmix.cells.discrepancies.measure_discrepancies`.
    papers : mapping of str to str
        Title of every paper, and of every comparison of our own, in the order to be shown.
    tables : sequence of mapping
        Items as :func:`fedmix.views.tables.build.build_table` takes them, each with its ``paper``,
        in the order to be shown.
    figures : sequence of Figure
        In the order to be shown.
    provenance : mapping of str to str
        How it was run, in words: versions, commit, replications, core-hours, machine.
    preset : str
        Any other than ``"paper"`` is announced on top, with what sets its sizes apart.
    failures : DataFrame, optional
        Rows ``study, variant, method, status, n`` of replications that did not finish.
    explanations : mapping of str to str
        Anchor of a cell (:func:`fedmix.views.page.views.anchor`) -> where its number comes from;
        the cells that have one link to it.
    title : str
        The page's title.
    """

    cells: pd.DataFrame
    scores: pd.DataFrame
    ranks: pd.DataFrame
    claims: pd.DataFrame
    discrepancies: pd.DataFrame
    papers: Mapping[str, str]
    tables: Sequence[Mapping[str, Any]] = ()
    figures: Sequence[Figure] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    preset: str = "paper"
    failures: pd.DataFrame | None = None
    explanations: Mapping[str, str] = field(default_factory=dict)
    title: str = "Federated mixture learning, reproduced and audited"


def build_page(context: PageContext, out: str | os.PathLike) -> Path:
    """Write the page as one HTML file.

    Parameters
    ----------
    context : PageContext
        What to show; empty frames leave their sections empty, and say so.
    out : path-like
        Usually ``results/<preset>/index.html``.

    Returns
    -------
    pathlib.Path
        ``out``.

    Examples
    --------
    >>> cells = audit_cells(results, timings, load())                # doctest: +SKIP
    >>> context = PageContext(cells, ranks, claims, discrepancies, papers)  # doctest: +SKIP
    >>> build_page(context, "results/quick/index.html")              # doctest: +SKIP
    """
    papers = [
        {
            "key": key,
            "name": name,
            "tables": _tables(context, key),
            "figures": _figures(context, key),
        }
        for key, name in context.papers.items()
    ]
    for paper in papers:
        _place_figures(paper)
    html = (
        _environment()
        .get_template("page.html")
        .render(
            context=context,
            scores=score_views(context.cells, context.claims, context.papers),
            variants=variant_counts(context.cells),
            papers=[p for p in papers if p["tables"] or p["figures"]],
            claims=claim_views(context.claims),
            discrepancies=context.discrepancies.to_dict("records"),
            failures=[] if context.failures is None else context.failures.to_dict("records"),
            paper_names=context.papers,
            verdicts=VERDICTS,
            counted=COUNTED,
            claim_rules=CLAIM_RULES,
            symbols={**SYMBOLS, AGREES_ANYWAY: "◎", **CLAIM_SYMBOLS},
            explained={**RULES, AGREES_ANYWAY: _ANYWAY},
        )
    )
    write_text(out, html)
    return Path(out)


def _tables(context: PageContext, paper: str) -> list[dict[str, Any]]:
    own = [table for table in context.tables if table["paper"] == paper]
    judged = (context.scores, context.ranks, context.claims, context.discrepancies)
    return table_views(own, context.cells, *judged, context.explanations)


def _place_figures(paper: dict[str, Any]) -> None:
    """Move the figures that show a table's numbers to the first table of that number."""
    tables: dict[frozenset[str], dict[str, Any]] = {}
    for table in paper["tables"]:
        table["figures"] = []
        tables.setdefault(frozenset(items_named(table["title"])), table)
    left: list[dict[str, Any]] = []
    for figure in paper["figures"]:
        named = frozenset(items_named(figure["title"]))
        if named and named in tables:
            tables[named]["figures"].append({**figure, "claims": []})  # the table lists them
        else:
            left.append(figure)
    paper["figures"] = left


def _figures(context: PageContext, paper: str) -> list[dict[str, object]]:
    return [
        {
            "title": figure.title,
            "caption": figure.read_caption(),
            "source": inline_image(figure.path),
            "claims": claims_about(context.claims, paper, figure.title),
        }
        for figure in context.figures
        if figure.paper == paper
    ]


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = slug
    return environment
