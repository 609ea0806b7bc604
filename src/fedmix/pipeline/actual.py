"""What finished replications cost: in a run, or in the evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.cells.measured import steady
from fedmix.errors import DataError
from fedmix.pipeline.costs import PLACE, SHARED, Scale
from fedmix.pipeline.evidence import FIT
from fedmix.pipeline.plan import Study
from fedmix.pipeline.request import Request
from fedmix.revision import processor
from fedmix.storage import read_table

if TYPE_CHECKING:
    import pandas as pd


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
        One row per replication of a method, with ``study, dataset, variant, method, seconds,
        memory``. The first replication of a process, which loads compiled code, counts only where
        there is no other. The shared work of a replication has its own row, with the method
        ``"shared"``.

    Raises
    ------
    DataError
        If no setting of the request is finished there.
    """
    folder = results / request.options["preset"] / "collected"
    paths = [folder / study / part / "timings.parquet" for study, part in request.parts]
    timings = [read_table(path) for path in paths if path.is_file()]
    if not timings:
        raise DataError(
            f"{folder} holds no finished results (<study>/<part>/timings.parquet): expected the "
            "folder `results` of a run, and its preset by --config."
        )
    return _stacked([_costs_in(request.studies[t["study"].iloc[0]], t) for t in timings])


def read_kept(request: Request) -> pd.DataFrame:
    """Return the CPU seconds of the evidence's replications that this kind of processor has run.

    Parameters and columns are those of :func:`read_actual`. Replications of methods or settings
    that are no longer planned are left out.

    Raises
    ------
    DataError
        If the evidence holds none.
    """
    found = [_costs_in(study, _kept(request, study)) for study in request.studies.values()]
    if not any(map(len, found)):
        raise DataError(
            f"The evidence holds no replications of this preset that a processor {processor()!r} "
            "has run. Give the folder `results` of a run: python -m fedmix costs results."
        )
    return _stacked(found)


def _kept(request: Request, study: Study) -> pd.DataFrame:
    """Return the timings of a study's evidence under the names of collected ones."""
    rows = request.coverage.evidence.rows(study.name).drop_duplicates(FIT)
    here = {text: json.loads(text)["processor"] == processor() for text in rows["made"].unique()}
    planned = [
        method in study.methods and setting in study.settings and here[made]
        for setting, method, made in zip(rows["setting"], rows["method"], rows["made"], strict=True)
    ]
    rows = rows.loc[planned]
    settings = [study.settings[folder] for folder in rows["setting"]]
    return rows.assign(
        study=study.name,
        variant=[setting.variant for setting in settings],
        setting=[setting.name for setting in settings],
    )


def _costs_in(study: Study, timings: pd.DataFrame) -> pd.DataFrame:
    datasets = {(s.variant, s.name): s.dataset for s in study.settings.values()}
    places = zip(timings["variant"], timings["setting"], strict=True)
    timings = timings.assign(dataset=[datasets[place] for place in places])
    place = ["study", "dataset", "variant", "setting"]
    fits = steady(timings)[[*place, "method", "cpu_seconds"]]
    fits = fits.rename(columns={"cpu_seconds": "seconds"})
    shared = timings.groupby([*place, "replication"])["shared_seconds"].max().rename("seconds")
    rows = _stacked([fits, shared.reset_index().assign(method=SHARED)])
    memory = timings.groupby(place)["memory"].max().rename("memory").reset_index()
    return rows.merge(memory, on=place)[[*PLACE, "seconds", "memory"]]


def _stacked(parts: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def against_lines(request: Request, actual: pd.DataFrame, scale: Scale) -> Iterator[str]:
    """Yield a Markdown table of forecast and actual core-hours by study.

    Parameters
    ----------
    request : Request
    actual : DataFrame
        From :func:`read_actual`. Only its replications are part of the forecast.
    scale : callable
        The machine of a known cost -> how many times as long this machine takes.
    """
    yield "| study | replications of methods | forecast, core-hours | actual | actual / forecast |"
    yield "|---|---:|---:|---:|---:|"
    total, expected_total = 0.0, 0.0
    for study, rows in actual.groupby("study", sort=False):
        costs = request.studies[study].costs
        counts = rows.value_counts(list(PLACE))
        expected = sum(
            n * costs.seconds(study, dataset, variant, method, scale)
            for (_, dataset, variant, method), n in counts.items()
        )
        fits = int((rows["method"] != SHARED).sum())
        taken = rows["seconds"].sum()
        yield _against(study, fits, expected, taken)
        total, expected_total = total + taken, expected_total + expected
    yield _against("together", int((actual["method"] != SHARED).sum()), expected_total, total)


def _against(name: str, fits: int, expected: float, taken: float) -> str:
    ratio = f"{taken / expected:.2f}" if expected else ""
    return f"| {name} | {fits} | {expected / 3600:.3f} | {taken / 3600:.3f} | {ratio} |"
