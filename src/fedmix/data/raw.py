"""What a reader returns, and how it says that an option does not fit its file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import NDArray

from fedmix.errors import ConfigurationError, nearest_names


@dataclass(frozen=True)
class Raw:
    """What a reader returns.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Numbers of any type.
    labels : ndarray of shape (n,)
        Classes as the raw file calls them.
    groups : ndarray of shape (n,), optional
        Groups, numbered from 0.
    """

    features: NDArray
    labels: NDArray
    groups: NDArray | None = None


def require_names(
    option: str, wanted: Iterable[str], known: Iterable[str], what: str, path: Path
) -> None:
    """Raise ConfigurationError for the first name of an option that a file lacks.

    Parameters
    ----------
    option : str
        The reader's option.
    wanted, known : iterable of str
        Names that the option gives, and those in the file.
    what : str
        What they name, such as ``"column"``.
    path : pathlib.Path
        The file.
    """
    known = list(known)
    for name in wanted:
        if name not in known:
            raise ConfigurationError(
                f"option {option!r}: {path} has no {what} {name!r}. {nearest_names(name, known)}"
            )
