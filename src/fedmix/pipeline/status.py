"""The status of a request: its blocks, what the evidence holds of it; and the summary of a run."""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.verdicts import COUNTED
from fedmix.errors import DataError
from fedmix.pipeline.costs import core_hours
from fedmix.pipeline.evidence import unverified
from fedmix.pipeline.plan import Block, Setting, Study, replications_of
from fedmix.pipeline.request import Request
from fedmix.storage import read_table
from fedmix.views.marks import number_of, tally

if TYPE_CHECKING:
    import pandas as pd

_FAILURE = re.compile(r"^(?:fedmix\.errors\.)?(\w*(?:Error|Exception|Timeout|Interrupt)\b.*)", re.M)


@dataclass(frozen=True)
class CellStatus:
    """The status of one method in one setting.

    Parameters
    ----------
    study, setting, method : str
        ``setting`` is the folder's name, variant included.
    blocks, done, started, failed : int
        The number of blocks to run, and how many of them are finished, have started but not ended
        (they run, or were killed), and failed with an error.
    held : int
        Replications in the evidence, whose blocks need not be run.
    replications_failed : int
        Replications in finished blocks that diverged, timed out or raised an error.
    message : str
        The first line of the first error; empty without one.
    hours_used, hours_left : float
        Core-hours: measured, and forecast for the blocks that are not finished.
    """

    study: str
    setting: str
    method: str
    blocks: int
    done: int
    held: int
    started: int
    failed: int
    replications_failed: int
    message: str
    hours_used: float
    hours_left: float


def read_status(request: Request, workdir: str | Path = ".") -> list[CellStatus]:
    """Read the status of a request from its files.

    Parameters
    ----------
    request : Request
        The request.
    workdir : path-like, default="."
        Where Snakemake works, with results and logs.

    Returns
    -------
    list of CellStatus
        By study, setting and method, in the configuration's order.
    """
    return [
        cell
        for study in request.studies.values()
        for setting in study.settings.values()
        for cell in _setting_status(request, Path(workdir), study, setting)
    ]


def _setting_status(
    request: Request, workdir: Path, study: Study, setting: Setting
) -> Iterator[CellStatus]:
    """Yield the status of each method of a setting."""
    place = f"{study.name}/{setting.folder}"
    folder, logs = workdir / "results" / place, workdir / "logs" / "run_methods" / place
    blocks, held = request.coverage.missing(study, setting), request.coverage.held(study, setting)
    done = {b.name: _timings(folder / b.name) for b in blocks if _is_done(folder, b)}
    begun = [b for b in blocks if b.name not in done and (logs / f"{b.name}.log").exists()]
    errors = {b.name: _error_in(logs / f"{b.name}.log") for b in begun}
    for method in study.methods_of(setting):
        mine = [b.name for b in blocks if method in b.methods]
        timings = {n: done[n][done[n]["method"] == method] for n in mine if n in done}
        bad = {n: int((rows["status"] != "ok").sum()) for n, rows in timings.items()}
        failed = [n for n in mine if errors.get(n)]
        left = sum(len(replications_of(n)) for n in mine if n not in done)
        messages = [errors[n] for n in failed]
        messages += [_first_message(folder / n, method) for n, count in bad.items() if count]
        yield CellStatus(
            study=study.name,
            setting=setting.folder,
            method=method,
            blocks=len(mine),
            done=len(timings),
            held=len(held.get(method, ())),
            started=sum(n in errors for n in mine) - len(failed),
            failed=len(failed),
            replications_failed=sum(bad.values()),
            message=next(iter(messages), ""),
            hours_used=sum(rows["cpu_seconds"].sum() for rows in timings.values()) / 3600,
            hours_left=left * study.seconds(method, setting) / 3600,
        )


def _is_done(folder: Path, block: Block) -> bool:
    return (folder / f"{block.name}.parquet").exists()


def _timings(block: Path) -> pd.DataFrame:
    return read_table(block.with_name(f"{block.name}.timings.parquet"))


def _first_message(block: Path, method: str) -> str:
    """Return the message of the first replication of a method that did not succeed."""
    rows = read_table(block.with_name(f"{block.name}.parquet"))
    bad = (rows["method"] == method) & (rows["status"] != "ok")
    return rows.loc[bad, "message"].iloc[0]


def _error_in(log: Path) -> str:
    """Return the last error in a job's log, or an empty string."""
    text = log.read_text(encoding="utf-8", errors="replace")
    found = _FAILURE.findall(text) if "the job failed" in text else []
    return found[-1] if found else ""


def status_lines(cells: list[CellStatus], preset: str, study: str | None = None) -> Iterator[str]:
    """Yield the status as lines of text.

    Parameters
    ----------
    cells : list of CellStatus
        From :func:`read_status`.
    preset : str
        The preset of the request.
    study : str, optional
        Show every method in every setting of this study. The default is one line per study, with
        its first error.
    """
    studies = dict.fromkeys(cell.study for cell in cells)
    for name in studies if study is None else [study]:
        mine = [cell for cell in cells if cell.study == name]
        yield _study_line(name, mine)
        if study is None:
            first = next((c for c in mine if c.message), None)
            if first:
                yield f"  first error: {first.setting}  {first.method}: {first.message}"
            continue
        width = max(len(f"{cell.setting}  {cell.method}") for cell in mine)
        for cell in mine:
            yield _cell_line(cell, width)
    if study is None and studies:
        more = f"python -m fedmix status {next(iter(studies))} --config preset={preset}"
        yield f"Every setting and method of a study: {more}"


def _study_line(study: str, cells: list[CellStatus]) -> str:
    used, left = sum(c.hours_used for c in cells), sum(c.hours_left for c in cells)
    held = sum(cell.held for cell in cells)
    kept = f", {held} replications in the evidence" if held else ""
    return (
        f"{study}: {_blocks(cells, 'done')} of {_blocks(cells, 'blocks')} blocks done"
        f"{_counted(cells)}{kept}, {core_hours(used)} used, about {core_hours(left)} left"
    )


def _blocks(cells: list[CellStatus], kind: str) -> int:
    """Count the blocks of some settings once, although every method of a setting has them."""
    by_setting: dict[tuple[str, str], int] = {}
    for cell in cells:
        place = cell.study, cell.setting
        by_setting[place] = max(by_setting.get(place, 0), getattr(cell, kind))
    return sum(by_setting.values())


def _counted(cells: list[CellStatus]) -> str:
    counts = {
        "started": _blocks(cells, "started"),
        "failed": _blocks(cells, "failed"),
        "replications failed": sum(c.replications_failed for c in cells),
    }
    return "".join(f", {count} {word}" for word, count in counts.items() if count)


def _cell_line(cell: CellStatus, width: int) -> str:
    counted = _counted([cell])
    line = f"  {f'{cell.setting}  {cell.method}':<{width}}  {cell.done}/{cell.blocks} done{counted}"
    return f"{line}: {cell.message}" if cell.message else line


def evidence_lines(request: Request) -> Iterator[str]:
    """Yield what the evidence holds of each study, and the core-hours of what it lacks."""
    for study in request.studies.values():
        wanted = current = stale = unsure = 0
        others = unverified(request.coverage.evidence.rows(study.name))
        seconds = 0.0
        for setting in study.settings.values():
            held = request.coverage.held(study, setting)
            index = request.coverage.evidence.index(study.name).fits.get(setting.folder, {})
            for method, n in study.replications_in(setting).items():
                have = len([r for r in held.get(method, ()) if r < n])
                wanted, current = wanted + n, current + have
                stale += len(index[method].replications) if method in index and not have else 0
                unsure += have if (setting.folder, method) in others else 0
                seconds += (n - have) * study.seconds(method, setting)
        notes = f", {stale} stale" if stale else ""
        notes += f", {unsure} unverified with the installed versions of libraries" if unsure else ""
        yield (
            f"{study.name}: {current} of {wanted} replications current{notes}; about "
            f"{core_hours(seconds / 3600)} are missing"
        )


def failed_throughout(request: Request, shown: str | os.PathLike) -> list[str]:
    """Return the methods that raised an error in every replication of a study's variant.

    A method that diverges or takes too long has a result. A method that only raises errors has not
    run: one of its parameters is wrong, or its code.

    Parameters
    ----------
    request : Request
        Settings that are not collected are ignored.
    shown : path-like
        ``results/<preset>``.

    Returns
    -------
    list of str
        One sentence per method, with its first error.
    """
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    errors: dict[tuple[str, str, str], str] = {}
    for study, part in request.parts:
        for setting in _outcomes(shown, study, part):
            for method, outcome in setting["methods"].items():
                key = (study, setting["variant"], method)
                counts.setdefault(key, Counter()).update(outcome["replications"])
                errors[key] = errors.get(key) or outcome["error"]
    return [
        f"{study}, variant {variant}: every replication of {method} failed, "
        f"the first with {errors[study, variant, method]}"
        for (study, variant, method), count in counts.items()
        if set(count) == {"error"}
    ]


def lacking(request: Request, shown: str | os.PathLike) -> list[str]:
    """Return the methods of the request that collected results lack, one sentence each.

    Parameters
    ----------
    request : Request
        Parts that are not collected are ignored.
    shown : path-like
        ``results/<preset>``.
    """
    found = []
    for (study, name), part in request.parts.items():
        settings = _outcomes(shown, study, name)
        for setting, outcome in zip(part.settings, settings, strict=False):
            for method, n in part.study.replications_in(setting).items():
                held = sum(outcome["methods"].get(method, {}).get("replications", {}).values())
                if held < n:
                    place = f"{study}, {setting.folder}"
                    found.append(f"{place}: {method} has {held} of {number_of(n, 'replication')}.")
    return found


def failed_jobs(logs: str | os.PathLike, since: float) -> list[str]:
    """Return the log and the error of each job that failed since a time, in seconds since 1970."""
    ended = [log for log in sorted(Path(logs).rglob("*.log")) if log.stat().st_mtime >= since]
    return [f"{log}: {error}" for log in ended if (error := _error_in(log))]


# Files in a preset's folder that people open, with a description.
_FILES = {
    "index.html": "the scorecard, to open",
    "pages": "a page for every published table",
    "cells.parquet": "every number, for programs",
    "archive.zip": "the archive of all results",
}


def summary_lines(shown: str | os.PathLike, since: float) -> Iterator[str]:
    """Yield a summary of what a run has made.

    Parameters
    ----------
    shown : path-like
        ``results/<preset>``.
    since : float
        The start of the run in seconds since the epoch. Older files are not from this run.
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
    scores, claims = (_rows(audit / f"{name}.csv") for name in ("scores", "claims"))
    for paper in dict.fromkeys(row["paper"] for row in [*scores, *claims]):
        tables = [row for row in scores if row["paper"] == paper]
        values = {name: sum(int(row[name]) for row in tables) for name in COUNTED}
        found = Counter(row["verdict"] for row in claims if row["paper"] == paper)
        told = {"published values": values, "claims": {v: found[v] for v in CLAIM_VERDICTS}}
        yield from (f"{paper}, {what}: {tally(n)}" for what, n in told.items() if any(n.values()))


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


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
