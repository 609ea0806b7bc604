"""The 44 writers of the pen digits, from the UNIPEN originals.

Each digit of ``pendigits-orig.tra`` and ``.tes`` has one line ``.COMMENT <digit> <writer>
<ordinal>``: the digit, the writer's number (1 to 30 in the first file, 1 to 14, other people, in
the second) and the position in the writer's session. Row i of an original is row i of the file with
16 features.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedmix.errors import DataError

_COMMENT = re.compile(r"^\.COMMENT\s+(\d)\s+(\d+)\s+(\d+)\s*$")


def parse_comments(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the digit and the writer (from 1) of each digit of a UNIPEN original.

    Parameters
    ----------
    text : str
        The file's text.

    Returns
    -------
    digits, writers : ndarray of shape (n,)
        In the file's order.

    Raises
    ------
    DataError
        If there is no such line.
    """
    found = [match.groups() for line in text.splitlines() if (match := _COMMENT.match(line))]
    if not found:
        raise DataError("There is no line `.COMMENT <digit> <writer> <ordinal>` in this file.")
    digits, writers, _ = np.array(found, dtype=np.int64).T
    return digits, writers


def read_writers(paths: Sequence[Path]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read the originals one after the other; writers are numbered on, from 0.

    Parameters
    ----------
    paths : sequence of path
        ``pendigits-orig.tra`` and ``pendigits-orig.tes``, unpacked.

    Returns
    -------
    digits, writers : ndarray of shape (n,)
        In the files' order; writers of a later file follow those of the earlier ones.
    """
    digits, writers, n_before = [], [], 0
    for path in paths:
        try:
            own_digits, own_writers = parse_comments(path.read_text(encoding="latin-1"))
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        digits.append(own_digits)
        writers.append(own_writers - 1 + n_before)
        n_before += int(own_writers.max())
    return np.concatenate(digits), np.concatenate(writers)


def check_same_digits(labels: NDArray, digits: NDArray, where: Path) -> None:
    """Check that two files list the same digits in the same order.

    Raises
    ------
    DataError
        Naming the first row that differs.
    """
    labels = np.asarray(labels).astype(np.int64)
    if len(labels) != len(digits):
        raise DataError(f"{where} has {len(digits)} digits; expected {len(labels)}.")
    different = np.flatnonzero(labels != digits)
    if different.size:
        row = different[0]
        raise DataError(
            f"{where}: row {row} is the digit {digits[row]}; the features' file has {labels[row]}. "
            "The rows of the two files must agree."
        )
