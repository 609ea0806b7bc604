"""Draw the figures that people ask for by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fedmix.plot.style import COLORS, house_style
from fedmix.views import captions
from fedmix.views.figures import lines, maps
from fedmix.views.figures.save import save_figure

#: Builder of an item -> what draws it. It takes the item's rows of the frame of cells, the looks of
#: methods and the figure's options (:class:`fedmix.cells.items.FigureOptions`); and, if it is one
#: of :data:`fedmix.cells.items.BY_ROUND`, tidy result rows with rounds.
BUILDERS: Mapping[str, Callable[..., Figure]] = {
    "lines": lines.draw_lines,
    "points": lines.draw_points,
    "maps": maps.draw_maps,
    "ranks": maps.draw_ranks,
    "trajectories": lines.draw_trajectories,
    "exchange": lines.draw_exchange,
}


def build_figure(
    item: Mapping[str, Any],
    cells: pd.DataFrame,
    outputs: Iterable[str | os.PathLike],
    results: pd.DataFrame | None = None,
) -> None:
    """Draw a figure and write it in the formats that the outputs' suffixes name.

    ``cells`` are those of the item's settings, and ``results`` have rounds, for a figure of
    :data:`fedmix.cells.items.BY_ROUND`. The outputs are one stem with the suffixes ``svg``, ``pdf``
    and ``png``, and ``md`` for the caption. An item without cells is an error.
    """
    own = captions.cells_of(item, cells)
    more = {} if results is None else {"results": results}
    stand_in = captions.stand_in(own, item["datasets"])
    with house_style():
        options = {**item["options"], "names": captions.names_of(item)}
        figure = BUILDERS[item["builder"]](own, item["looks"], options, **more)
        if own["is_stand_in"].all():
            figure.suptitle(stand_in, color=COLORS["vermillion"], fontsize="small")
    save_figure(figure, outputs, caption(item, own))


def caption(item: Mapping[str, Any], cells: pd.DataFrame) -> str:
    """Return the full caption: stand-ins, content, n, preset, variants and commit."""
    return captions.sentences(
        captions.stand_in(cells, item["datasets"]),
        item["caption"],
        "Hollow marks are the published values." if cells["printed_mean"].notna().any() else "",
        captions.replications(cells, item["preset"], "in most cells"),
        *captions.variants_explained(cells, item["variants"]),
        captions.left_out(item["left_out"]),
        captions.origin(cells),
    )
