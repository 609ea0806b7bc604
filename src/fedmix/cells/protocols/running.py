"""Runs of protocols on the tables of a search: those that were drawn, or that an optimiser tries.

The optimiser is Optuna's tree-structured Parzen estimator (Bergstra et al. 2011; multivariate:
Falkner et al. 2018), which takes categories and ranges together. It searches in two stages. The
first stage looks for the choices that other methods see as well, by the columns of these methods.
The second looks for the choices that only the claim's method sees, given the best few of the
first. A search is the same in every run from the same seed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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

#: The share of a study's trials that is drawn evenly before its sampler learns from them, in either
#: stage. It is larger in the second, where the region can be narrow and a fit costs less.
EVENLY = {1: 0.2, 2: 0.4}
#: After so many replications, three times as many, and so on, a trial ends unless it is in the best
#: third of those before it. A method alone varies more by replication than several together.
FIRST, FACTOR = {1: 1, 2: 2}, 3
#: The first stage starts anew so many times, because a sampler narrows on one region early. Each
#: start sees replications of its own, so that chance does not favour the same protocols.
STARTS = 4
#: How many of the best trials compete on further replications, because the least of many objectives
#: is partly luck.
FEW = 8


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
        self,
        protocols: Iterable[Mapping[str, str]],
        cells: Mapping[str, list[tuple[Any, int]]],
        without: str = "",
    ) -> pd.DataFrame:
        """Run protocols on some cells (row, replication) of some tables, maybe without a method.

        Returns
        -------
        DataFrame
            That of :meth:`fedmix.protocols.Bench.run`, with the ``table``.
        """
        import pandas as pd

        protocols, parts = list(protocols), []
        for table, own_cells in cells.items():
            named = [self.space.protocol(table, protocol, without) for protocol in protocols]
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
        ``stage, seed, trial``; the ``objective``, in the first stage of the other methods' columns;
        whether the trial is ``complete``; ``protocol`` and its choices; and the ``confirmed``
        objective of the best few on further replications, missing for the others.
    runs : DataFrame
        The runs of the second stage.
    """
    import pandas as pd

    search = _Search(space, runner, printed, seed)
    method, n_trials = space.claim.method, space.search.trials
    concerned = [c for c in space.choices.values() if any(map(c.concerns, runner.benches))]
    own = [c.name for c in concerned if set(space.filled_by(c)) == {method}]
    shared = [c.name for c in concerned if c.name not in own]
    n_seen = space.search.replications
    every, further = range(n_seen), range(n_seen, n_seen + space.search.confirmed)
    if not own:
        studies = [search.study(2, shared, [{}], n, every) for n in _shares(n_trials, STARTS)]
        return search.confirm(studies, list(space.choices), further)
    seen = [name for name in shared if space.sees(method, space.choices[name])]
    first = []
    for start, n in enumerate(_shares(n_trials // 2, STARTS)):
        some = [r for r in every if r % STARTS == start] or every
        study = search.study(1, shared, [{}], n, some, without=method)
        first.append(search.confirm([study], seen, every, without=method)[0])
    bases = pd.concat(start.nsmallest(1, "confirmed") for start in first)
    bases = bases.drop_duplicates(seen)[shared].to_dict("records")
    study = search.study(2, own, bases, n_trials - n_trials // 2, every)
    second, runs = search.confirm([study], list(space.choices), further)
    return pd.concat([*first, second], ignore_index=True), runs


def _shares(total: int, n: int) -> list[int]:
    """Divide a number into n whole shares, of at least one."""
    return [max(1, total // n + (i < total % n)) for i in range(n)]


@dataclass
class _Search:
    """The search from one seed, which counts its trials."""

    space: Space
    runner: Runner
    printed: Mapping[str, pd.DataFrame]
    seed: int
    tried: int = 0

    def study(
        self,
        stage: int,
        varied: list[str],
        bases: list[dict[str, str]],
        n_trials: int,
        replications: Iterable[int],
        without: str = "",
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Vary some choices, given one of several values of the others.

        Returns the trials and their runs.
        """
        import optuna
        import pandas as pd

        n_cells = sum(len(self.space.searched_rows(table)) for table in self.runner.benches)
        study = _new_study(
            startup=ceil(EVENLY[stage] * n_trials),
            first=FIRST[stage] * n_cells,
            seed=10_000 * self.seed + self.tried,
        )
        trials, runs = [], []
        for _ in range(n_trials):
            trial = study.ask()
            base = bases[trial.suggest_categorical("base", list(range(len(bases))))]
            chosen = {name: _suggest(trial, self.space.choices[name]) for name in varied}
            protocol = dict.fromkeys(self.space.choices, "") | base | chosen
            protocol = {"protocol": f"s{self.seed}.{self.tried}", **protocol}
            found: dict[str, Any] = {"stage": stage, "seed": self.seed, "trial": self.tried}
            own, *ended = self._run(trial, protocol, list(replications), without)
            found["objective"], found["complete"] = ended
            if found["complete"]:
                study.tell(trial, found["objective"])
            else:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            runs.append(own)
            trials.append({**found, **protocol})
            self.tried += 1
        return pd.DataFrame(trials), pd.concat(runs, ignore_index=True)

    def confirm(
        self,
        studies: list[tuple[pd.DataFrame, pd.DataFrame]],
        distinct: list[str],
        replications: Iterable[int],
        without: str = "",
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Run the best few of some studies, distinct in some choices, on some replications.

        Returns all trials, with the ``confirmed`` objective of these, and all runs.
        """
        import pandas as pd

        trials = pd.concat([trials for trials, _ in studies], ignore_index=True)
        best = trials[trials["complete"]].sort_values("objective", kind="stable")
        best = best.drop_duplicates(distinct).head(FEW)
        cells = {
            table: self.space.searched_cells(table, replications) for table in self.runner.benches
        }
        further = self.runner.run(best.to_dict("records"), cells, without)
        confirmed = {
            protocol: objective(self.space, own, self.printed)
            for protocol, own in further.groupby("protocol")
        }
        trials = trials.assign(confirmed=trials["protocol"].map(confirmed))
        return trials, pd.concat([*(own for _, own in studies), further], ignore_index=True)

    def _run(
        self,
        trial: optuna.Trial,
        protocol: Mapping[str, str],
        replications: list[int],
        without: str,
    ) -> tuple[pd.DataFrame, float, bool]:
        """Run a protocol cell by cell, replication by replication, until it is not among the best.

        Returns its runs, their objective, and whether it ran all cells.
        """
        import pandas as pd

        cells = [
            (table, [cell])
            for replication in replications
            for table in self.runner.benches
            for cell in self.space.searched_cells(table, [replication])
        ]
        parts: list[pd.DataFrame] = []
        for table, cell in cells:
            parts.append(self.runner.run([protocol], {table: cell}, without))
            value = objective(self.space, pd.concat(parts), self.printed)
            trial.report(value, len(parts))
            if len(parts) < len(cells) and trial.should_prune():
                break
        return pd.concat(parts), value, len(parts) == len(cells)


def _new_study(startup: int, first: int, seed: int) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(multivariate=True, n_startup_trials=startup, seed=seed)
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=FACTOR)
    return optuna.create_study(sampler=sampler, pruner=pruner)


def objective(space: Space, runs: pd.DataFrame, printed: Mapping[str, pd.DataFrame]) -> float:
    """Return a protocol's distance from the tables plus the weighted miss of their contrasts.

    Both are root mean squares in published standard deviations. The result is the root mean square
    over tables; infinite if a fit diverged. Of runs without the claim's method it is the distance.
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
    distance = float(distances(means.to_numpy(), centre, sd))
    methods, shape = layout_of(means.index)
    if claim.method not in methods:
        return distance
    ours, theirs = means.to_numpy().reshape(shape), centre.reshape(shape)
    unit = sd.reshape(shape)[:, methods.index(claim.method)].mean()
    missed = (contrasts(ours, methods, claim) - contrasts(theirs, methods, claim)) / unit
    return distance + weight * float(np.sqrt(np.square(missed).mean()))


def _suggest(trial: optuna.Trial, choice: Choice) -> str:
    """Return what a trial chooses. A range also stands for the single values beside it."""
    value = choice.range
    if value is None:
        names: list[Any] = [value.name for value in choice.values]
        return str(trial.suggest_categorical(choice.name, names))
    low, high = value.between or (0.0, 0.0)
    number = trial.suggest_float(choice.name, low, high, log=value.log)
    return f"{number:.3g} {value.name}"
