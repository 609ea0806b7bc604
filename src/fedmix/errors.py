"""Errors and warnings written for people: what is wrong, where, what was expected, what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class FedmixError(Exception):
    """Base of every error that fedmix raises on purpose."""


class ConfigurationError(FedmixError, ValueError):
    """The configuration asks for something that does not exist or cannot be."""


class DataError(FedmixError, ValueError):
    """A data set, a file or a client is not what was promised."""


class InputTypeError(FedmixError, TypeError):
    """What was given as clients' data is of no kind that an estimator takes."""


class DownloadError(FedmixError, OSError):
    """No source of a raw data set could deliver it."""


class DivergenceError(FedmixError, ArithmeticError):
    """An iteration left the finite numbers; it becomes a result row, never a NaN in a mean."""


class MissingExtraError(FedmixError, ImportError):
    """An optional dependency is needed and not installed."""


class SelectionWarning(UserWarning):
    """A result hangs on a parameter to be chosen for the data; see :mod:`fedmix.selection`."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'FedGrEM'?``, or an empty string where no name is near."""
    lowered = {str(k).lower(): str(k) for k in sorted(map(str, known))}
    close = get_close_matches(str(name).lower(), list(lowered), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(lowered[c]) for c in close)}?" if close else ""


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return a hint that lists the valid names nearest to a wrong one.

    Parameters
    ----------
    name : str
        The name that was given.
    known : iterable of str
        All valid names.

    Returns
    -------
    str
        A sentence such as ``Did you mean 'FedGrEM'? Valid: FedEM, FedGrEM.``
    """
    known = sorted(map(str, known))
    valid = f"Valid: {', '.join(known) or '(none)'}."
    return f"{did_you_mean(name, known)} {valid}".strip()
