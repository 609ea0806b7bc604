"""Draw figures, and write them to files: equal bytes for equal figures."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure
from scour import scour

from fedmix.plot.style import COLORS, house_style
from fedmix.storage import atomic_path, write_text
from fedmix.views import captions
from fedmix.views.figures import lines, maps

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

# Without these, the bytes would contain the time or Matplotlib's version.
_METADATA: Mapping[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": "fedmix", "Producer": "fedmix"},
    "svg": {"Date": None, "Creator": "fedmix"},
    "png": {"Software": None},
}
# Each format's key for a description of the picture.
_DESCRIPTION = {"pdf": "Subject", "svg": "Description", "png": "Description"}
# Scour writes an SVG's common styles once and its paths shortly, but leaves places as they are.
_SCOUR: dict[str, Any] = {"digits": 6, "shorten_ids": True, "strip_ids": True}
_SCOUR |= {"group_create": True, "strip_xml_prolog": True, "indent_type": "none", "quiet": True}
_PLACE = re.compile(r' (?:x|y|d)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+")  # a hundredth of a point is kept
_FONT = re.compile(r"font-family: (?P<family>[^;\"]*); ")
_NO_ROTATION = re.compile(r' transform="rotate\(-0 [^"]*\)"')


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


def save_figure(
    figure: Figure, outputs: Iterable[str | os.PathLike], caption: str | None = None
) -> None:
    """Write a figure, drawn within ``house_style``, to files, each whole or absent.

    They end in ``.svg``, ``.pdf`` or ``.png``, and in ``.md`` for the caption, which is also
    written to each file's metadata.
    """
    with house_style(), rc_context({"figure.constrained_layout.use": False}):
        if layout := figure.get_layout_engine():
            layout.execute(figure)
        figure.set_layout_engine(None)  # laid out and cropped once, not once per format
        crop = figure.get_tightbbox().padded(rcParams["savefig.pad_inches"])
        for output in outputs:
            suffix = os.fspath(output).rpartition(".")[2]
            if suffix == "md":
                write_text(output, f"{caption}\n")
                continue
            metadata = {**_METADATA[suffix], _DESCRIPTION[suffix]: caption}
            with atomic_path(output) as temporary:
                figure.savefig(temporary, format=suffix, metadata=metadata, bbox_inches=crop)


def copy_light(source: str | os.PathLike, target: str | os.PathLike) -> None:
    """Copy a file into the repository, an SVG in half of its bytes.

    The SVG's places are rounded, and each style is written once. This takes a third as long as the
    drawing, so other SVG files stay as Matplotlib writes them.
    """
    if Path(source).suffix != ".svg":
        shutil.copyfile(source, target)
        return
    text = Path(source).read_text(encoding="utf-8")
    if fonts := _FONT.search(text):
        text = text.replace("<svg ", f'<svg font-family="{fonts["family"]}" ', 1)
        text = text.replace(f"font-family: {fonts['family']}; ", "")
    text = _NO_ROTATION.sub("", text)
    text = _PLACE.sub(lambda place: _DECIMALS.sub(r"\1", place[0]), text)
    write_text(target, scour.scourString(text, scour.sanitizeOptions(SimpleNamespace(**_SCOUR))))
