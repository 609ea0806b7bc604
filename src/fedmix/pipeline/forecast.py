"""Forecast the cost of a request, and compare it with that of finished replications."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from fedmix.errors import DataError
from fedmix.pipeline.costs import EMBEDDINGS, SHARED
from fedmix.pipeline.plan import RUNTIME, Setting, Study, replications_of
from fedmix.pipeline.request import Request
from fedmix.storage import read_table

if TYPE_CHECKING:
    import pandas as pd

STARTUP = 2.5  # seconds until a job does its work: Snakemake, imports, compiled code
_MEMORY = 400.0  # MB of a job with unknown memory: Python, NumPy, Numba
_DISK = 12e3  # bytes per replication of a method: its rows and timings, twice
_BENCHMARK = 10.0  # seconds that the benchmark is repeated
_SHORT = 60.0  # seconds: the start is a large part of a shorter job


@dataclass(frozen=True)
class StudyForecast:
    """The cost of a study if nothing is finished yet.

    ``hours`` are core-hours of its methods and their shared work, ``starts`` those of starting its
    ``jobs``. ``memory`` is that of the largest job, ``disk`` the final size of its results, both in
    MB. ``shortest`` and ``longest`` are seconds of the jobs that run methods.
    """

    study: str
    jobs: int
    hours: float
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
    embeddings: dict[str, float]
    views: int

    @property
    def hours(self) -> float:
        """The total core-hours."""
        studies = sum(study.hours + study.starts for study in self.studies)
        return studies + sum(self.embeddings.values()) + self.views * STARTUP / 3600


def job_seconds(
    study: Study, setting: Setting, methods: tuple[str, ...], block: str, unit: float | None = None
) -> float:
    """Return the seconds of a block without the start of its job."""
    each = sum(
        study.costs.seconds(study.name, setting.dataset, name, unit) for name in (SHARED, *methods)
    )
    return each * len(replications_of(block))


def forecast(request: Request, workdir: str | Path = ".", unit: float | None = None) -> Forecast:
    """Forecast the cost of a request.

    Parameters
    ----------
    request : Request
        The request. Blocks that the evidence holds cost nothing.
    workdir : path-like, default="."
        Where Snakemake works. Embeddings that exist there cost nothing.
    unit : float, optional
        Seconds that the benchmark takes here. By default it is the machine of the known costs.
    """
    studies = [_forecast_study(request, study, unit) for study in request.studies.values()]
    missing = {
        f"{dataset}, {embedding}": _embedding_hours(request, dataset, embedding, unit)
        for dataset, embedding in request.embeddings()
        if not Path(workdir, "data/embedded", dataset, f"{embedding}.npz").is_file()
    }
    return Forecast(studies, missing, views=len(request.items) + 2 * len(missing))


def _embedding_hours(request: Request, dataset: str, embedding: str, unit: float | None) -> float:
    known = next((study.costs for study in request.studies.values()), None)
    return known.seconds(EMBEDDINGS, dataset, embedding, unit) / 3600 if known else 0.0


def _forecast_study(request: Request, study: Study, unit: float | None) -> StudyForecast:
    seconds: list[float] = []
    fits = 0
    for setting in study.settings.values():
        for block in request.coverage.missing(study, setting):
            seconds.append(job_seconds(study, setting, block.methods, block.name, unit))
            fits += len(block.methods) * len(replications_of(block.name))
    collected = sum(name == study.name for name, _ in request.parts)
    jobs = len(seconds) + collected
    return StudyForecast(
        study=study.name,
        jobs=jobs,
        hours=sum(seconds) / 3600,
        starts=jobs * STARTUP / 3600,
        memory=study.costs.memory(study.name) or _MEMORY,
        disk=fits * _DISK / 1e6,
        shortest=min(seconds, default=0.0),
        longest=max(seconds, default=0.0),
        block=study.block,
    )


def forecast_lines(whole: Forecast) -> Iterator[str]:
    """Yield the forecast as text: one line per study, the total, and advice on block sizes."""
    for study in whole.studies:
        yield (
            f"{study.study}: {study.hours:.2f} core-hours, and {study.starts:.2f} to start "
            f"{study.jobs} jobs of up to {study.memory:.0f} MB, {_megabytes(study.disk)} on disk"
        )
        yield from _advice(study)
    for name, hours in whole.embeddings.items():
        if hours > 0.01:
            yield f"embedding {name}: {hours:.2f} core-hours"
    disk = sum(study.disk for study in whole.studies)
    jobs = sum(study.jobs for study in whole.studies) + whole.views
    yield f"Together: {whole.hours:.1f} core-hours in {jobs} jobs, {_megabytes(disk)} on disk"


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


def read_actual(request: Request, results: Path) -> pd.DataFrame:
    """Return the CPU seconds of all collected replications.

    Parameters
    ----------
    request : Request
        The request with the studies and settings.
    results : path
        The folder ``results`` of a run.

    Returns
    -------
    DataFrame
        One row per replication of a method, with ``study, dataset, method, seconds, memory``. The
        shared work of a replication has its own row, with the method ``"shared"``.

    Raises
    ------
    DataError
        If no setting of the request is finished there.
    """
    import pandas as pd

    folder = results / request.options["preset"] / "collected"
    paths = [folder / study / part / "timings.parquet" for study, part in request.parts]
    parts = [_costs_in(request, read_table(path)) for path in paths if path.is_file()]
    if not parts:
        raise DataError(
            f"{folder} holds no finished results (<study>/<part>/timings.parquet): expected the "
            "folder `results` of a run, and its preset by --config."
        )
    return pd.concat(parts, ignore_index=True)


def _costs_in(request: Request, timings: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    study = request.studies[timings["study"].iloc[0]]
    datasets = {(s.variant, s.name): s.dataset for s in study.settings.values()}
    places = zip(timings["variant"], timings["setting"], strict=True)
    timings = timings.assign(dataset=[datasets[place] for place in places])
    place = ["study", "dataset", "variant", "setting"]
    fits = timings[[*place, "method", "cpu_seconds"]].rename(columns={"cpu_seconds": "seconds"})
    shared = timings.groupby([*place, "replication"])["shared_seconds"].max().rename("seconds")
    rows = pd.concat([fits, shared.reset_index().assign(method=SHARED)], ignore_index=True)
    memory = timings.groupby(place)["memory"].max().rename("memory").reset_index()
    rows = rows.merge(memory, on=place)
    return rows[["study", "dataset", "method", "seconds", "memory"]]


def against_lines(request: Request, actual: pd.DataFrame, unit: float) -> Iterator[str]:
    """Yield a Markdown table of forecast and actual core-hours by study.

    Parameters
    ----------
    request : Request
    actual : DataFrame
        From :func:`read_actual`. Only its replications are part of the forecast.
    unit : float
        Seconds that the benchmark takes here.
    """
    yield "| study | replications of methods | forecast, core-hours | actual | actual / forecast |"
    yield "|---|---:|---:|---:|---:|"
    total, expected_total = 0.0, 0.0
    for study, rows in actual.groupby("study", sort=False):
        costs = request.studies[study].costs
        counts = rows.value_counts(["dataset", "method"])
        expected = sum(
            n * costs.seconds(study, dataset, method, unit)
            for (dataset, method), n in counts.items()
        )
        fits = int((rows["method"] != SHARED).sum())
        taken = rows["seconds"].sum()
        yield _against(study, fits, expected, taken)
        total, expected_total = total + taken, expected_total + expected
    yield _against("together", int((actual["method"] != SHARED).sum()), expected_total, total)


def _against(name: str, fits: int, expected: float, taken: float) -> str:
    ratio = f"{taken / expected:.2f}" if expected else ""
    return f"| {name} | {fits} | {expected / 3600:.3f} | {taken / 3600:.3f} | {ratio} |"


def benchmark(seconds: float = _BENCHMARK) -> float:
    """Return the CPU seconds of a fixed task on one core of this machine.

    Parameters
    ----------
    seconds : float, default=10.0
        How long to repeat the task. The median counts, which a short load changes little.
    """
    import numpy as np

    from fedmix.clients import Clients
    from fedmix.methods.unfederated_em import LocalEM

    points = np.random.default_rng(0).standard_normal((20_000, 10))
    clients = Clients.from_arrays(np.array_split(points, 20))
    start = np.full((20, 5), 0.2), np.tile(points[:5], (20, 1, 1))

    def work() -> float:
        started = time.process_time()
        LocalEM(n_components=5, max_rounds=200, tol=0.0, init=start, random_state=0).fit(clients)
        return time.process_time() - started

    work()  # loads compiled code
    end = time.monotonic() + seconds
    taken = [work()]
    while time.monotonic() < end:
        taken.append(work())
    return median(taken)
