"""Write figures as vector and pixel files, with equal bytes for equal figures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.plot.style import house_style
from fedmix.storage import atomic_path, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "svg", "png")
# Without these, the bytes would contain the time or Matplotlib's version.
_METADATA: Mapping[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": "fedmix", "Producer": "fedmix"},
    "svg": {"Date": None, "Creator": "fedmix"},
    "png": {"Software": None},
}
# Each format's key for a description of the picture.
_DESCRIPTION = {"pdf": "Subject", "svg": "Description", "png": "Description"}
# In an SVG: positions in points, what changes nothing, and groups whose marks all have one style.
# Styles with opacity are left out: opacity of a whole group would hide which marks overlap.
_PLACE = re.compile(r' (?:x|y|d)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+")  # a hundredth of a point is kept
_INDENT = re.compile(r"\n\s+")
_FONT = re.compile(r"font-family: (?P<family>[^;\"]*); ")
_NO_ROTATION = re.compile(r' transform="rotate\(-0 [^"]*\)"')
_BARE_GROUP = re.compile(r"<g>\n((?:<(?:use|path|text) [^>]*>(?:[^<]*</text>)?\n)*)</g>\n")
_MARKS = re.compile(
    r'<g(?P<clip>(?: clip-path="[^"]*")?)>'
    r'(?P<marks>\s*<use [^>]*(?P<look> style="(?![^"]*opacity)[^"]*")/>'
    r"(?:\s*<use [^>]*(?P=look)/>)+)"
)


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

    Raises
    ------
    ValueError
        If a format is not one of the three.
    """
    formats = list(formats)
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise ValueError(f"Unknown figure formats {unknown}; expected some of {list(FORMATS)}.")
    paths = []
    with house_style():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, not once per format
        for suffix in formats:
            # Not with_suffix: a stem such as "figure-h0.5" has no suffix to replace.
            path = Path(f"{os.fspath(stem)}.{suffix}")
            metadata = {**_METADATA[suffix], _DESCRIPTION[suffix]: about}
            with atomic_path(path) as temporary:
                figure.savefig(temporary, format=suffix, metadata=metadata)
                if suffix == "svg":
                    _make_lighter(temporary)
            paths.append(path)
    return paths


def _make_lighter(svg: Path) -> None:
    """Round positions, write each style once, and leave out what changes nothing."""
    text = svg.read_text(encoding="utf-8")
    if fonts := _FONT.search(text):
        text = text.replace("<svg ", f'<svg font-family="{fonts["family"]}" ', 1)
        text = text.replace(f"font-family: {fonts['family']}; ", "")
    text = _NO_ROTATION.sub("", text)
    text = _PLACE.sub(lambda place: _DECIMALS.sub(r"\1", place[0]), text)
    text = _INDENT.sub("\n", _MARKS.sub(_with_one_look, text))
    text = _BARE_GROUP.sub(r"\1", text)
    svg.write_text(text, encoding="utf-8")


def _with_one_look(group: re.Match[str]) -> str:
    marks = group["marks"].replace(group["look"], "")
    return f"<g{group['clip']}{group['look']}>{marks}"


def save_with_caption(figure: Figure, outputs: Iterable[str | os.PathLike], caption: str) -> None:
    """Write a figure's files, each with the caption in its metadata, and the caption itself.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    outputs : iterable of path-like
        The same stem with suffixes from :data:`FORMATS`. The caption (``md``) is always written.
    caption : str
    """
    files = [os.fspath(output) for output in outputs]
    stem = files[0].rpartition(".")[0]
    suffixes = [file.rpartition(".")[2] for file in files]
    save_figure(figure, stem, [s for s in suffixes if s != "md"], about=caption)
    write_text(f"{stem}.md", caption + "\n")
