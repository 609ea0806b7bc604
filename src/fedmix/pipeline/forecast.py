"""Forecast the cost of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedmix.pipeline.costs import EMBEDDINGS, SHARED, Scale, core_hours
from fedmix.pipeline.machine import Machine
from fedmix.pipeline.plan import RUNTIME, Setting, Study, replications_of
from fedmix.pipeline.request import Request

STARTUP = 2.5  # seconds until a job does its work: Snakemake, imports, compiled code
_MEMORY = 400.0  # MB of a job with unknown memory: Python, NumPy, Numba
_DISK = 12e3  # bytes per replication of a method: its rows and timings, twice
_OFF = 1.3  # a replication may take this many times its known cost, or that part of it
_SHORT = 60.0  # seconds: the start is a large part of a shorter job


@dataclass(frozen=True)
class Hours:
    """Core-hours, and a range that counts how differently machines do the kinds of work."""

    low: float = 0.0
    typical: float = 0.0
    high: float = 0.0

    def __add__(self, other: Hours) -> Hours:
        return Hours(self.low + other.low, self.typical + other.typical, self.high + other.high)

    def __str__(self) -> str:
        return core_hours(self.low, self.high)


@dataclass(frozen=True)
class StudyForecast:
    """The cost of what is not yet in the evidence of a study.

    ``hours`` are those of its methods and their shared work, ``starts`` core-hours of starting its
    ``jobs``. ``memory`` is that of the largest job, ``disk`` the final size of its results, both in
    MB. ``shortest`` and ``longest`` are seconds of the jobs that run methods.
    """

    study: str
    jobs: int
    hours: Hours
    starts: float
    memory: float
    disk: float
    shortest: float
    longest: float
    block: int | None


@dataclass(frozen=True)
class Forecast:
    """The cost of a request: its studies, its missing embeddings, and all other jobs."""

    studies: list[StudyForecast]
    embeddings: Mapping[str, Hours]
    views: int

    @property
    def hours(self) -> Hours:
        """The total."""
        starts = sum(study.starts for study in self.studies) + self.views * STARTUP / 3600
        parts = [*(study.hours for study in self.studies), *self.embeddings.values()]
        return sum(parts, Hours(starts, starts, starts))


def job_seconds(
    study: Study,
    setting: Setting,
    methods: tuple[str, ...],
    block: str,
    scale: Scale | None = None,
) -> float:
    """Return the seconds of a block without the start of its job."""
    each = sum(study.seconds(name, setting, scale) for name in (SHARED, *methods))
    return each * len(replications_of(block))


def forecast(
    request: Request, workdir: str | Path = ".", machine: Machine | None = None
) -> Forecast:
    """Forecast the cost of a request.

    Parameters
    ----------
    request : Request
        The request. Blocks and embeddings that the evidence holds cost nothing.
    workdir : path-like, default="."
        Where Snakemake works. Embeddings that exist there cost nothing.
    machine : Machine, optional
        The machine to run on. By default it is that of the known costs, and the range counts only
        how far these are off.
    """
    scales: list[Scale | None] = [None] * 3
    if machine:
        scales = [machine.shortest, machine.typical, machine.longest]
    studies = [_forecast_study(request, study, scales) for study in request.studies.values()]
    missing = {
        f"{dataset}, {embedding}": _embedding_hours(request, dataset, embedding, scales)
        for dataset, embedding in request.embeddings()
        if not Path(workdir, "data/embedded", dataset, f"{embedding}.npz").is_file()
        and not request.coverage.kept_embedding(dataset, embedding)
    }
    return Forecast(studies, missing, views=len(request.items) + 2 * len(missing))


def _hours(seconds: list[float]) -> Hours:
    """Return a range from the seconds at the shortest, the typical and the longest scale."""
    low, typical, high = (each / 3600 for each in seconds)
    return Hours(low / _OFF, typical, high * _OFF)


def _embedding_hours(
    request: Request, dataset: str, embedding: str, scales: list[Scale | None]
) -> Hours:
    known = next((study.costs for study in request.studies.values()), None)
    place = EMBEDDINGS, dataset, "", embedding
    return _hours([known.seconds(*place, scale) for scale in scales]) if known else Hours()


def _forecast_study(request: Request, study: Study, scales: list[Scale | None]) -> StudyForecast:
    missing = [
        (setting, block)
        for setting in study.settings.values()
        for block in request.coverage.missing(study, setting)
    ]
    by_scale = [
        [job_seconds(study, setting, b.methods, b.name, scale) for setting, b in missing]
        for scale in scales
    ]
    fits = sum(len(block.methods) * len(replications_of(block.name)) for _, block in missing)
    collected = sum(name == study.name for name, _ in request.parts)
    jobs = len(missing) + collected
    return StudyForecast(
        study=study.name,
        jobs=jobs,
        hours=_hours([sum(seconds) for seconds in by_scale]),
        starts=jobs * STARTUP / 3600,
        memory=study.costs.memory(study.name) or _MEMORY,
        disk=fits * _DISK / 1e6,
        shortest=min(by_scale[1], default=0.0),
        longest=max(by_scale[1], default=0.0),
        block=study.block,
    )


def forecast_lines(whole: Forecast) -> Iterator[str]:
    """Yield the forecast as text: one line per study, the total, and advice on block sizes."""
    for study in whole.studies:
        yield (
            f"{study.study}: {study.hours}, and {core_hours(study.starts)} to start {study.jobs} "
            f"jobs of up to {study.memory:.0f} MB, {_megabytes(study.disk)} on disk"
        )
        yield from _advice(study)
    for name, hours in whole.embeddings.items():
        if hours.typical:
            yield f"embedding {name}: {hours}"
    disk = sum(study.disk for study in whole.studies)
    jobs = sum(study.jobs for study in whole.studies) + whole.views
    yield f"Together: {whole.hours} in {jobs} jobs, {_megabytes(disk)} on disk"


def _advice(study: StudyForecast) -> Iterator[str]:
    """Yield advice against a block size that makes jobs too long or too short."""
    if not study.block:
        return
    if study.longest > RUNTIME * 60:
        yield (
            f"  block={study.block} is too large: a job would last {study.longest / 3600:.1f} h, "
            f"and its limit is {RUNTIME} minutes. Without block, jobs are sized to take ten."
        )
    elif study.shortest < _SHORT:
        yield (
            f"  block={study.block} is small: a job may last {study.shortest:.0f} s, and its start "
            f"takes {STARTUP:g} s. Without block, jobs are sized to take ten minutes."
        )


def _megabytes(size: float) -> str:
    return f"{size:.0f} MB" if size < 1000 else f"{size / 1000:.1f} GB"
