"""Finish figures: one legend below all panels, and files with equal bytes for equal figures."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from scour import scour

from fedmix.plot.style import house_style
from fedmix.storage import atomic_path, write_text

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


def legend_below(figure: Figure) -> None:
    """Draw one legend for all panels below them."""
    found: dict[str, Artist] = {}
    for axis in figure.axes:
        handles, names = axis.get_legend_handles_labels()
        found |= dict(zip(names, handles, strict=True))
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=min(len(found), 4)
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
