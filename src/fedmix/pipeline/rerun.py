"""Run single replications again, which Snakemake cannot do, because its jobs run whole blocks.

One runs again to show its errors, a sample to adopt the evidence of other code. A changed file
changes the key of every replication that depends on it, most often without a change of any number.
A seeded sample is run again. If all numbers are equal, the evidence gets the new keys, and a record
of the check; otherwise it stays stale. Evidence that other versions of libraries made is checked in
the same way.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from fedmix.errors import ConfigurationError
from fedmix.experiments.base import Method, Outcome
from fedmix.experiments.runner import (
    Scenario,
    problem_of,
    read_scenario,
    run_block,
    run_replication,
)
from fedmix.pipeline.coverage import methods_in, scenario_of
from fedmix.pipeline.evidence import FIT, ROUNDED, SAME, unverified, write_evidence
from fedmix.pipeline.plan import Setting, Study
from fedmix.pipeline.provenance import asks_the_same
from fedmix.pipeline.request import Request, named
from fedmix.revision import commit, versions
from fedmix.streams import Streams

#: Replications of a method that are run again in the cheapest and in the dearest setting.
SAMPLE = 3
#: A setting's folder, a method and the number of a replication.
Cell = tuple[str, str, int]
#: A variant and a method -> the settings that it ran in, by their folders.
_Families = dict[tuple[str, str], dict[str, Setting]]
_EXACT = ["round", "metric", "status", "rounds", "converged", "floats_up", "floats_down"]


def prepare_rerun(
    request: Request,
    study: str,
    setting: str,
    method: str,
    replication: int,
    workdir: str | Path = ".",
) -> Callable[[], Outcome]:
    """Prepare one method and one replication, to run them in the foreground.

    Study, setting, which is the folder's name under ``results/<study>``, and replication together
    are the seed. The returned function gives what the pipeline stores, without catching errors.
    Only the embedded data set below ``workdir`` is read, and nothing is written. A debugger stops
    where the method fails: ``python -m pdb -m fedmix rerun ...``.
    """
    planned_study = named("study", study, request.studies)
    planned_setting = named("setting", setting, planned_study.settings)
    named("method", method, dict.fromkeys(planned_study.methods_of(planned_setting)))
    if replication < 0:
        raise ConfigurationError(f"There is no replication {replication}: the first is 0.")
    path = planned_setting.embedded
    if path and not Path(workdir, path).is_file():
        raise ConfigurationError(
            f"{Path(workdir, path)} does not exist: `snakemake --cores 1 {path}` makes it."
        )
    scenario = _scenario(planned_study, planned_setting, Path(workdir))
    [chosen] = _methods(planned_study, planned_setting, [method])

    def run() -> Outcome:
        problem = problem_of(scenario, replication)
        return run_replication(scenario, chosen, replication, problem)

    return run


def _scenario(study: Study, setting: Setting, workdir: Path) -> Scenario:
    data = str(workdir / setting.embedded) if setting.embedded else None
    return read_scenario(scenario_of(study, setting), data)


def _methods(study: Study, setting: Setting, names: Sequence[str]) -> list[Method]:
    return [Method(**method) for method in methods_in(study, setting, names)]


def adopt(request: Request, workdir: Path) -> Iterator[str]:
    """Check the evidence whose keys have changed, and give it the new ones where it holds.

    The evidence of real data needs the embedded data below ``workdir``, where Snakemake works. It
    says of every method of every variant with changed keys whether it is adopted, or stale and why,
    and of every study which embedded data other code made equal.
    """
    lines = _adopted(request, workdir)
    first = next(lines, "Nothing to check: no kept replication of the preset has another key.")
    yield from (first, *lines)


def _adopted(request: Request, workdir: Path) -> Iterator[str]:
    for study in request.studies.values():
        rows = request.coverage.evidence.rows(study.name)
        yield from _check_data(request, study, rows)
        same, other = _changed(request, study, unverified(rows))
        missing = {
            path
            for setting, _ in same
            if (path := setting.embedded) and not (workdir / path).is_file()
        }
        for path in sorted(missing):
            yield f"{study.name}: not checked on {path}, which `snakemake --cores 2 {path}` makes"
        for (variant, method), settings in _families(other, set()).items():
            name = f"{study.name}, {variant}: {method}"
            yield f"{name} is stale: parameters have changed, in settings: {len(settings)}"
        if families := _families(same, missing):
            yield from _adopt_study(request, study, workdir, rows, families)


def _check_data(request: Request, study: Study, rows: pd.DataFrame) -> Iterator[str]:
    """Record that other code made the same embedded data, so that no file of them is needed."""
    evidence = request.coverage.evidence
    index = evidence.index(study.name)
    again = {
        path: made
        for path, made in request.coverage.data_used(study).items()
        if (held := index.data.get(path)) and held["sha256"] == made["sha256"] and held != made
    }
    if again:
        data = {**index.data, **again}
        write_evidence(evidence.folder, study.name, rows, data, index.adoptions)
        yield f"{study.name}: embedded data are equal: {', '.join(sorted(again))}"


def run_again(
    study: Study,
    workdir: Path,
    rows: pd.DataFrame,
    cells: Sequence[Cell],
    limit: float | None = None,
) -> dict[Cell, float]:
    """Run replications again, and compare them with ``rows``, the study's evidence.

    Methods share what they share in a run, and ``limit`` is in seconds that a replication may take.
    The embedded data are below ``workdir``. Returned is the largest relative difference of each
    replication's values; infinite if statuses, rounds or floats differ, or if one of two values is
    missing.
    """
    wanted: dict[tuple[str, int], list[str]] = defaultdict(list)
    for folder, method, replication in cells:
        wanted[folder, replication].append(method)
    kept = rows.groupby(FIT)
    found: dict[Cell, float] = {}
    for (folder, replication), names in wanted.items():
        setting = study.settings[folder]
        scenario = _scenario(study, setting, workdir)
        methods = _methods(study, setting, names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were logged when the replication was made
            fits = run_block(scenario, methods, [replication], limit)
        for name in names:
            cell = (folder, name, replication)
            found[cell] = _difference(kept.get_group(cell), fits[name, replication].rows)
    return found


def _changed(
    request: Request, study: Study, unverified: Collection[tuple[str, str]]
) -> tuple[list[tuple[Setting, str]], list[tuple[Setting, str]]]:
    """Return the settings and methods with evidence of other code, data or versions.

    The second list has those of other parameters.
    """
    held = request.coverage.evidence.index(study.name).fits
    same: list[tuple[Setting, str]] = []
    other: list[tuple[Setting, str]] = []
    for folder, setting in study.settings.items():
        kept = held.get(folder, {})
        keys = request.coverage.keys(study, setting) if kept else {}
        for method in study.methods_of(setting):
            if method not in kept:
                continue
            old, now = kept[method].key, keys.get(method, "")
            if old != now or (folder, method) in unverified:
                (same if asks_the_same(old, now or old) else other).append((setting, method))
    return same, other


def _families(changed: list[tuple[Setting, str]], missing: set[str]) -> _Families:
    """Return the changed settings with embedded data, by variant and method."""
    found: _Families = defaultdict(dict)
    for setting, method in changed:
        if setting.embedded not in missing:
            found[setting.variant, method][setting.folder] = setting
    return found


def _adopt_study(
    request: Request, study: Study, workdir: Path, rows: pd.DataFrame, families: _Families
) -> Iterator[str]:
    evidence = request.coverage.evidence
    drawn = {family: _sample(study, *family, own, rows) for family, own in families.items()}
    cells = [cell for own in drawn.values() for cell in own]
    differences = run_again(study, workdir, rows, cells, request.coverage.limit)
    index = evidence.index(study.name)
    adopted: dict[tuple[str, str], Mapping[str, Any]] = {}
    for (variant, method), cells in drawn.items():
        worst = max(differences[cell] for cell in cells)
        name = f"{study.name}, {variant}: {method}"
        if worst > SAME:
            by = f"by {worst:.2g}" if isfinite(worst) else "in its values, status, rounds or floats"
            yield f"{name} is stale: of {len(cells)} run again, one differs {by}"
            continue
        settings = families[variant, method]
        own = (rows["method"] == method) & rows["setting"].isin(settings)
        keys = {f: request.coverage.keys(study, s)[method] for f, s in settings.items()}
        rows.loc[own, "key"] = rows.loc[own, "setting"].map(keys)
        count = len(rows[own].drop_duplicates(FIT))
        rows.loc[own, "made"] = rows.loc[own, "made"].map(_checked)
        adopted[variant, method] = {
            "date": datetime.now(UTC).date().isoformat(),
            "commit": commit(),
            "variant": variant,
            "method": method,
            "replications": count,
            "run_again": len(cells),
            "largest_difference": worst,
        }
        yield f"{name} is adopted: {len(cells)} of {count} replications run again, equal"
    if adopted:
        data = {**index.data, **request.coverage.data_used(study)}
        earlier = {(record["variant"], record["method"]): record for record in index.adoptions}
        # The last record of a pair alone, so that the file does not grow.
        records = (earlier | adopted).values()
        write_evidence(evidence.folder, study.name, rows, data, records)


@cache
def _checked(made: str) -> str:
    """Add the date, commit and versions of a check to what says by what a result was made."""
    today = datetime.now(UTC).date().isoformat()
    check = {"checked": f"{today} at commit {commit()}", "checked_with": versions()}
    return json.dumps({**json.loads(made), **check})


def _sample(
    study: Study, variant: str, method: str, settings: Collection[str], rows: pd.DataFrame
) -> list[Cell]:
    """Draw replications of a method from the cheapest and the dearest of some settings."""
    own = rows[rows["method"] == method].drop_duplicates(FIT)
    own = own[own["setting"].isin(settings)]
    cost = own.groupby("setting")["cpu_seconds"].mean().sort_values(kind="stable")
    rng = Streams(study.name, variant, 0).generator(f"adoption {method}")
    cells = []
    for setting in dict.fromkeys([cost.index[0], cost.index[-1]]):
        held = sorted(own.loc[own["setting"] == setting, "replication"])
        drawn = rng.choice(held, min(SAMPLE, len(held)), replace=False)
        cells += [(setting, method, int(r)) for r in sorted(drawn)]
    return cells


def _difference(own: pd.DataFrame, again: list[dict[str, Any]]) -> float:
    own, new = own.reset_index(drop=True), pd.DataFrame(again).astype({"round": "Int64"})
    if len(own) != len(new) or not own[_EXACT].equals(new[_EXACT]):
        return inf
    kept, found = own["value"], new["value"]
    same = (kept == found) | (kept.isna() & found.isna())
    gap = ((kept - found).abs() / found.abs().clip(lower=1e-300)).fillna(inf)
    rounded = own["round"].notna() & (gap <= ROUNDED)
    return float(gap.where(~same & ~rounded, 0.0).max())
