"""Collect the replications of a setting from its blocks and from the evidence.

Every file is checked: nothing is missing, and nothing was made by other code or from other data.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedmix.cells.measured import Tables
from fedmix.errors import DataError
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, identity_of
from fedmix.experiments.settings import declared
from fedmix.pipeline.blocks import COLUMNS, KEYS, TIMED
from fedmix.pipeline.evidence import RESULTS, Evidence, among, checked
from fedmix.pipeline.plan import replications_of, setting_folder, timings_of
from fedmix.pipeline.provenance import keys_of
from fedmix.storage import read_table, sha256_of, stacked

logger = logging.getLogger(__name__)

Fits = dict[tuple[str, str, str], pd.DataFrame]  # setting's folder, method and key -> its rows


def collect_settings(
    settings: Mapping[str, Mapping[str, Any]], evidence: Path | None, partial: bool
) -> list[Tables]:
    """Return the results and timings of settings, each by method and replication.

    A setting, by its folder, has ``scenario``, ``experiment``, ``methods`` and ``sources`` as for
    :func:`fedmix.pipeline.provenance.keys_of`; ``replications`` of each method; the paths of
    ``blocks``; ``data``, the path of the embedded data set, or its sha256 as ``data_hash``; and
    ``held``, what the evidence holds of each method. Of the evidence, rows with the planned keys
    are taken. Replications may be missing from a ``partial`` collection.
    """
    held = [folder for folder, setting in settings.items() if any(setting["held"].values())]
    fits: Fits = {}
    if held:
        scenario = settings[held[0]]["scenario"]
        study, experiment = scenario["study"], scenario["experiment"]
        found = Evidence(evidence).rows(study, held, as_categories=True)
        found.attrs = {}  # pandas would copy them with every selection
        rows, problems = checked(found, declared(experiment)[1], f"{evidence}/{study}.parquet")
        for problem in problems:
            logger.warning(problem)
        fits = dict(tuple(rows.groupby(["setting", "method", "key"], sort=False, observed=True)))
    return [_collect(folder, setting, fits, partial) for folder, setting in settings.items()]


def _collect(folder: str, setting: Mapping[str, Any], evidence: Fits, partial: bool) -> Tables:
    data = sha256_of(setting["data"]) if setting["data"] else setting["data_hash"]
    made_by = setting["experiment"], data, setting["methods"], setting["sources"]
    keys = keys_of(setting["scenario"], *made_by)
    replications = setting["replications"]
    own = read_blocks(setting["blocks"], replications, keys, partial)
    scenario = Scenario(**setting["scenario"])
    methods = [Method(**method) for method in setting["methods"]]
    fits = {m.name: evidence.get((folder, m.name, keys[m.name])) for m in methods}
    kept = _from_evidence(fits, {m.name: identity_of(scenario, m) for m in methods}, replications)
    results, timings = (_joined(*both, replications) for both in zip(own, kept, strict=True))
    if not partial:
        _check_complete(results, scenario, replications)
    return results, timings


def _from_evidence(
    kept: Mapping[str, pd.DataFrame | None],
    identities: Mapping[str, Mapping[str, Any]],
    replications: Mapping[str, int],
) -> Tables:
    """Return the rows of evidence of methods, if there are any, with the columns of a block.

    The columns that identify a method come first.
    """
    held = {
        method: rows[rows["replication"] < replications[method]]
        for method, rows in kept.items()
        if rows is not None
    }
    if not held:
        return stacked([]), stacked([])
    rows = pd.concat(held.values(), ignore_index=True)
    identity = stacked([pd.DataFrame([identities[method] for method in held])])
    numbers = np.repeat(range(len(held)), [len(own) for own in held.values()])
    repeated = identity.iloc[numbers].reset_index(drop=True)
    all_columns = pd.concat([repeated, rows.drop(columns=["setting", "method", "key"])], axis=1)
    fits = all_columns.drop_duplicates(["method", "replication"], ignore_index=True)
    place = [*identity, "replication"]
    return all_columns[[*place, *RESULTS]], fits[[*place, *TIMED]]


def _joined(
    blocks: pd.DataFrame, kept: pd.DataFrame, replications: Mapping[str, int]
) -> pd.DataFrame:
    """Return rows of blocks, and those of the evidence that no block has, in order."""
    if blocks.empty:
        return kept  # evidence is sorted, and so large that sorting it again takes seconds
    if len(kept):
        kept = kept[~among(kept, blocks, ["method", "replication"])]
    rows = stacked([blocks, kept])
    rows.attrs = {}
    methods = rows["method"].map({method: i for i, method in enumerate(replications)})
    order = np.lexsort((rows["replication"], methods))  # which keeps the order of equal ones
    return rows.iloc[order].reset_index(drop=True)


def _check_complete(
    results: pd.DataFrame, scenario: Scenario, replications: Mapping[str, int]
) -> None:
    held = results.groupby("method")["replication"].unique() if len(results) else {}
    for method, n in replications.items():
        lost = set(range(n)) - set(held.get(method, ()))
        if lost:
            raise DataError(
                f"{scenario.study}, {scenario.variant}, {scenario.setting}: {method} lacks "
                f"replications {_listed(lost)} of {n}. Run Snakemake again."
            )


def count_outcomes(results: pd.DataFrame) -> dict[str, dict[str, dict[str, Any]]]:
    """Return how the replications of each method ended, from the collected rows of settings.

    By the setting's folder and the method: the number of ``replications`` by status, and
    ``error``, the message of the first replication that raised an error (empty without one).
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    if results.empty:
        return found
    method, fit = ["variant", "setting", "method"], ["replication", "status", "message"]
    fits = results[[*method, *fit]].drop_duplicates([*method, "replication"])
    counts = fits.groupby([*method, "status"], observed=True).size()
    for (variant, setting, name, status), n in counts.items():
        own = found.setdefault(setting_folder(variant, setting), {})
        own.setdefault(name, {"replications": {}, "error": ""})["replications"][status] = n
    for first in fits[fits["status"] == "error"].drop_duplicates(method).itertuples():
        found[setting_folder(first.variant, first.setting)][first.method]["error"] = first.message
    return found


def read_blocks(
    paths: Iterable[str | os.PathLike],
    replications: Mapping[str, int],
    keys: Mapping[str, str],
    partial: bool = False,
) -> Tables:
    """Read some methods from the blocks of a setting, and check that nothing is missing or stale.

    ``replications`` and ``keys`` give the number of replications and the present key of each method
    to read, in this order. A block may have more of both. In a ``partial`` collection methods may
    be missing from a block, and those with another key are left out.
    """
    tables = [_read_block(Path(path), replications, keys, partial) for path in paths]
    return stacked(t[0] for t in tables), stacked(t[1] for t in tables)


def _read_block(
    path: Path, replications: Mapping[str, int], keys: Mapping[str, str], partial: bool
) -> list[pd.DataFrame]:
    held, place = replications_of(path.stem), path.parts[-3:-1]
    wanted = {method: held for method, n in replications.items() if n > held.start}
    results = _read(path, "results", place, wanted, partial)
    stale = [m for m in wanted if results.attrs.get(KEYS, {}).get(m) != keys[m]]
    if stale and not partial:
        raise DataError(
            f"{path}: other code or other data made the results of {', '.join(stale)}, and the job "
            f"that should replace them ended without writing. See logs/run_methods/"
            f"{'/'.join(place)}/{path.stem}.log, or delete the file and run Snakemake again."
        )
    current = {method: held for method in wanted if method not in stale}
    timings = _read(timings_of(path), "timings", place, current, partial)
    results = results[results["method"].isin(current)]
    return [  # the first replications of each method
        rows[rows["replication"] < rows["method"].map(replications).astype(float)]
        for rows in (results, timings)
    ]


def _read(
    path: Path,
    kind: str,
    place: tuple[str, ...],
    expected: Mapping[str, Collection[int]],
    partial: bool,
) -> pd.DataFrame:
    """Read the expected methods from a file, and check them."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a parquet file. Move it away.")
    rows = read_table(path)
    if "method" in rows:
        rows = rows[rows["method"].isin(expected)]
    problem = next(_problems(rows, kind, place, expected, partial), None)
    if problem:
        raise DataError(
            f"{path}: {problem}. This is not the file that the pipeline wrote. Delete it and run "
            "Snakemake again to remake it."
        )
    return rows


def _problems(
    rows: pd.DataFrame,
    kind: str,
    place: tuple[str, ...],
    expected: Mapping[str, Collection[int]],
    partial: bool,
) -> Iterator[str]:
    missing = [name for name in COLUMNS[kind] if name not in rows]
    if missing:
        yield f"the columns {', '.join(missing)} are missing; it has {', '.join(rows) or 'none'}"
        return
    for name, kinds in COLUMNS[kind].items():
        if rows[name].dtype.kind not in kinds:
            yield f"column {name} is of type {rows[name].dtype}"
    found = rows[["study", "variant", "setting"]].drop_duplicates().itertuples(index=False)
    places = {f"{study}/{setting_folder(variant, name)}" for study, variant, name in found}
    strange = sorted(places - {"/".join(place)})
    if strange:
        yield f"it holds rows of {strange[0]}"
    held = {name: set(numbers) for name, numbers in rows.groupby("method")["replication"]}
    for method, numbers in held.items():
        others = numbers - set(expected[method])
        if others:
            yield f"it holds {method}, replications {_listed(others)}, which were not requested"
    for method, wanted in expected.items():
        lost = set(wanted) - held.get(method, set())
        if lost and not partial:
            yield f"{method} lacks replications {_listed(lost)} of {len(wanted)}"
    key = ["method", "replication", *(["metric", "round"] if kind == "results" else [])]
    if rows.duplicated(key).any():
        first = rows[rows.duplicated(key)].iloc[0]
        yield f"it holds {first['method']}, replication {first['replication']} twice"


def _listed(numbers: Collection[int]) -> str:
    """Return numbers as text, only the first few of many."""
    found = sorted(numbers)
    return ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
