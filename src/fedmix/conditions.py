"""Conditions on values: ``{dataset: [mnist, emnist], n_contaminated: 0}``.

Studies, tables, claims and discrepancies select settings, methods and rows in this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# Wanted values (a list means any of them), or several such mappings, one of which must match.
Where = Mapping[str, Any] | list[Mapping[str, Any]]


def has_values(values: Mapping[str, Any], where: Where) -> bool:
    """Return whether ``values`` has every wanted value. A missing value never matches.

    A list of wanted values means any of them, a list of mappings any of these.

    Examples
    --------
    >>> has_values({"dataset": "mnist", "h": 0.1 + 0.2}, {"dataset": ["mnist", "emnist"], "h": 0.3})
    True
    """
    if isinstance(where, list):
        return any(has_values(values, one) for one in where)
    return all(
        key in values and any(same_value(values[key], one) for one in _as_list(wanted))
        for key, wanted in where.items()
    )


def rows_with(frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a frame that have every wanted value; see :func:`has_values`."""
    for key, wanted in where.items():
        values = [v for v in frame[key].unique() if has_values({key: v}, {key: wanted})]
        frame = frame[frame[key].isin(values)]
    return frame


def same_value(one: Any, other: Any) -> bool:
    """Return whether two values are equal; numbers are compared as numbers."""
    one, other = (v.item() if hasattr(v, "item") else v for v in (one, other))  # NumPy scalars
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def _as_list(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else [value]
