"""What a run checks at its start and says at its end."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any

from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.printed import rows_of
from fedmix.cells.verdicts import COUNTED
from fedmix.errors import DataError
from fedmix.pipeline.request import Request
from fedmix.pipeline.status import error_in
from fedmix.views.marks import number_of, tally

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}(\.\w+)?")


def failed_throughout(request: Request, shown: str | os.PathLike) -> list[str]:
    """Return the methods that raised an error in every replication of a study's variant.

    Each has a sentence with its first error. A method that diverges or takes too long has a result.
    A method that only raises errors has not run: one of its parameters is wrong, or its code.
    Settings that are not collected below ``shown``, ``results/<preset>``, are ignored.
    """
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    first: dict[tuple[str, str, str], tuple[str, str]] = {}  # the setting and the error
    for study, part in request.parts:
        for setting in _outcomes(shown, study, part):
            for method, outcome in setting["methods"].items():
                key = (study, setting["variant"], method)
                counts.setdefault(key, Counter()).update(outcome["replications"])
                first.setdefault(key, (setting.get("setting", ""), outcome["error"]))
    failed = {key: first[key] for key, count in counts.items() if set(count) == {"error"}}
    return [
        f"{study}, variant {variant}: every replication of {method} failed, the first with "
        f"{error.rstrip('.')}. To see the whole error: python -m fedmix rerun "
        f"{shlex.join([study, setting, method, '0'])} {request.asked}"
        for (study, variant, method), (setting, error) in failed.items()
    ]


def failure_lines(request: Request, shown: str | os.PathLike) -> Iterator[str]:
    """Yield how many replications of each study failed, of those collected below `shown`."""
    counts: dict[str, Counter[str]] = {}
    for study, part in request.parts:
        for setting in _outcomes(shown, study, part):
            for outcome in setting["methods"].values():
                counts.setdefault(study, Counter()).update(outcome["replications"])
    for study, count in counts.items():
        failed = {status: n for status, n in count.items() if status != "ok" and n}
        if failed:
            how = ", ".join(f"{n} {status}" for status, n in failed.items())
            yield (
                f"{study}: {sum(failed.values())} of {count.total()} replications failed ({how}). "
                "Tables and pages say of which methods, and why."
            )


def lacking(request: Request, shown: str | os.PathLike) -> list[str]:
    """Return the methods of the request that collected results lack, one sentence each.

    Parts that are not collected below ``shown``, ``results/<preset>``, are ignored.
    """
    found = []
    for (study, name), part in request.parts.items():
        ended = _outcomes(shown, study, name)
        collected = {own.get("setting", ""): own["methods"] for own in ended}
        for setting in part.settings if collected else ():
            own = collected.get(setting.folder, {})
            for method, n in part.study.replications_in(setting).items():
                held = sum(own.get(method, {}).get("replications", {}).values())
                if held < n:
                    place = f"{study}, {setting.folder}"
                    found.append(f"{place}: {method} has {held} of {number_of(n, 'replication')}.")
    return found


def failed_jobs(workdir: str | os.PathLike, since: float) -> list[str]:
    """Return why each job failed since a time, in seconds since 1970, one sentence each.

    It has the log and the error of a job that raised one. A block that was not written and has no
    error in its log was killed. Snakemake works in ``workdir``, with results and logs.
    """
    root = Path(workdir)
    ended = [log for log in sorted(root.glob("logs/**/*.log")) if log.stat().st_mtime >= since]
    found = [f"{log}: {error}" for log in ended if (error := error_in(log))]
    runs = [log for log in ended if log.is_relative_to(root / "logs/run_methods")]
    killed = [log for log in runs if not error_in(log) and not _block_of(log).exists()]
    if killed:
        found.append(
            f"{killed[0]}: the job was killed, as far as its log tells "
            f"({number_of(len(killed), 'job')} in all). If nobody stopped it, memory ran out: run "
            "fewer jobs at a time (--cores), or ask a cluster for more (--set-resources "
            "run_methods:mem_mb=8000). Its finished replications are kept."
        )
    return found


def _block_of(log: Path) -> Path:
    """Return the block that the job of a log writes."""
    *root, _, _, study, setting, name = log.parts
    return Path(*root, "results", study, setting, name).with_suffix(".parquet")


# Files in a preset's folder that people open, with a description.
_FILES = {
    "index.html": "the scorecard, to open",
    "pages": "a page for every published table",
    "cells.parquet": "every number, for programs",
    "archive.zip": "the archive of all results",
}


def summary_lines(shown: str | os.PathLike, since: float) -> Iterator[str]:
    """Yield a summary of what a run has made in ``shown``, ``results/<preset>``.

    Files from before ``since``, the start of the run in seconds since 1970, are not from this run.
    """
    folder = Path(shown)
    made = [path for path in folder.glob("**/*") if path.stat().st_mtime >= since]
    for kind, suffix in (("tables", ".md"), ("figures", ".svg")):
        names = [p.stem for p in made if p.parent == folder / kind and p.suffix == suffix]
        if names:
            yield f"{kind} in {folder / kind}: {', '.join(sorted(names))}"
    if folder / "audit" / "scores.csv" in made:
        yield from _verdict_lines(folder / "audit")
    yield from (
        f"{what}: {folder / name}" for name, what in _FILES.items() if folder / name in made
    )


def _verdict_lines(audit: Path) -> Iterator[str]:
    """Yield the counts of each paper's verdicts, as the page and the README have them."""
    scores, claims = (rows_of(audit / f"{name}.csv") for name in ("scores", "claims"))
    for paper in dict.fromkeys(row["paper"] for row in [*scores, *claims]):
        tables = [row for row in scores if row["paper"] == paper]
        values = {name: sum(int(row[name]) for row in tables) for name in COUNTED}
        found = Counter(row["verdict"] for row in claims if row["paper"] == paper)
        told = {"published values": values, "claims": {v: found[v] for v in CLAIM_VERDICTS}}
        yield from (f"{paper}, {what}: {tally(n)}" for what, n in told.items() if any(n.values()))


def _outcomes(shown: str | os.PathLike, study: str, part: str) -> list[dict[str, Any]]:
    """Return how the replications of collected settings ended; nothing if none is collected."""
    path = Path(shown, "collected", study, part, "outcomes.json")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def require_past(files: Iterable[Path]) -> None:
    """Check before a run that no file was changed later than now.

    Snakemake deletes an output that is older than an input, and reports that its job failed.

    Raises
    ------
    DataError
        With the first of the files, and what to do.
    """
    soon = time() + 60  # a file server's clock may be a little ahead
    future = [path for path in sorted(files) if path.stat().st_mtime > soon]
    if future:
        raise DataError(
            f"{future[0].absolute()} was changed later than now by this machine's clock "
            f"({number_of(len(future), 'file')} in all). Snakemake would delete what is made from "
            "them. Set the clock right, or: find data results -exec touch {} +"
        )


def remove_temporary(workdir: str | os.PathLike) -> None:
    """Remove the files that killed jobs were writing (see :func:`fedmix.storage.atomic_path`).

    A job that is still running, of an earlier run on a cluster, writes none for as long as an hour.
    """
    for folder in ("results", "data"):
        for path in Path(workdir, folder).rglob(".*"):
            with suppress(OSError):  # gone by now, or in a folder of others: it does no harm
                if _TEMPORARY.fullmatch(path.name) and path.stat().st_mtime < time() - 3600:
                    path.unlink()
