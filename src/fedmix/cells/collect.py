"""Gather the blocks of results into one frame."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fedmix.storage import read_table

if TYPE_CHECKING:
    import pandas as pd


def concatenate(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read parquet files and stack them; no file gives an empty frame.

    Raises
    ------
    DataError
        Naming the first file that is damaged.
    """
    import pandas as pd

    frames = [frame for frame in map(read_table, paths) if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
