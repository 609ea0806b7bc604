"""What a request will take: core-hours, memory and disk, and which blocks suit it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from fedmix.pipeline.plan import Setting, Study, replications_of
from fedmix.pipeline.request import Request

# Seconds a replication of one method takes at the published sizes on one core, by experiment:
# means over methods, for a request of which nothing has been measured yet.
FIRST_ESTIMATES = {
    "mixture_simulation": 0.1,
    "real_clustering": 2.0,
    "mixed_regression": 0.5,
    "federated_clustering": 0.5,
    "cluster_simulation": 0.5,
    "matrix": 1.0,
}
_OTHER_EXPERIMENT = 1.0
_FIRST_MEMORY = 400.0  # MB: Python, NumPy, Numba and the largest data set
_FIRST_DISK = 20e3  # bytes a replication of one method leaves: its rows, twice, and its clients
STARTUP = 3.0  # seconds until a job does its own work: imports, compiled code from the cache
_LONG_ENOUGH = 600.0  # seconds after which starting a job no longer matters


@dataclass(frozen=True)
class Benchmark:
    """What one finished block took: seconds on one core, peak memory in MB, replications."""

    seconds: float
    memory: float
    replications: int

    @property
    def per_replication(self) -> float:
        """Seconds of a replication without the start of the job."""
        return max(self.seconds - STARTUP, 0.0) / self.replications


@dataclass(frozen=True)
class Costs:
    """Measured blocks by (study, setting, method), and estimates for all others.

    Parameters
    ----------
    measured : mapping of tuple to list of Benchmark
        From the ``benchmark.tsv`` files of finished blocks.
    """

    measured: Mapping[tuple[str, str, str], list[Benchmark]]

    def used(self, study: Study, setting: Setting, method: str) -> float:
        """Return the core-hours that finished blocks took."""
        blocks = self.measured.get((study.name, setting.folder, method), [])
        return sum(b.seconds for b in blocks) / 3600

    def hours(self, study: Study, setting: Setting, method: str, block: str) -> float:
        """Return the core-hours that a block will take."""
        replications = len(replications_of(block))
        return (STARTUP + replications * self.per_replication(study, setting, method)) / 3600

    def per_replication(self, study: Study, setting: Setting, method: str) -> float:
        """Return seconds a replication: of this cell, else of its nearest relatives, else a guess.

        The nearest are the same method in other settings of the study, then the whole study.
        """
        near = (
            self._of(study.name, setting.folder, method)
            or self._of(study.name, None, method)
            or self._of(study.name, None, None)
        )
        if near:
            return fmean(b.per_replication for b in near)
        return FIRST_ESTIMATES.get(study.experiment, _OTHER_EXPERIMENT)

    def memory(self, study: Study) -> float:
        """Return the largest memory of a job of a study, in MB."""
        return max((b.memory for b in self._of(study.name, None, None)), default=_FIRST_MEMORY)

    def n_measured(self, study: Study) -> int:
        """Return how many blocks of a study have been measured."""
        return len(self._of(study.name, None, None))

    def n_replications(self, study: Study) -> int:
        """Return how many replications of methods of a study have been measured."""
        return sum(b.replications for b in self._of(study.name, None, None))

    def _of(self, study: str, setting: str | None, method: str | None) -> list[Benchmark]:
        return [
            benchmark
            for key, found in self.measured.items()
            for benchmark in found
            if key == (study, setting or key[1], method or key[2])
        ]


@dataclass(frozen=True)
class StudyForecast:
    """What a study takes if nothing is finished yet, with advice on its blocks.

    ``hours`` are core-hours, ``memory`` is that of the largest job in MB, ``disk`` what lies under
    ``results`` in the end, in MB.
    """

    study: str
    jobs: int
    hours: float
    memory: float
    disk: float
    n_measured: int
    replications: int
    block: int
    advised_block: int


def read_costs(request: Request, workdir: str | Path = ".") -> Costs:
    """Read the benchmarks of a request's finished blocks, of any block size.

    Parameters
    ----------
    request : Request
        Whose studies, settings and methods to look for.
    workdir : path-like, default="."
        Where Snakemake works.
    """
    measured = {}
    for study in request.studies.values():
        for setting in study.settings.values():
            for method in study.methods_of(setting):
                folder = Path(workdir, "results", study.name, setting.folder, method)
                found = [_read_benchmark(p) for p in sorted(folder.glob("*.benchmark.tsv"))]
                if found:
                    measured[study.name, setting.folder, method] = found
    return Costs(measured)


def _read_benchmark(path: Path) -> Benchmark:
    """Read Snakemake's benchmark file; a job too short to be sampled has no memory ("-", "NA")."""
    with open(path, encoding="utf-8", newline="") as stream:
        row = next(csv.DictReader(stream, delimiter="\t"))
    try:
        memory = float(row["max_rss"])
    except ValueError:
        memory = 0.0
    block = path.name.removesuffix(".benchmark.tsv")
    return Benchmark(float(row["s"]), memory, len(replications_of(block)))


def forecast(request: Request, workdir: str | Path = ".") -> list[StudyForecast]:
    """Foretell what the runs of every study take on one core of a machine like this one.

    Data, embeddings and initial values are not counted; they are a small part of any study.

    Parameters
    ----------
    request : Request
        What is asked for.
    workdir : path-like, default="."
        Where finished blocks lie whose benchmarks are better than a first estimate.
    """
    costs = read_costs(request, workdir)
    return [_forecast_study(study, costs, Path(workdir)) for study in request.studies.values()]


def _forecast_study(study: Study, costs: Costs, workdir: Path) -> StudyForecast:
    cells = [(s, m) for s in study.settings.values() for m in study.methods_of(s)]
    seconds = [costs.per_replication(study, setting, method) for setting, method in cells]
    jobs = sum(len(study.blocks_of(method, setting)) for setting, method in cells)
    replications = [study.replications_of(method, setting) for setting, method in cells]
    work = sum(n * s for n, s in zip(replications, seconds, strict=True)) + STARTUP * jobs
    return StudyForecast(
        study=study.name,
        jobs=jobs,
        hours=work / 3600,
        memory=costs.memory(study),
        disk=sum(replications) * _disk_per_replication(study, costs, workdir) / 1e6,
        n_measured=costs.n_measured(study),
        replications=study.replications,
        block=study.block,
        advised_block=advised_block(max(seconds, default=0.0), study.replications),
    )


def _disk_per_replication(study: Study, costs: Costs, workdir: Path) -> float:
    """Return the bytes that a replication of a method leaves, its share of common files included.

    Data and embeddings are not counted: they are shared by studies and presets.
    """
    measured = costs.n_replications(study)
    if not measured:
        return _FIRST_DISK
    files = Path(workdir, "results", study.name).rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file()) / measured


def advised_block(seconds: float, replications: int) -> int:
    """Return the replications a job for which starting it costs next to nothing.

    Parameters
    ----------
    seconds : float
        Seconds a replication of the slowest method.
    replications : int
        Replications of the study; more than these make no sense in one job.

    Returns
    -------
    int
        So many that the slowest job takes about ten minutes: short enough to be repeated after a
        fault, long enough that its start (3 s here, 10 s on a cluster) does not matter.
    """
    wanted = round(_LONG_ENOUGH / max(seconds, 1e-9))
    return min(max(wanted, 1), replications)


def forecast_lines(studies: list[StudyForecast]) -> Iterator[str]:
    """Yield the forecast for people: a line a study, a sum, and advice where blocks are unwise."""
    for study in studies:
        basis = f"{study.n_measured} measured blocks" if study.n_measured else "a first estimate"
        yield (
            f"{study.study}: {study.hours:.1f} core-hours in {study.jobs} jobs of up to "
            f"{study.memory:.0f} MB, {_megabytes(study.disk)} on disk, from {basis}"
        )
        ratio = study.block / study.advised_block
        if not 0.5 <= ratio <= 2:
            yield (
                f"  {study.block} replications a job are {'many' if ratio > 1 else 'few'}: "
                f"about {study.advised_block} make its slowest job last ten minutes"
            )
    hours, disk = sum(s.hours for s in studies), sum(s.disk for s in studies)
    yield f"Together: {hours:.1f} core-hours, {_megabytes(disk)} on disk"


def _megabytes(size: float) -> str:
    return f"{size:.0f} MB" if size < 1000 else f"{size / 1000:.1f} GB"
