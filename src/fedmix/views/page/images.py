"""Images inside the page, so that it needs no file beside it."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

from fedmix.errors import DataError

# Beyond this a vector figure (many thousand points) is heavier than its picture.
SIZE_LIMIT = 1_000_000
_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def inline_image(path: str | os.PathLike, limit: int = SIZE_LIMIT) -> str:
    """Return an image as a ``data:`` address.

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
    if path.suffix not in _TYPES:
        raise DataError(f"{path}: the page takes figures as {' or '.join(_TYPES)} files.")
    if not path.is_file():
        raise DataError(f"{path}: no such figure. Draw the figures before the page.")
    picture = path.with_name(f"{path.name.removesuffix('.svg')}.png")
    if path.suffix == ".svg" and path.stat().st_size > limit and picture.is_file():
        path = picture
    return f"data:{_TYPES[path.suffix]};base64,{b64encode(path.read_bytes()).decode('ascii')}"
