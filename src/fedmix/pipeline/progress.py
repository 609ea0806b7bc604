"""Progress that a person can read while a run goes on."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

CLEAR_LINE = "\r\033[K"
_BAR = 20  # characters


def report(path: str | os.PathLike, cell: str, statuses: list[str]) -> None:
    """Note a finished block in the file that :class:`Progress` reads.

    Jobs add their lines side by side: each is written at once, in append mode.

    Parameters
    ----------
    path : path-like
        The file.
    cell : str
        Study and setting, with a slash between.
    statuses : list of str
        One status a replication of a method, ``"ok"`` or what went wrong.
    """
    ok = statuses.count("ok")
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(json.dumps([cell, ok, len(statuses) - ok]) + "\n")


class Progress:
    """Tell how far a run is: a bar in a terminal, a line a block elsewhere.

    Parameters
    ----------
    path : path-like
        Where jobs note what they have done; an old file is replaced.
    blocks : iterable of tuple (str, int)
        The cell (study and setting, with a slash between) and the number of fits, a replication of
        a method each, of every block that will run.
    bar : bool, default=True
        Whether a terminal may be given a bar; not where others write to it as well.
    stream : file, optional
        Where to write; default is the standard error.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        blocks: Iterable[tuple[str, int]],
        bar: bool = True,
        stream: TextIO | None = None,
    ):
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text("", encoding="utf-8")
        self._wanted: Counter[str] = Counter()
        self._n_blocks = 0
        for cell, fits in blocks:
            self._wanted[cell] += fits
            self._n_blocks += 1
        self._n_done = 0
        self._started = time.monotonic()
        self._stream = stream or sys.stderr
        self._bar = bar and self._stream.isatty()

    def finished(self, cell: str) -> None:
        """Show that a block of a cell is done."""
        self._n_done += 1
        line = self._line(cell)
        if not self._bar:
            print(line, file=self._stream, flush=True)
            return
        filled = _BAR * self._n_done // max(self._n_blocks, 1)
        line = f"{'#' * filled:.<{_BAR}} {line}"[: shutil.get_terminal_size().columns - 1]
        print(CLEAR_LINE + line, end="", file=self._stream, flush=True)

    def clear(self) -> None:
        """Take the bar away, so that something else can be written in its place."""
        if self._bar:
            print(CLEAR_LINE, end="", file=self._stream, flush=True)

    def _line(self, cell: str) -> str:
        ok, failed = self._tally(cell)
        left = (time.monotonic() - self._started) / self._n_done * (self._n_blocks - self._n_done)
        bad = f", {failed} failed" if failed else ""
        return (
            f"[{self._n_done}/{self._n_blocks} blocks, {duration(left)} left] {cell}: "
            f"{ok + failed} of {self._wanted[cell]} fits done{bad}"
        )

    def _tally(self, cell: str) -> tuple[int, int]:
        """Return how many fits of a cell this run has done, and how many failed."""
        notes = map(json.loads, self._path.read_text(encoding="utf-8").splitlines())
        mine = [(ok, failed) for name, ok, failed in notes if name == cell]
        return sum(ok for ok, _ in mine), sum(failed for _, failed in mine)


def duration(seconds: float) -> str:
    """Return a rough duration: ``"40 s"``, ``"3 min"``, ``"2.5 h"``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
