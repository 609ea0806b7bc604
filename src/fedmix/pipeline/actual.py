"""What finished replications have taken: beside the forecast, and as known costs for the next."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.errors import DataError
from fedmix.pipeline.costs import COLUMNS, SHARED, Cost, Costs
from fedmix.pipeline.plan import Setting, Study
from fedmix.pipeline.request import Request
from fedmix.storage import read_table

if TYPE_CHECKING:
    import pandas as pd


def read_actual(request: Request, results: Path) -> pd.DataFrame:
    """Return the CPU seconds of all collected replications.

    Parameters
    ----------
    request : Request
        Whose studies and settings to look for.
    results : path
        The folder ``results`` of a run.

    Returns
    -------
    DataFrame
        A row a replication of a method with ``study, dataset, method, seconds, memory``; what the
        methods of a replication share is a row of its own, method ``"shared"``.

    Raises
    ------
    DataError
        If nothing of the request is finished there.
    """
    import pandas as pd

    parts = [
        _of_setting(study, setting, results / study.name / setting.folder)
        for study in request.studies.values()
        for setting in study.settings.values()
        if (results / study.name / setting.folder / "timings.parquet").is_file()
    ]
    if not parts:
        raise DataError(
            f"{results} holds no finished setting of this preset (<study>/<setting>/"
            "timings.parquet): expected the folder `results` of a run, and its preset by --config."
        )
    return pd.concat(parts, ignore_index=True)


def _of_setting(study: Study, setting: Setting, folder: Path) -> pd.DataFrame:
    import pandas as pd

    timings = read_table(folder / "timings.parquet")
    fits = timings[["method", "cpu_seconds"]].rename(columns={"cpu_seconds": "seconds"})
    shared = timings.groupby("replication")["shared_seconds"].max().rename("seconds")
    rows = pd.concat([fits, shared.to_frame().assign(method=SHARED)], ignore_index=True)
    memory = max(map(_memory, folder.glob("*.benchmark.tsv")), default=0.0)
    return rows.assign(study=study.name, dataset=setting.dataset, memory=memory)


def _memory(path: Path) -> float:
    """Read a job's peak memory in MB; one too short to be sampled has none ("-", "NA")."""
    with open(path, encoding="utf-8", newline="") as stream:
        row = next(csv.DictReader(stream, delimiter="\t"))
    try:
        return float(row["max_rss"])
    except ValueError:
        return 0.0


def costs_text(actual: pd.DataFrame, unit: float, known: Costs) -> str:
    """Return the text of ``config/costs.csv``: a row a study, data set and method.

    Parameters
    ----------
    actual : DataFrame
        From :func:`read_actual`.
    unit : float
        Seconds that the benchmark takes here.
    known : Costs
        What holds of all that was not run, embeddings among it.
    """
    costs = dict(known.known)
    for key, rows in actual.groupby(["study", "dataset", "method"]):
        costs[key] = Cost(rows["seconds"].mean(), rows["memory"].max(), unit)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, cost in sorted(costs.items()):
        writer.writerow(
            [*key, f"{cost.seconds:.4g}", f"{cost.memory:.0f}", f"{cost.benchmark:.4g}"]
        )
    return table.getvalue()


def against_lines(request: Request, actual: pd.DataFrame, unit: float) -> Iterator[str]:
    """Yield forecast against actual as a Markdown table, by study.

    Parameters
    ----------
    request : Request
    actual : DataFrame
        From :func:`read_actual`: only what is there is foretold.
    unit : float
        Seconds that the benchmark takes here.
    """
    yield "| study | replications of methods | forecast, core-hours | actual | actual / forecast |"
    yield "|---|---:|---:|---:|---:|"
    total, foretold_total = 0.0, 0.0
    for study, rows in actual.groupby("study", sort=False):
        costs = request.studies[study].costs
        counts = rows.value_counts(["dataset", "method"])
        foretold = sum(
            n * costs.seconds(study, dataset, method, unit)
            for (dataset, method), n in counts.items()
        )
        fits = int((rows["method"] != SHARED).sum())
        taken = rows["seconds"].sum()
        yield _against(study, fits, foretold, taken)
        total, foretold_total = total + taken, foretold_total + foretold
    yield _against("together", int((actual["method"] != SHARED).sum()), foretold_total, total)


def _against(name: str, fits: int, foretold: float, taken: float) -> str:
    ratio = f"{taken / foretold:.2f}" if foretold else ""
    return f"| {name} | {fits} | {foretold / 3600:.3f} | {taken / 3600:.3f} | {ratio} |"
