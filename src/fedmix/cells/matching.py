"""Find cells by their setting's values, and printed cells that no study of ours runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isclose
from typing import TYPE_CHECKING, Any

from fedmix.cells.printed import setting_of

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.pipeline.plan import Study


def same_value(ours: Any, theirs: Any) -> bool:
    """Return whether two setting values are equal; numbers are compared as numbers."""
    numbers = (int, float)
    if isinstance(ours, numbers) and isinstance(theirs, numbers):
        return isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    return bool(ours == theirs)


def has_values(values: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether ``values`` has every wanted value; a list of values means any of them."""
    return all(
        key in values and any(same_value(_plain(values[key]), v) for v in _as_list(wanted_value))
        for key, wanted_value in wanted.items()
    )


def unmatched(
    cells: pd.DataFrame, studies: Mapping[str, Study], mapping: Mapping[str, Any]
) -> list[str]:
    """List the printed cells that no configured study runs and that no reason excuses.

    Parameters
    ----------
    cells : DataFrame
        Of :func:`fedmix.cells.load`.
    studies : mapping of str to Study
        The planned studies; cells of studies that are not among them are not judged.
    mapping : mapping
        ``config/published.yaml``; its ``not_run`` entries (each with ``where`` and ``reason``)
        excuse cells.

    Returns
    -------
    list of str
        One line a cell: paper, table, row, column and what is missing.
    """
    excuses = [entry["where"] for entry in mapping.get("not_run", [])]
    lines = []
    for cell in cells.to_dict("records"):
        study = studies.get(cell["study"])
        wanted = setting_of(cell)
        if study is None or any(has_values({**cell, **wanted}, excuse) for excuse in excuses):
            continue
        settings = [s for s in study.settings.values() if has_values(s.values, wanted)]
        if not any(cell["method"] in study.methods_of(setting) for setting in settings):
            what = f"method {cell['method']!r}" if settings else f"setting {wanted}"
            lines.append(
                f"{cell['paper']} table {cell['table']}, {cell['row']} / {cell['column']}: "
                f"study {cell['study']!r} has no {what}"
            )
    return lines


def _as_list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple, set)) else [value]


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's own, so that its type can be told."""
    return value.item() if hasattr(value, "item") else value
