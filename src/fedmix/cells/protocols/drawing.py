"""Protocols drawn by the weights of their choices, whatever their results."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from fedmix.cells.protocols.space import Space
from fedmix.streams import Streams

if TYPE_CHECKING:
    import pandas as pd


def draw_protocols(space: Space) -> pd.DataFrame:
    """Return protocols from a Latin hypercube over the choices.

    Each choice takes its values in proportion to their weights, and numbers evenly from a range.
    The protocols are sorted by the choices that fill the setting, so that the protocols of a job
    share data, which take longest to make.

    Returns
    -------
    DataFrame
        ``protocol``, its name, and one column per choice with what the protocol says.
    """
    import pandas as pd
    from scipy.stats import qmc

    rng = Streams(space.study, "protocols", 0).generator("design")
    n = space.draw.protocols
    points = qmc.LatinHypercube(len(space.choices), rng=rng).random(n)
    chosen = {
        name: [choice.draw(share) for share in shares]
        for (name, choice), shares in zip(space.choices.items(), points.T, strict=True)
    }
    by = [name for name, choice in space.choices.items() if choice.setting]
    design = pd.DataFrame(chosen).sort_values(by, kind="stable", ignore_index=True)
    design.insert(0, "protocol", [f"p{i:0{len(str(n - 1))}d}" for i in range(n)])
    return design


def without_idle(space: Space, protocols: pd.DataFrame, tables: Collection[str]) -> pd.DataFrame:
    """Return protocols with empty choices where none of the tables depends on the choice."""
    idle = [choice.name for choice in space.choices.values() if not choice.concerns(*tables)]
    return protocols.assign(**dict.fromkeys(idle, ""))


def read_protocols(path: str | os.PathLike) -> pd.DataFrame:
    """Read protocols from CSV, with all columns as text."""
    import pandas as pd

    return pd.read_csv(path, dtype=str, keep_default_na=False)
