"""Which file of a figure a page links to."""

from __future__ import annotations

import os
from pathlib import Path

from fedmix.errors import DataError

# Beyond this a vector figure (many thousand points) is heavier than its picture.
SIZE_LIMIT = 1_000_000
_SUFFIXES = (".svg", ".png")


def light_image(path: str | os.PathLike, limit: int = SIZE_LIMIT) -> Path:
    """Return the file to show of a figure.

    Parameters
    ----------
    path : path-like
        An SVG or PNG file.
    limit : int
        Bytes; an SVG beyond it is replaced by the PNG of the same name, if there is one.

    Raises
    ------
    DataError
        If the file is missing or of another kind.
    """
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise DataError(f"{path}: the page takes figures as {' or '.join(_SUFFIXES)} files.")
    if not path.is_file():
        raise DataError(f"{path}: no such figure. Draw the figures before the page.")
    picture = path.with_name(f"{path.name.removesuffix('.svg')}.png")
    if path.suffix == ".svg" and path.stat().st_size > limit and picture.is_file():
        return picture
    return path
