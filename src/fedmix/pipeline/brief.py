"""Long parameters of jobs. Snakemake records them, and prints both versions where they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fedmix.pipeline.provenance import key_of


class Brief(list):
    """A list that is recorded and printed by its length and the hash of its values.

    Parameters
    ----------
    what : str
        What its values are, such as ``"settings"``.
    values : iterable
        Plain values.

    Examples
    --------
    >>> Brief("settings", [{"h": 0.0}, {"h": 1.0}])  # doctest: +ELLIPSIS
    2 settings (...)
    """

    def __init__(self, what: str, values: Iterable[Any]):
        super().__init__(values)
        self.what = what

    def __repr__(self) -> str:
        return f"{len(self)} {self.what} ({key_of(repr(list(self)))})"


class BriefMapping(dict):
    """A mapping that is recorded and printed by a name and the hash of its values.

    Parameters
    ----------
    what : str
        What it is, such as ``"layout"``.
    values : mapping
        Plain values.
    """

    def __init__(self, what: str, values: Mapping[str, Any]):
        super().__init__(values)
        self.what = what

    def __repr__(self) -> str:
        return f"{self.what} ({key_of(repr(dict(self)))})"
