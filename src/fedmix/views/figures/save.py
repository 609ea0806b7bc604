"""Figures as files: vectors for print, pixels for the screen, equal bytes for equal figures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.storage import atomic_path, write_text
from fedmix.views.figures.style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "svg", "png")
# What would otherwise carry the time or Matplotlib's version into the bytes.
_METADATA: Mapping[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": "fedmix", "Producer": "fedmix"},
    "svg": {"Date": None, "Creator": "fedmix"},
    "png": {"Software": None},
}
# What each format calls a description of the picture.
_DESCRIPTION = {"pdf": "Subject", "svg": "Description", "png": "Description"}
# Of an SVG: where something is, in points; and groups whose marks all look alike. Opacity is a
# group's own, in which marks that overlap would show no longer.
_PLACE = re.compile(r' (?:x|y|d)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+")
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
        Drawn inside :func:`fedmix.views.figures.style.house_style`.
    stem : path-like
        Path without suffix, e.g. ``"results/quick/figures/fedgrem_figure3"``.
    formats : iterable of {"pdf", "svg", "png"}
        All three by default.
    about : str, optional
        What the picture shows; it stands in each file, unseen.

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
        figure.set_layout_engine("none")  # laid out once, not once a format
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
    """Cut places to a hundredth of a point, and say once how the marks of a group look."""
    text = svg.read_text(encoding="utf-8")
    text = _PLACE.sub(lambda place: _DECIMALS.sub(r"\1", place[0]), text)
    svg.write_text(_MARKS.sub(_with_one_look, text), encoding="utf-8")


def _with_one_look(group: re.Match[str]) -> str:
    marks = group["marks"].replace(group["look"], "")
    return f"<g{group['clip']}{group['look']}>{marks}"


def save_with_caption(figure: Figure, outputs: Iterable[str | os.PathLike], caption: str) -> None:
    """Write a figure's pictures, each with its caption unseen inside, and the caption beside them.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    outputs : iterable of path-like
        One stem with suffixes of :data:`FORMATS`; ``md``, the caption's, is written in any case.
    caption : str
    """
    files = [os.fspath(output) for output in outputs]
    stem = files[0].rpartition(".")[0]
    suffixes = [file.rpartition(".")[2] for file in files]
    save_figure(figure, stem, [s for s in suffixes if s != "md"], about=caption)
    write_text(f"{stem}.md", caption + "\n")
