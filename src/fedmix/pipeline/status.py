"""The state of a run by study and method, its checks and its summary: Snakemake knows only jobs."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from fedmix.cells.claims import CLAIM_VERDICTS
from fedmix.cells.printed import rows_of
from fedmix.cells.verdicts import COUNTED
from fedmix.errors import DataError
from fedmix.pipeline.costs import SHARED, core_hours
from fedmix.pipeline.evidence import unverified
from fedmix.pipeline.forecast import seconds_lacking
from fedmix.pipeline.plan import Setting, Study, timings_of
from fedmix.pipeline.request import Part, Request
from fedmix.storage import read_table
from fedmix.views.format import number_of, tally

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}(\.\w+)?")
# The line of a traceback that names the error, without its module: the first one not indented.
# Lines of any kind may follow.
_FAILURE = re.compile(r"^Traceback.*\n(?: .*\n)*(?:\w+\.)*(\w+(?:: .*)?)$", re.M)


@dataclass(frozen=True)
class CellStatus:
    """The status of one method in one setting, by the name of its folder.

    Of the ``blocks`` to run, the present code has finished those ``done``, has ``started`` some
    that have not ended (they run, or were killed), and ``failed`` in some with an error. ``held``
    are the replications of the request in the evidence, whose blocks need not be run.
    ``replications_failed`` diverged, timed out or raised an error in finished blocks. ``message``
    is the first line of the first error; empty without one. The core-hours are measured, and
    forecast for the blocks that are not finished. What methods share counts in equal parts.
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
    """Read the status of each method, in the configuration's order, from results and logs."""
    return [
        cell
        for study in request.studies.values()
        for setting in study.settings.values()
        for cell in _setting_status(request, Path(workdir), study, setting)
    ]


def _setting_status(
    request: Request, workdir: Path, study: Study, setting: Setting
) -> Iterator[CellStatus]:
    place = f"{study.name}/{setting.folder}"
    folder, logs = workdir / "results" / place, workdir / "logs" / "run_methods" / place
    held = request.coverage.counts(study, setting)
    lacks = {block.name: own for block, own in request.coverage.lacking(study, setting).items()}
    files = {n: folder / f"{n}.parquet" for n in lacks}
    ended = [n for n, file in files.items() if file.exists() and timings_of(file).exists()]
    keys = request.coverage.keys(study, setting)
    done = {n: read_table(timings_of(files[n])) for n in ended if _has_keys(files[n], keys)}
    begun = {n: logs / f"{n}.log" for n in files if n not in ended}
    errors = {n: error_in(log) for n, log in begun.items() if log.exists()}
    sharing = set().union(*lacks.values())
    shared = sum(t.groupby("replication")["shared_seconds"].max().sum() for t in done.values())
    waiting = (own for n, missing in lacks.items() if n not in done for own in missing.values())
    shared_left = len(set().union(*waiting)) * study.seconds(SHARED, setting)
    for method in study.methods_of(setting):
        part = (method in sharing) / max(len(sharing), 1)
        mine = [n for n, missing in lacks.items() if method in missing]
        timings = {n: done[n][done[n]["method"] == method] for n in mine if n in done}
        bad = {n: int((rows["status"] != "ok").sum()) for n, rows in timings.items()}
        failed = [n for n in mine if errors.get(n)]
        left = sum(len(lacks[n][method]) for n in mine if n not in done)
        messages = [errors[n] for n in failed]
        messages += [_first_message(files[n], method) for n, count in bad.items() if count]
        used = sum(rows["cpu_seconds"].sum() for rows in timings.values())
        yield CellStatus(
            study=study.name,
            setting=setting.folder,
            method=method,
            blocks=len(mine),
            done=len(timings),
            held=held[method],
            started=sum(n in errors for n in mine) - len(failed),
            failed=len(failed),
            replications_failed=sum(bad.values()),
            message=next(iter(messages), ""),
            hours_used=(used + part * shared) / 3600,
            hours_left=(left * study.seconds(method, setting) + part * shared_left) / 3600,
        )


def _has_keys(block: Path, keys: Mapping[str, str]) -> bool:
    """Return whether a block was made by the present code; the keys may be unknown."""
    from fedmix.pipeline.blocks import keys_in

    kept = keys_in(block)
    return bool(kept) and all(kept[method] == keys[method] for method in kept.keys() & keys.keys())


def _first_message(block: Path, method: str) -> str:
    """Return the message of the first replication of a method that did not succeed."""
    rows = read_table(block)
    bad = (rows["method"] == method) & (rows["status"] != "ok")
    return rows.loc[bad, "message"].iloc[0]


def error_in(log: Path) -> str:
    """Return the last error in a job's log, or an empty string if the job did not write one."""
    text = log.read_text(encoding="utf-8", errors="replace")
    _, failed, after = text.rpartition("the job failed\n")
    if not failed:
        return ""
    return next(reversed(_FAILURE.findall(after)), "an error that its log shows")


def status_lines(cells: list[CellStatus], asked: str, study: str | None = None) -> Iterator[str]:
    """Yield a line for each study, with its first error; for one ``study``, a line for each cell.

    ``asked`` are the options of the command line that ask for the request.
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
        width = max((len(f"{cell.setting}  {cell.method}") for cell in mine), default=0)
        for cell in mine:
            state = f"{cell.done}/{cell.blocks} done{_counted([cell])}"
            if not cell.blocks:
                state = f"{number_of(cell.held, 'replication')} in the evidence"
            line = f"  {f'{cell.setting}  {cell.method}':<{width}}  {state}"
            yield line + (f": {cell.message}" if cell.message else "")
    if study is None and studies:
        more = f"python -m fedmix status {next(iter(studies))} {asked}"
        yield f"Every setting and method of a study: {more}"


def _study_line(study: str, cells: list[CellStatus]) -> str:
    used, left = sum(c.hours_used for c in cells), sum(c.hours_left for c in cells)
    held = sum(cell.held for cell in cells)
    if held and not _blocks(cells, "blocks"):
        every = f"all {held} replications are" if held > 1 else "its only replication is"
        return f"{study}: {every} in the evidence"
    kept = f", {number_of(held, 'replication')} in the evidence" if held else ""
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
    counts = {kind: _blocks(cells, kind) for kind in ("started", "failed")}
    parts = [f", {count} {kind}" for kind, count in counts.items() if count]
    if failed := sum(cell.replications_failed for cell in cells):
        parts.append(f", {number_of(failed, 'replication')} failed")
    return "".join(parts)


def evidence_lines(request: Request) -> Iterator[str]:
    """Yield what the evidence holds of each study, and the core-hours of what it lacks."""
    for study in request.studies.values():
        wanted = current = stale = unsure = 0
        others = unverified(request.coverage.evidence.rows(study.name))
        seconds = 0.0
        for setting in study.settings.values():
            held = request.coverage.counts(study, setting)
            lacking = request.coverage.lacking(study, setting).values()
            seconds += sum(seconds_lacking(study, setting, own) for own in lacking)
            keys = request.coverage.keys(study, setting)
            index = request.coverage.evidence.index(study.name).fits.get(setting.folder, {})
            for method, n in study.replications_in(setting).items():
                have = held[method]
                wanted, current = wanted + n, current + have
                if method in index and index[method].key != keys.get(method):
                    stale += len(index[method].replications)
                unsure += have if (setting.folder, method) in others else 0
        notes = f", {stale} stale" if stale else ""
        library = next(iter(others.values()), "")
        notes += f", {unsure} unverified with the installed {library}" if unsure else ""
        yield (
            f"{study.name}: {current} of {wanted} replications current{notes}; about "
            f"{core_hours(seconds / 3600)} are missing"
        )


def failed_throughout(request: Request, shown: str | os.PathLike) -> list[str]:
    """Return a sentence for each method that raised an error in every replication of a variant.

    A method that diverges or takes too long has a result, but one that only raises errors has not
    run. Settings that are not collected below ``shown``, ``results/<preset>``, are ignored.
    """
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    first: dict[tuple[str, str, str], tuple[str, str]] = {}  # the setting and the error
    for part, settings in _outcomes(request, shown):
        for setting in settings:
            for method, outcome in setting["methods"].items():
                key = (part.study.name, setting["variant"], method)
                counts.setdefault(key, Counter()).update(outcome["replications"])
                first.setdefault(key, (setting.get("setting", ""), outcome["error"]))
    failed = {key: first[key] for key, count in counts.items() if set(count) == {"error"}}
    return [
        f"{study}, variant {variant}: every replication of {method} failed, the first with "
        f"{error.rstrip('.')}. To see the whole error: python -m fedmix rerun "
        f"{shlex.join([study, setting, method, '0'])} {request.asked}"
        for (study, variant, method), (setting, error) in failed.items()
    ]


def _outcomes(
    request: Request, shown: str | os.PathLike
) -> Iterator[tuple[Part, list[dict[str, Any]]]]:
    """Yield the parts that are collected, and how the replications of their settings ended."""
    for (study, name), part in request.parts.items():
        path = Path(shown, "collected", study, name, "outcomes.json")
        if path.exists() and (settings := json.loads(path.read_text(encoding="utf-8"))):
            yield part, settings


def failure_lines(request: Request, shown: str | os.PathLike) -> Iterator[str]:
    """Yield how many replications of each study failed, of those collected below `shown`."""
    counts: dict[str, Counter[str]] = {}
    for part, settings in _outcomes(request, shown):
        for outcome in (own for setting in settings for own in setting["methods"].values()):
            counts.setdefault(part.study.name, Counter()).update(outcome["replications"])
    for study, count in counts.items():
        failed = {status: n for status, n in count.items() if status != "ok" and n}
        if failed:
            how = ", ".join(f"{n} {status}" for status, n in failed.items())
            yield (
                f"{study}: {sum(failed.values())} of {count.total()} replications failed ({how}). "
                "Tables and pages say of which methods, and why."
            )


def lacking(request: Request, shown: str | os.PathLike) -> list[str]:
    """Return a sentence for each method of which results collected in ``shown`` lack replications.

    Parts that are not collected are ignored.
    """
    found = []
    for part, settings in _outcomes(request, shown):
        collected = {own.get("setting", ""): own["methods"] for own in settings}
        for setting in part.settings:
            own = collected.get(setting.folder, {})
            for method, n in part.study.replications_in(setting).items():
                held = sum(own.get(method, {}).get("replications", {}).values())
                if held < n:
                    place = f"{part.study.name}, {setting.folder}"
                    found.append(f"{place}: {method} has {held} of {number_of(n, 'replication')}.")
    return found


def failed_jobs(workdir: str | os.PathLike, since: float) -> list[str]:
    """Return why each job failed since a time, in seconds since 1970, one sentence each.

    A job that has neither written a block since then nor left an error in its log was killed.
    """
    root = Path(workdir)
    ended = [log for log in sorted(root.glob("logs/**/*.log")) if log.stat().st_mtime >= since]
    found = [f"{log}: {error}" for log in ended if (error := error_in(log))]
    runs = [log for log in ended if log.is_relative_to(root / "logs/run_methods")]
    killed = [log for log in runs if not error_in(log) and not _wrote(_block_of(log), since)]
    if killed:
        found.append(
            f"{killed[0]}: the job was killed, as far as its log tells "
            f"({number_of(len(killed), 'job')} in all). If nobody stopped it, memory ran out: run "
            "fewer jobs at a time (--cores), or ask a cluster for more (--set-resources "
            "run_methods:mem_mb=8000). Its finished replications are kept."
        )
    return found


def _wrote(block: Path, since: float) -> bool:
    """Return whether a block was written since a time; a job that runs again has an older one."""
    return block.exists() and block.stat().st_mtime >= since


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
    """Yield what a run has made in ``shown`` since its start, in seconds since 1970."""
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
        counts = {"published values": values, "claims": {v: found[v] for v in CLAIM_VERDICTS}}
        yield from (f"{paper}, {what}: {tally(n)}" for what, n in counts.items() if any(n.values()))


def require_past(files: Iterable[Path]) -> None:
    """Check before a run that no file was changed later than now.

    Snakemake deletes an output that is older than an input, and reports that its job failed.
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
