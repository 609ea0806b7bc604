"""Write figures as vector and pixel files, with equal bytes for equal figures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure
from scour import scour

from fedmix.plot.style import house_style
from fedmix.storage import atomic_path, write_text

FORMATS = ("pdf", "svg", "png")
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


def save_figure(
    figure: Figure,
    stem: str | os.PathLike,
    formats: Iterable[str] = FORMATS,
    about: str | None = None,
) -> list[Path]:
    """Write a figure in every format, each file whole or absent.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn within :func:`fedmix.plot.style.house_style`.
    stem : path-like
        Path without suffix, e.g. ``"results/quick/figures/fedgrem_figure3"``.
    formats : iterable of {"pdf", "svg", "png"}
        All three by default.
    about : str, optional
        What the picture shows, for each file's metadata.

    Returns
    -------
    list of pathlib.Path
        The files, in the order of ``formats``.
    """
    paths = []
    with house_style(), rc_context({"figure.constrained_layout.use": False}):
        figure.draw_without_rendering()
        figure.set_layout_engine(None)  # laid out and cropped once, not once per format
        crop = figure.get_tightbbox().padded(rcParams["savefig.pad_inches"])
        for suffix in formats:
            # Not with_suffix: a stem such as "figure-h0.5" has no suffix to replace.
            path = Path(f"{os.fspath(stem)}.{suffix}")
            metadata = {**_METADATA[suffix], _DESCRIPTION[suffix]: about}
            with atomic_path(path) as temporary:
                figure.savefig(temporary, format=suffix, metadata=metadata, bbox_inches=crop)
                if suffix == "svg":
                    _make_lighter(temporary)
            paths.append(path)
    return paths


def _make_lighter(svg: Path) -> None:
    """Round an SVG's places, and write each style once."""
    text = svg.read_text(encoding="utf-8")
    if fonts := _FONT.search(text):
        text = text.replace("<svg ", f'<svg font-family="{fonts["family"]}" ', 1)
        text = text.replace(f"font-family: {fonts['family']}; ", "")
    text = _NO_ROTATION.sub("", text)
    text = _PLACE.sub(lambda place: _DECIMALS.sub(r"\1", place[0]), text)
    write_text(svg, scour.scourString(text, scour.sanitizeOptions(SimpleNamespace(**_SCOUR))))


def save_with_caption(figure: Figure, outputs: Iterable[str | os.PathLike], caption: str) -> None:
    """Write a figure's files, each with the caption in its metadata, and the caption itself.

    The outputs are one stem with suffixes from :data:`FORMATS`. The caption (``md``) is always
    written.
    """
    files = [os.fspath(output) for output in outputs]
    stem = files[0].rpartition(".")[0]
    suffixes = [file.rpartition(".")[2] for file in files]
    save_figure(figure, stem, [s for s in suffixes if s != "md"], about=caption)
    write_text(f"{stem}.md", caption + "\n")
