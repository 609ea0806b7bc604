"""Draw the figures that people ask for by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from fedmix.views.figures.save import save_figure
from fedmix.views.figures.style import house_style
from fedmix.views.tables.build import find_builder, read_item


def build_figure(
    item: Mapping[str, Any],
    results: Iterable[str],
    timings: Iterable[str],
    outputs: Iterable[str | os.PathLike],
) -> None:
    """Draw a figure and write it in the formats that the outputs' suffixes name.

    Parameters
    ----------
    item : mapping
        Title, caption, builder, options and the methods' labels.
    results, timings : iterable of path-like
        Collected settings.
    outputs : iterable of path-like
        One stem, with the suffixes ``pdf``, ``svg`` and ``png``.
    """
    import matplotlib

    matplotlib.use("agg")
    builder = find_builder("fedmix.views.figures", item["builder"])
    with house_style():
        figure = builder(**read_item(item, results, timings))
    stems, _, suffixes = zip(*(os.fspath(o).rpartition(".") for o in outputs), strict=True)
    save_figure(figure, stems[0], suffixes)
