"""Errors and warnings. A message says what is wrong, where, what was expected and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class FedmixError(Exception):
    """Base of every error that fedmix raises on purpose."""


class ConfigurationError(FedmixError, ValueError):
    """The configuration asks for something that does not exist or is impossible.

    Parameters
    ----------
    message : str
        All that is wrong.
    problems : sequence of str, optional
        The same, one by one.
    """

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or (message,)


class DataError(FedmixError, ValueError):
    """A data set, a file or a client's data are not as expected."""


class InputTypeError(FedmixError, TypeError):
    """The clients' data have a type that no estimator takes."""


class DownloadError(FedmixError, OSError):
    """A raw data set could not be downloaded from any of its sources."""


class DivergenceError(FedmixError, ArithmeticError):
    """An iterate is no longer finite. A run records it as a row, and no mean includes a NaN."""


class MissingExtraError(FedmixError, ImportError):
    """An optional dependency is needed but not installed."""


class SelectionWarning(UserWarning):
    """A result depends on a parameter to choose for the data; see :mod:`fedmix.selection`."""


def not_utf8(path: object, error: UnicodeDecodeError) -> str:
    """Return what is wrong with a text file in another encoding, where, and what to do."""
    line = error.object.count(b"\n", 0, error.start) + 1
    byte = error.object[error.start]
    return f"{path}:{line}: the byte {byte:#04x} is not UTF-8. Save the file in UTF-8."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'FedGrEM'?``, or an empty string if no name is similar.

    Without a similar name, those that begin with the given one are meant.
    """
    lowered = {str(k).lower(): str(k) for k in sorted(map(str, known))}
    given = str(name).lower()
    close = get_close_matches(given, list(lowered), n=3, cutoff=0.5)
    close = close or [k for k in lowered if given and k.startswith(given)][:3]
    return f"Did you mean {' or '.join(repr(lowered[c]) for c in close)}?" if close else ""


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar valid names and the list of all valid names.

    An example is ``Did you mean 'FedGrEM'? Valid: FedEM, FedGrEM.``
    """
    known = sorted(map(str, known))
    valid = f"Valid: {', '.join(known) or '(none)'}."
    return f"{did_you_mean(name, known)} {valid}".strip()
