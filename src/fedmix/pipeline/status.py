"""What of a request is done, running and failed, and what it took."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fedmix.errors import ConfigurationError, nearest_names
from fedmix.pipeline.locking import is_locked
from fedmix.pipeline.plan import Setting, Study, replications_of
from fedmix.pipeline.request import Request
from fedmix.storage import read_table

_ENDED_SILENTLY = "ended without a message: killed, or out of memory or time"
_FAILURE = re.compile(r"^(?:fedmix\.errors\.)?(\w*(?:Error|Exception|Timeout|Interrupt)\b.*)", re.M)


@dataclass(frozen=True)
class CellStatus:
    """One method in one setting.

    Parameters
    ----------
    study, setting, method : str
        ``setting`` is the folder's name, variant included.
    blocks, done, running, failed : int
        Blocks asked for, and how many of them are finished, at work and ended in an error.
    replications_failed : int
        Replications within finished blocks that diverged, timed out or raised an error.
    message : str
        The first line of the first error, empty if there is none.
    hours_used, hours_left : float
        Core-hours: measured, and forecast for the blocks that are not finished.
    """

    study: str
    setting: str
    method: str
    blocks: int
    done: int
    running: int
    failed: int
    replications_failed: int
    message: str
    hours_used: float
    hours_left: float


def read_status(request: Request, workdir: str | Path = ".") -> list[CellStatus]:
    """Look at the files of a request.

    Parameters
    ----------
    request : Request
        What is asked for.
    workdir : path-like, default="."
        Where Snakemake works: results and logs lie below.

    Returns
    -------
    list of CellStatus
        By study, setting and method, in the configuration's order.
    """
    workdir = Path(workdir)
    at_work = is_locked(workdir)
    return [
        _cell_status(workdir, study, setting, method, at_work)
        for study in request.studies.values()
        for setting in study.settings.values()
        for method in study.methods_of(setting)
    ]


def _cell_status(
    workdir: Path, study: Study, setting: Setting, method: str, at_work: bool
) -> CellStatus:
    place = f"{study.name}/{setting.folder}"
    folder, logs = workdir / "results" / place / method, workdir / "logs" / "run_methods" / place
    blocks = study.blocks_of(method, setting)
    done = [b for b in blocks if (folder / f"{b}.parquet").exists()]
    started = [b for b in blocks if b not in done and (logs / f"{b}.log").exists()]
    errors = {b: _error_in(logs / f"{b}.log") for b in started}
    failed = [b for b in started if errors[b] or not at_work]
    bad, message = _failed_replications(folder / f"{b}" for b in done)
    left = sum(len(replications_of(b)) for b in blocks if b not in done)
    if failed:
        message = errors[failed[0]] or _ENDED_SILENTLY
    return CellStatus(
        study=study.name,
        setting=setting.folder,
        method=method,
        blocks=len(blocks),
        done=len(done),
        running=len(started) - len(failed),
        failed=len(failed),
        replications_failed=bad,
        message=message,
        hours_used=sum(_seconds(folder / b) for b in done) / 3600,
        hours_left=left * study.costs.seconds(study.name, setting.dataset, method) / 3600,
    )


def _error_in(log: Path) -> str:
    """Return the last error that a job's log tells in its own line, or an empty string."""
    text = log.read_text(encoding="utf-8", errors="replace")
    found = _FAILURE.findall(text) if "the job failed" in text else []
    return found[-1] if found else ""


def _failed_replications(blocks: Iterable[Path]) -> tuple[int, str]:
    """Return how many replications did not succeed, and the first of their messages."""
    count, message = 0, ""
    for block in blocks:
        timings = block.with_name(f"{block.name}.timings.parquet")
        bad = int((read_table(timings)["status"] != "ok").sum()) if timings.exists() else 0
        if bad and not message:
            rows = read_table(block.with_name(f"{block.name}.parquet"))
            message = rows.loc[rows["status"] != "ok", "message"].iloc[0]
        count += bad
    return count, message


def _seconds(block: Path) -> float:
    """Return the CPU seconds of a method's block."""
    timings = block.with_name(f"{block.name}.timings.parquet")
    return float(read_table(timings)["cpu_seconds"].sum()) if timings.exists() else 0.0


def status_lines(cells: list[CellStatus], preset: str, study: str | None = None) -> Iterator[str]:
    """Yield a table for people.

    Parameters
    ----------
    cells : list of CellStatus
        From :func:`read_status`.
    preset : str
        Whose state it is.
    study : str, optional
        The study to tell every method in every setting of; default is a line a study, with the
        first error of each.

    Raises
    ------
    ConfigurationError
        If there is no such study, with the nearest names.
    """
    studies = dict.fromkeys(cell.study for cell in cells)
    if study is not None and study not in studies:
        raise ConfigurationError(f"There is no study {study!r}. {nearest_names(study, studies)}")
    for name in studies if study is None else [study]:
        mine = [cell for cell in cells if cell.study == name]
        yield _study_line(name, mine)
        if study is None:
            told = next((c for c in mine if c.message), None)
            if told:
                yield f"  first error: {told.setting}  {told.method}: {told.message}"
            continue
        width = max(len(f"{cell.setting}  {cell.method}") for cell in mine)
        for cell in mine:
            yield _cell_line(cell, width)
    if study is None and studies:
        more = f"python -m fedmix status {next(iter(studies))} --config preset={preset}"
        yield f"Every setting and method of a study: {more}"


def _study_line(study: str, cells: list[CellStatus]) -> str:
    done, blocks = sum(c.done for c in cells), sum(c.blocks for c in cells)
    used, left = sum(c.hours_used for c in cells), sum(c.hours_left for c in cells)
    return (
        f"{study}: {done} of {blocks} blocks done{_told(cells)}, "
        f"{used:.2f} core-hours used, about {left:.2f} left"
    )


def _told(cells: list[CellStatus]) -> str:
    counts = {
        "running": sum(c.running for c in cells),
        "failed": sum(c.failed for c in cells),
        "replications failed": sum(c.replications_failed for c in cells),
    }
    return "".join(f", {count} {word}" for word, count in counts.items() if count)


def _cell_line(cell: CellStatus, width: int) -> str:
    told = _told([cell])
    line = f"  {f'{cell.setting}  {cell.method}':<{width}}  {cell.done}/{cell.blocks} done{told}"
    return f"{line}: {cell.message}" if cell.message else line
