"""Progress that a person can read while a run goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path


def begin(path: str | os.PathLike, blocks: Mapping[str, int]) -> None:
    """Start a progress file.

    Parameters
    ----------
    path : path-like
        The file; an old one is replaced.
    blocks : mapping of str to int
        Blocks to run, by method.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_line({"started": time.time(), "blocks": dict(blocks)}), encoding="utf-8")


def report(path: str | os.PathLike, where: str, method: str, statuses: list[str]) -> str:
    """Add a finished block to the progress file and return a line for people.

    Jobs add their lines side by side: each is written at once, in append mode.

    Parameters
    ----------
    path : path-like
        The file that :func:`begin` started; if it is missing, only this block is told.
    where : str
        Study and setting.
    method : str
        The method's name.
    statuses : list of str
        One status a replication, ``"ok"`` or what went wrong.

    Returns
    -------
    str
        Such as ``"[12/60 blocks, 2 min left] FedGrEM: 25 replications done, 0 failed | where"``.
    """
    ok = statuses.count("ok")
    failed = len(statuses) - ok
    if not Path(path).exists():
        return _sentence("", method, ok, failed, where)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(_line({"method": method, "ok": ok, "failed": failed}))
    begun, *done = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
    mine = [b for b in done if b["method"] == method]
    ok, failed = sum(b["ok"] for b in mine), sum(b["failed"] for b in mine)
    total = max(sum(begun["blocks"].values()), len(done))
    left = (time.time() - begun["started"]) / len(done) * (total - len(done))
    return _sentence(
        f"[{len(done)}/{total} blocks, {duration(left)} left] ", method, ok, failed, where
    )


def duration(seconds: float) -> str:
    """Return a rough duration: ``"40 s"``, ``"3 min"``, ``"2.5 h"``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _sentence(prefix: str, method: str, ok: int, failed: int, where: str) -> str:
    return f"{prefix}{method}: {ok} replications done, {failed} failed | {where}"


def _line(entry: Mapping) -> str:
    return json.dumps(entry, sort_keys=True) + "\n"
