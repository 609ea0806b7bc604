"""Forecast the cost of a request, and compare it with what finished replications cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.cells.measured import steady
from fedmix.errors import DataError
from fedmix.pipeline.costs import EMBEDDINGS, PLACE, SHARED, Machine, Scale, core_hours
from fedmix.pipeline.evidence import FIT
from fedmix.pipeline.plan import RUNTIME, Block, Setting, Study, replications_of
from fedmix.pipeline.request import Request
from fedmix.revision import processor
from fedmix.storage import read_table, stacked
from fedmix.views.format import number_of

if TYPE_CHECKING:
    import pandas as pd

STARTUP = 2.5  # seconds until a job does its work: Snakemake, imports, compiled code
_MEMORY = 400.0  # MB of a job with unknown memory: Python, NumPy, Numba
_DISK = 12e3  # bytes per replication of a method: its rows and timings, twice
_OFF = 1.3  # a replication may take this many times its known cost, or that part of it
_SHORT = 60.0  # seconds: the start is a large part of a shorter job
# Blocks with their setting, and what each method lacks there.
_Lacking = list[tuple[Setting, Block, dict[str, set[int]]]]


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

    ``hours`` are those of methods and shared work, ``starts`` core-hours of starting its ``jobs``.
    ``memory`` is that of the largest job, ``disk`` the final size of its results, both in MB.
    ``longest`` is in seconds, of jobs that run methods; ``shortest`` too, of those that a larger
    ``block`` would make longer, infinite without any.
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
    """The cost of a request: its studies, its missing embeddings, and all other jobs.

    ``left_out`` has the settings that the request leaves out, as pairs of a study and a data set.
    """

    studies: list[StudyForecast]
    embeddings: Mapping[str, Hours]
    views: int
    left_out: list[tuple[str, str]]

    @property
    def hours(self) -> Hours:
        """The total."""
        starts = sum(study.starts for study in self.studies) + self.views * STARTUP / 3600
        parts = [*(study.hours for study in self.studies), *self.embeddings.values()]
        return sum(parts, Hours(starts, starts, starts))


def forecast(
    request: Request, workdir: str | Path = ".", machine: Machine | None = None
) -> Forecast:
    """Forecast the cost of a request.

    Replications and embeddings that the evidence holds cost nothing, nor do embeddings that exist
    below ``workdir`` or that only finished replications need. Without a machine it is that of the
    known costs, and the range counts only how far these are off.
    """
    scales: list[Scale | None] = [None] * 3
    if machine:
        scales = [machine.shortest, machine.typical, machine.longest]
    lacking = {name: _lacking(request, study) for name, study in request.studies.items()}
    studies = [
        _forecast_study(request, study, lacking[name], scales)
        for name, study in request.studies.items()
    ]
    costs = [study.costs for study in request.studies.values()]  # the same ones
    needed = {
        (setting.dataset, setting.values["embedding"])
        for own in lacking.values()
        for setting, *_ in own
        if setting.dataset
    }
    missing = {
        f"{dataset}, {embedding}": _hours(
            *(costs[0].seconds(EMBEDDINGS, dataset, "", embedding, scale) for scale in scales)
        )
        for dataset, embedding in sorted(needed)
        if not Path(workdir, "data/embedded", dataset, f"{embedding}.npz").is_file()
        and not request.coverage.kept_embedding(dataset, embedding)
    }
    left_out = [
        (name, title) for name in request.studies for title in request.unavailable(name, {})
    ]
    return Forecast(studies, missing, len(request.items) + 2 * len(missing), left_out)


def _hours(low: float, typical: float, high: float) -> Hours:
    """Return a range from the seconds at the shortest, the typical and the longest scale."""
    return Hours(low / 3600 / _OFF, typical / 3600, high / 3600 * _OFF)


def _lacking(request: Request, study: Study) -> _Lacking:
    """Return the blocks with replications that the evidence lacks."""
    return [
        (setting, block, own)
        for setting in study.settings.values()
        for block, own in request.coverage.lacking(study, setting).items()
    ]


def _forecast_study(
    request: Request, study: Study, missing: _Lacking, scales: list[Scale | None]
) -> StudyForecast:
    by_scale = [
        [seconds_lacking(study, setting, own, scale) for setting, _, own in missing]
        for scale in scales
    ]
    cut = [  # by the size of a block, not by the number of replications
        seconds
        for (_, block, _), seconds in zip(missing, by_scale[1], strict=True)
        if len(replications_of(block.name)) == study.block < study.replications
    ]
    fits = sum(len(block.methods) * len(replications_of(block.name)) for _, block, _ in missing)
    jobs = len(missing) + len(request.parts_in(study.name))
    return StudyForecast(
        study=study.name,
        jobs=jobs,
        hours=_hours(*map(sum, by_scale)),
        starts=jobs * STARTUP / 3600,
        memory=study.costs.memory(study.name) or _MEMORY,
        disk=fits * _DISK / 1e6,
        shortest=min(cut, default=inf),
        longest=max(by_scale[1], default=0.0),
        block=study.block,
    )


def seconds_lacking(
    study: Study, setting: Setting, lacking: Mapping[str, set[int]], scale: Scale | None = None
) -> float:
    """Return the seconds of the replications of each method that the evidence lacks."""
    numbers = {method: len(missing) for method, missing in lacking.items()}
    numbers[SHARED] = len(set().union(*lacking.values()))  # once for all methods
    return sum(n * study.seconds(name, setting, scale) for name, n in numbers.items())


def forecast_lines(whole: Forecast) -> Iterator[str]:
    """Yield the forecast as text: one line per study, the total, and advice on block sizes."""
    for study in whole.studies:
        yield (
            f"{study.study}: {study.hours}, and {core_hours(study.starts)} to start "
            f"{number_of(study.jobs, 'job')} of up to {study.memory:.0f} MB, "
            f"{_megabytes(study.disk)} on disk"
        )
        yield from _advice(study)
    for name, hours in whole.embeddings.items():
        if hours.typical:
            yield f"embedding {name}: {hours}"
    for name, data in whole.left_out:
        yield f"not counted: {name} on {data}, whose embedding is missing"
    disk = sum(study.disk for study in whole.studies)
    jobs = sum(study.jobs for study in whole.studies) + whole.views
    yield f"Together: {whole.hours} in {number_of(jobs, 'job')}, {_megabytes(disk)} on disk"


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
    """Return the CPU seconds of all replications collected in the folder ``results`` of a run.

    The columns are ``study, dataset, variant, method, seconds, memory``, with a row for each
    replication of a planned method, and one for its shared work, with the method ``"shared"``. The
    first replication of a process, which loads compiled code, counts only where there is no other.
    """
    folder = results / request.options["preset"] / "collected"
    paths = [(study, folder / study / part / "timings.parquet") for study, part in request.parts]
    tables = [(request.studies[study], read_table(p)) for study, p in paths if p.is_file()]
    place = ["study", "variant", "setting"]
    return _costs_in(
        (timings.merge(_places(study), on=place) for study, timings in tables if len(timings)),
        f"{folder} holds no finished results (<study>/<part>/timings.parquet): expected the "
        "folder `results` of a run, and its preset by --config.",
    )


def read_kept(request: Request) -> pd.DataFrame:
    """Return, as :func:`read_actual`, the evidence's replications that such a processor has run."""
    return _costs_in(
        (_kept(request, study) for study in request.studies.values()),
        f"The evidence holds no replications of this preset that a processor {processor()!r} "
        "has run. Give the folder `results` of a run: python -m fedmix costs results.",
    )


def _kept(request: Request, study: Study) -> pd.DataFrame:
    """Return the timings of a study's evidence under the names of collected ones."""
    rows = request.coverage.evidence.rows(study.name).drop_duplicates(FIT)
    made = [text for text in rows["made"].unique() if json.loads(text)["processor"] == processor()]
    rows = rows[rows["made"].isin(made) & rows["method"].isin(study.methods)]
    return rows.rename(columns={"setting": "folder"}).merge(_places(study), on="folder")


def _places(study: Study) -> pd.DataFrame:
    """Return the planned settings, by which others are left out of a table of timings."""
    import pandas as pd

    rows = [(study.name, s.folder, s.variant, s.name, s.dataset) for s in study.settings.values()]
    return pd.DataFrame(rows, columns=["study", "folder", "variant", "setting", "dataset"])


def _costs_in(tables: Iterable[pd.DataFrame], missing: str) -> pd.DataFrame:
    """Return the costs in timings; ``missing`` is the error if there are none."""
    timings = stacked(tables)
    if timings.empty:
        raise DataError(missing)
    place = ["study", "dataset", "variant", "setting"]
    fits = steady(timings)[[*place, "method", "cpu_seconds"]]
    fits = fits.rename(columns={"cpu_seconds": "seconds"})
    shared = timings.groupby([*place, "replication"])["shared_seconds"].max().rename("seconds")
    rows = stacked([fits, shared.reset_index().assign(method=SHARED)])
    memory = timings.groupby(place)["memory"].max().rename("memory").reset_index()
    return rows.merge(memory, on=place)[[*PLACE, "seconds", "memory"]]


def against_lines(request: Request, actual: pd.DataFrame, scale: Scale) -> Iterator[str]:
    """Yield a Markdown table of forecast and actual core-hours by study.

    ``actual`` is from :func:`read_actual`; only its replications are part of the forecast.
    """
    yield "| study | replications of methods | forecast, core-hours | actual | actual / forecast |"
    yield "|---|---:|---:|---:|---:|"
    lines: list[tuple[Any, ...]] = []
    for study, rows in actual.groupby("study", sort=False):
        costs = request.studies[study].costs
        expected = sum(
            n * costs.seconds(study, dataset, variant, method, scale)
            for (_, dataset, variant, method), n in rows.value_counts(list(PLACE)).items()
        )
        lines.append((study, (rows["method"] != SHARED).sum(), expected, rows["seconds"].sum()))
    _, *columns = zip(*lines, strict=True)
    for name, fits, expected, taken in (*lines, ("together", *map(sum, columns))):
        ratio = f"{taken / expected:.2f}" if expected else ""
        yield f"| {name} | {fits} | {expected / 3600:.3f} | {taken / 3600:.3f} | {ratio} |"
