"""Which rows of the frame of cells a table or a figure shows, and what their values are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedmix.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def cells_of(item: Mapping[str, Any], cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an item.

    Parameters
    ----------
    item : mapping
        With its ``name`` and ``title``.
    cells : DataFrame
        The frame of cells.

    Raises
    ------
    DataError
        If there is none.
    """
    own = cells[cells["item"] == item["name"]] if len(cells) else cells
    if own.empty:
        raise DataError(f"{item['title']}: no results yet; run the study first.")
    return own


def names_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Return what values are called among people: data sets by title, the rest by the item."""
    return {**item["datasets"], **item["options"].get("names", {})}
