"""Runs of protocols on the tables of a search: those that were drawn, or that an optimiser tries.

The optimiser is Optuna's tree-structured Parzen estimator (Bergstra et al. 2011; multivariate:
Falkner et al. 2018), which takes categories and ranges together. A trial runs cell by cell, the
first row first, and ends early if it is in the worse half (successive halving: Li et al. 2020). The
best few then compete on further replications, because the least of many objectives is partly luck.
A search is the same in every run from the same seed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.cells.protocols.choices import Choice
from fedmix.cells.protocols.score import FloatArray, distances, layout_of, leads
from fedmix.cells.protocols.space import Claim, Space

if TYPE_CHECKING:
    import optuna
    import pandas as pd

#: A search starts anew so many times, because a sampler narrows on one region early.
STARTS = 3
#: The share of a start's trials that is drawn evenly before its sampler learns from them.
EVENLY = 0.2
#: Replications of the first row after which a trial ends if it is in the worse half.
FIRST = 2
#: How many of the best trials compete.
FEW = 12


class Runner:
    """Runs protocols on some tables, and keeps the work that they share.

    Parameters
    ----------
    space : Space
    metrics : mapping of str to mapping
        Table -> the metric that it shows for each method.
    files : iterable of path-like
        The data sets that the tables need, as ``<dataset>/<embedding>.npz``; none for simulations.
    """

    def __init__(
        self,
        space: Space,
        metrics: Mapping[str, Mapping[str, str]],
        files: Iterable[str | os.PathLike] = (),
    ) -> None:
        from fedmix.data.dataset import load_dataset
        from fedmix.protocols import Bench

        data = {(Path(f).parent.name, Path(f).stem): load_dataset(f) for f in files}
        self.space = space
        self.benches = {
            table: Bench(
                space.experiment, space.study, space.row, space.tables[table].setting, own, data
            )
            for table, own in metrics.items()
        }

    def run(
        self, protocols: Iterable[Mapping[str, str]], cells: Mapping[str, list[tuple[Any, int]]]
    ) -> pd.DataFrame:
        """Run protocols on some cells (row, replication) of some tables.

        Returns
        -------
        DataFrame
            That of :meth:`fedmix.protocols.Bench.run`, with the ``table``.
        """
        import pandas as pd

        protocols, parts = list(protocols), []
        for table, own_cells in cells.items():
            named = [self.space.protocol(table, protocol) for protocol in protocols]
            own = self.benches[table].run(named, own_cells)
            own.insert(0, "table", table)
            parts.append(own)
        return pd.concat(parts, ignore_index=True)


def optimize(
    space: Space,
    runner: Runner,
    printed: Mapping[str, pd.DataFrame],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Search for the protocol that gives the runner's tables, the same for all of them.

    Parameters
    ----------
    space : Space
    runner : Runner
    printed : mapping of str to DataFrame
        The tables' published values, see :func:`fedmix.cells.protocols.score.printed_cells`.
    seed : int
        The seed, which also names the protocols.

    Returns
    -------
    trials : DataFrame
        ``protocol``, its choices, ``seed`` and ``trial``; the ``objective``; whether the trial is
        ``complete``; and the ``confirmed`` objective of the best few on further replications,
        missing for the others.
    runs : DataFrame
        The runs of all trials.
    """
    import optuna
    import pandas as pd

    n = space.search.trials
    starts = {start * n // STARTS for start in range(STARTS)}
    trials, runs = [], []
    for number in range(n):
        if number in starts:
            study = _new_study(ceil(EVENLY * n / STARTS), FIRST * len(runner.benches), seed, number)
        trial = study.ask()
        protocol = {"protocol": f"s{seed}.{number}", **_choose(trial, space, runner.benches)}
        own, value, complete = _attempt(trial, protocol, space, runner, printed)
        if complete:
            study.tell(trial, value)
        else:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        runs.append(own)
        found = {"seed": seed, "trial": number, "objective": value, "complete": complete}
        trials.append({**protocol, **found})
    frame = pd.DataFrame(trials)
    best = frame[frame["complete"]].sort_values("objective", kind="stable")
    best = best.drop_duplicates(list(space.choices)).head(FEW)
    further = runner.run(
        best.to_dict("records"), {table: space.confirmed_cells(table) for table in runner.benches}
    )
    confirmed = {
        protocol: objective(space, own, printed) for protocol, own in further.groupby("protocol")
    }
    frame["confirmed"] = frame["protocol"].map(confirmed)
    return frame, pd.concat([*runs, further], ignore_index=True)


def _new_study(startup: int, first: int, seed: int, number: int) -> optuna.Study:
    """Return an empty study, with a sampler of its own for each first trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            multivariate=True, n_startup_trials=startup, seed=10_000 * seed + number
        )
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=2)
    return optuna.create_study(sampler=sampler, pruner=pruner)


def _attempt(
    trial: optuna.Trial,
    protocol: Mapping[str, str],
    space: Space,
    runner: Runner,
    printed: Mapping[str, pd.DataFrame],
) -> tuple[pd.DataFrame, float, bool]:
    """Run a protocol cell by cell. Return its runs, their objective, and whether it ran all."""
    import pandas as pd

    cells = [
        (position, table, cell)
        for table in runner.benches
        for position, cell in enumerate(space.searched_cells(table))
    ]
    cells.sort(key=lambda place: place[0])  # the same row of all tables, one after the other
    parts: list[pd.DataFrame] = []
    for _, table, cell in cells:
        parts.append(runner.run([protocol], {table: [cell]}))
        value = objective(space, pd.concat(parts), printed)
        trial.report(value, len(parts))
        if len(parts) < len(cells) and trial.should_prune():
            break
    return pd.concat(parts), value, len(parts) == len(cells)


def objective(space: Space, runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]) -> float:
    """Return a protocol's distance from the tables plus the weighted miss of their contrasts.

    Both are root mean squares in published standard deviations. The result is the root mean square
    over tables; infinite if a fit diverged.
    """
    parts = [
        _objective_of_table(own, printed[str(table)], space.claim, space.search.weight)
        for table, own in runs.groupby("table", sort=False)
    ]
    return float(np.sqrt(np.mean(np.square(parts))))


def contrasts(means: FloatArray, methods: list[str], claim: Claim) -> FloatArray:
    """Return what a table says about its method, from means of shape (rows, methods).

    The method's lead over the best other one in each row, its lead over the baseline in each row,
    and its change from the first row to the last.
    """
    own = means[:, methods.index(claim.method)]
    parts = [leads(means, methods, claim), own[-1:] - own[:1]]
    if claim.baseline:
        parts.append(own - means[:, methods.index(claim.baseline)])
    return np.concatenate(parts)


def _objective_of_table(
    runs: pd.DataFrame, printed: pd.DataFrame, claim: Claim, weight: float
) -> float:
    cell = list(printed.columns[:2])
    means = runs.groupby(cell, sort=False)["value"].agg(lambda values: values.mean(skipna=False))
    values = printed.set_index(cell).loc[means.index]
    centre, sd = values["mean"].to_numpy(), values["sd"].to_numpy()
    if means.isna().any():
        return float("inf")
    methods, shape = layout_of(means.index)
    ours, theirs = means.to_numpy().reshape(shape), centre.reshape(shape)
    unit = sd.reshape(shape)[:, methods.index(claim.method)].mean()
    missed = (contrasts(ours, methods, claim) - contrasts(theirs, methods, claim)) / unit
    distance = float(distances(means.to_numpy(), centre, sd))
    return distance + weight * float(np.sqrt(np.square(missed).mean()))


def _choose(trial: optuna.Trial, space: Space, tables: Iterable[str]) -> dict[str, str]:
    """Return what a trial chooses; nothing where no table depends on the choice."""
    tables = list(tables)
    return {
        name: _suggest(trial, choice) if any(map(choice.concerns, tables)) else ""
        for name, choice in space.choices.items()
    }


def _suggest(trial: optuna.Trial, choice: Choice) -> str:
    """Return what a trial chooses. A range also stands for the single values beside it."""
    value = choice.range
    if value is None:
        names: list[Any] = [value.name for value in choice.values]
        return str(trial.suggest_categorical(choice.name, names))
    low, high = value.between or (0.0, 0.0)
    number = trial.suggest_float(choice.name, low, high, log=value.log)
    return f"{number:.3g} {value.name}"
