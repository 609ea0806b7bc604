"""The status of a request: its blocks, and what the evidence holds of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedmix.pipeline.costs import core_hours
from fedmix.pipeline.evidence import unverified
from fedmix.pipeline.forecast import seconds_lacking
from fedmix.pipeline.plan import Setting, Study, timings_of
from fedmix.pipeline.request import Request
from fedmix.storage import read_table
from fedmix.views.marks import number_of

# The line of a traceback that names the error, without its module: the first one not indented. The
# error's message may go on after it, with lines of any kind.
_FAILURE = re.compile(r"^Traceback.*\n(?: .*\n)*(?:\w+\.)*(\w+(?:: .*)?)$", re.M)


@dataclass(frozen=True)
class CellStatus:
    """The status of one method in one setting.

    Parameters
    ----------
    study, setting, method : str
        ``setting`` is the folder's name, variant included.
    blocks, done, started, failed : int
        The number of blocks to run, and how many of them are finished by the present code, have
        started but not ended (they run, or were killed), and failed with an error.
    held : int
        Replications of the request in the evidence, whose blocks need not be run.
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
    """Read the status of a request from the results and logs where Snakemake works.

    It is by study, setting and method, in the configuration's order.
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
    place = f"{study.name}/{setting.folder}"
    folder, logs = workdir / "results" / place, workdir / "logs" / "run_methods" / place
    held = request.coverage.counts(study, setting)
    lacking = {block.name: own for block, own in request.coverage.lacking(study, setting).items()}
    files = {n: folder / f"{n}.parquet" for n in lacking}
    ended = [n for n, file in files.items() if file.exists() and timings_of(file).exists()]
    keys = request.coverage.keys(study, setting)
    current = [n for n in ended if _has_keys(files[n], keys)]
    done = {n: read_table(timings_of(files[n])) for n in current}
    begun = [n for n in files if n not in ended and (logs / f"{n}.log").exists()]
    errors = {n: error_in(logs / f"{n}.log") for n in begun}
    for method in study.methods_of(setting):
        mine = [n for n, missing in lacking.items() if method in missing]
        timings = {n: done[n][done[n]["method"] == method] for n in mine if n in done}
        bad = {n: int((rows["status"] != "ok").sum()) for n, rows in timings.items()}
        failed = [n for n in mine if errors.get(n)]
        left = sum(len(lacking[n][method]) for n in mine if n not in done)
        messages = [errors[n] for n in failed]
        messages += [_first_message(files[n], method) for n, count in bad.items() if count]
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
            hours_used=sum(rows["cpu_seconds"].sum() for rows in timings.values()) / 3600,
            hours_left=left * study.seconds(method, setting) / 3600,
        )


def _has_keys(block: Path, keys: Mapping[str, str]) -> bool:
    """Return whether a block was made by the present code; the keys may be unknown."""
    from fedmix.pipeline.blocks import keys_in

    kept = keys_in(block)
    return all(kept[method] == keys[method] for method in kept.keys() & keys.keys()) and bool(kept)


def _first_message(block: Path, method: str) -> str:
    """Return the message of the first replication of a method that did not succeed."""
    rows = read_table(block)
    bad = (rows["method"] == method) & (rows["status"] != "ok")
    return rows.loc[bad, "message"].iloc[0]


def error_in(log: Path) -> str:
    """Return the last error in a job's log, or an empty string if the job did not write one."""
    text = log.read_text(encoding="utf-8", errors="replace")
    _, failed, told = text.rpartition("the job failed\n")
    if not failed:
        return ""
    return next(reversed(_FAILURE.findall(told)), "an error that its log shows")


def status_lines(cells: list[CellStatus], asked: str, study: str | None = None) -> Iterator[str]:
    """Yield the status as lines of text: one line per study, with its first error.

    With ``study``, there is a line for every method in every setting of this study. ``asked`` are
    the options of the command line that ask for the request.
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
    told = [f", {count} {kind}" for kind, count in counts.items() if count]
    if failed := sum(cell.replications_failed for cell in cells):
        told.append(f", {number_of(failed, 'replication')} failed")
    return "".join(told)


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
