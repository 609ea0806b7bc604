"""Runs of protocols on the tables of a search: those that were drawn, or that an optimiser tries.

The optimiser is Optuna's tree-structured Parzen estimator (Bergstra et al. 2011; multivariate:
Falkner et al. 2018), which takes categories and ranges together. A start first screens protocols
on a few replications of the first row, and runs the best one of them in full. The first start also
runs the table's ``first_trial``, if it has one. Stages then change in turn the choices of the
claim's method alone and all the rest. They begin with protocols that differ from the best one so
far in one choice, and then make all of these changes that are improvements together. Stages lead to
a nearby optimum, so a search starts several times. After one stage only the start with the best
protocol goes on. A trial of a stage runs cell by cell, the first row first, and ends early if it is
in the worse half (successive halving: Li et al. 2020). The last stage changes the choices of the
claim's method on further replications, because the least of many objectives is partly luck. If the
method has no choices of its own, it changes all of them. It begins with those of the best protocol
of each start. A search is the same in every run from the same seed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import ceil
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmix.cells.protocols.choices import Choice
from fedmix.cells.protocols.score import objective
from fedmix.cells.protocols.space import (
    COMPARED,
    CONFIRMED,
    JUDGED,
    LAST,
    PARTS,
    SCREENED,
    SCREENING,
    STARTS,
    TRIED,
    Space,
)
from fedmix.streams import Streams

if TYPE_CHECKING:
    import optuna

#: The share of a study's trials before its sampler learns from them.
STARTUP = 0.3
#: The largest share of a stage's trials that change one choice.
SINGLE = 2 / 3
#: Replications of the first row that screen protocols. A trial of a stage that is in the worse half
#: after as many ends, or later after twice as many, and so on. In the last stage they are
#: replications of all rows.
FIRST = 3


def draw_protocols(space: Space) -> pd.DataFrame:
    """Return protocols from a Latin hypercube over the choices, each with its name.

    Each choice takes its values in proportion to their weights, and numbers evenly from a range.
    The protocols are sorted by the choices that fill the setting, so that the protocols of a job
    share data, which take longest to make. A choice that is drawn apart changes neither the others
    nor this order.
    """
    from scipy.stats import qmc

    n = space.draw.protocols
    together = [name for name, choice in space.choices.items() if not choice.drawn_apart]
    apart = [name for name in space.choices if name not in together]
    shares: dict[str, NDArray[np.float64]] = {}
    for stream, names in [("design", together), *((name, [name]) for name in apart)]:
        rng = Streams(space.study, "protocols", 0).generator(stream)
        points = qmc.LatinHypercube(len(names), rng=rng).random(n)
        shares |= dict(zip(names, points.T, strict=True))
    chosen = {
        name: [choice.draw(share) for share in shares[name]]
        for name, choice in space.choices.items()
    }
    by = [name for name in together if space.choices[name].setting]
    design = pd.DataFrame(chosen).sort_values(by, kind="stable", ignore_index=True)
    design.insert(0, "protocol", [f"p{i:0{len(str(n - 1))}d}" for i in range(n)])
    return design


class Runner:
    """Runs protocols on some tables, and keeps the work that they share.

    ``metrics`` has the metric that each table shows for each method. ``files`` are the data sets
    that the tables need, as ``<dataset>/<embedding>.npz``; none for simulations.
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
        self, protocols: Sequence[Mapping[str, str]], cells: Mapping[str, list[tuple[Any, int]]]
    ) -> pd.DataFrame:
        """Return :meth:`fedmix.protocols.Bench.run` on cells of some tables, with the ``table``."""
        parts = {
            table: self.benches[table].run([self.space.protocol(table, p) for p in protocols], own)
            for table, own in cells.items()
        }
        return pd.concat(parts, names=["table"]).droplevel(1).reset_index()


def optimize(
    space: Space, runner: Runner, printed: Mapping[str, pd.DataFrame], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Search for the protocol that gives the runner's tables, the same for all of them.

    Return the trials, and all runs with their ``kind``: "tried", "compared" or "judged". The best
    protocol is that of the last stage. It runs on all rows: on further replications, which rank it
    among those of other seeds, and on fresh ones, which judge it.
    """
    tables = runner.benches
    parts = [own.tolist() for own in np.array_split(range(space.search_of(tables).trials), PARTS)]
    starts = [_Start(space, runner, printed, (seed, number)) for number in range(STARTS)]
    for start in starts:
        start.screen([number for _ in range(SCREENING) for number in parts.pop(0)])
        start.run_stage(parts.pop(0))
    best_start, *others = sorted(starts, key=lambda start: start.best.value)
    for numbers in parts[:-LAST]:
        best_start.run_stage(numbers)
    numbers = [number for part in parts[-LAST:] for number in part]
    best_start.run_last_stage(numbers, [start.best.params for start in (best_start, *others)])
    found = [trial for start in starts for trial in start.found]
    frame = pd.DataFrame([trial for trial, _ in found]).sort_values("trial", ignore_index=True)
    confirmed = frame[frame["complete"] & (frame["kind"] == CONFIRMED)]
    best = confirmed.sort_values("objective", kind="stable").head(1).to_dict("records")
    runs = {kind: runner.run(best, space.cells(kind, tables)) for kind in (COMPARED, JUDGED)}
    runs = {TRIED: pd.concat([own for _, own in found])} | runs
    return frame, pd.concat(runs, names=["kind"]).reset_index("kind").reset_index(drop=True)


class _Start:
    """One start of a search: a screening, and stages.

    ``found`` has each trial with its runs, and ``best`` is the trial with the least objective.
    """

    def __init__(
        self,
        space: Space,
        runner: Runner,
        printed: Mapping[str, pd.DataFrame],
        seeds: tuple[int, int],
    ) -> None:
        self.space, self.runner, self.printed, self.seeds = space, runner, printed, seeds
        self.found: list[tuple[dict[str, Any], pd.DataFrame]] = []
        self.best: optuna.trial.FrozenTrial | None = None
        self._stage = 0
        tables = runner.benches
        self._changed = parts_of(space, tables)
        self._tried: list[list[optuna.trial.FrozenTrial]] = [[] for _ in self._changed]
        tried, further = (_in_turn(space.cells(kind, tables)) for kind in (TRIED, CONFIRMED))
        further.sort(key=lambda cell: cell[1][1])  # all rows of one replication, then the next
        n_rows = sum(len(space.searched_rows(table)) for table in tables)
        #: How many cells a trial of a kind runs before it can end early.
        self._first = {TRIED: FIRST * len(tables), CONFIRMED: FIRST * n_rows}
        screening = tried[: self._first[TRIED]]
        self._cells = {SCREENED: screening, TRIED: tried, CONFIRMED: further}

    def screen(self, numbers: Sequence[int]) -> None:
        """Try one protocol for each number on the first cells, and the best one on all cells."""
        first = self.space.first_trial(self.runner.benches) if self.seeds[1] == 0 else {}
        n_given = 2 if first else 1
        screened = self._study([*self.space.choices], len(numbers) - n_given)
        screened.optimize(self._attempts(numbers, SCREENED), len(numbers) - n_given)
        given = [screened.best_params, first][:n_given]
        alone = [self._run_alone(*each) for each in zip(given, numbers[-n_given:], strict=True)]
        self._end_stage(min(alone, key=lambda study: study.best_value))

    def _run_alone(self, params: dict[str, Any], number: int) -> optuna.Study:
        """Return a study with one trial, which therefore does not end early."""
        study = self._study([*self.space.choices], 1)
        study.enqueue_trial(params)
        study.optimize(self._attempts([number], TRIED), 1)
        return study

    def run_stage(self, numbers: Sequence[int]) -> None:
        """Try one protocol for each number, with changes of one part of the choices."""
        part = self._stage % len(self._changed)
        free = self._changed[part]
        study = self._study(free, len(numbers), self._tried[part])
        attempt = self._attempts(numbers, TRIED)
        changes = single_changes(self.best, free)
        order = np.random.default_rng(self._seed).permutation(len(changes))
        changes = [changes[i] for i in order[: int(SINGLE * len(numbers))]]
        study.add_trial(self.best)
        begun = len(study.trials)
        for change in changes:
            study.enqueue_trial(change)
        study.optimize(attempt, n_trials=len(changes))
        better = improvements(self.best, study.trials[begun:])
        if len(better) > 1:
            study.enqueue_trial(combined(self.best, better))
        study.optimize(attempt, n_trials=len(numbers) - len(changes))
        self._tried[part] = study.trials
        self._end_stage(study)

    def run_last_stage(self, numbers: Sequence[int], begun: Iterable[dict[str, Any]]) -> None:
        """Change the choices of the claim's method, on further replications.

        The first trials have these choices from the protocols that are ``begun`` with.
        """
        free = self._changed[-1]
        study = self._study(free, len(numbers), kind=CONFIRMED)
        for params in begun:
            study.enqueue_trial(self.best.params | {name: params[name] for name in free})
        study.optimize(self._attempts(numbers, CONFIRMED), len(numbers))

    @property
    def _seed(self) -> int:
        return 1000 * self.seeds[0] + 100 * self.seeds[1] + self._stage

    def _end_stage(self, study: optuna.Study) -> None:
        self.best = study.best_trial
        self._stage += 1

    def _study(
        self,
        free: Iterable[str],
        n_trials: int,
        known: Iterable[optuna.trial.FrozenTrial] = (),
        kind: str = TRIED,
    ) -> optuna.Study:
        """Return a study that varies the free choices, and keeps all others as they are best.

        The sampler knows the trials of earlier stages with the same free choices, though others
        have changed since. The pruner compares the study's own trials.
        """
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        best = self.best.params if self.best else {}
        fixed = {name: value for name, value in best.items() if name not in free}
        tpe = optuna.samplers.TPESampler(
            multivariate=True, n_startup_trials=ceil(STARTUP * n_trials), seed=self._seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.PartialFixedSampler(fixed, tpe)
        pruner = optuna.pruners.SuccessiveHalvingPruner(
            min_resource=self._first[kind], reduction_factor=2
        )
        study = optuna.create_study(sampler=sampler, pruner=pruner)
        for trial in known:
            study.add_trial(
                optuna.trial.create_trial(
                    state=trial.state,
                    value=trial.value,
                    params=trial.params,
                    distributions=trial.distributions,
                    intermediate_values=trial.intermediate_values,
                )
            )
        return study

    def _attempts(self, numbers: Iterable[int], kind: str) -> Callable[[optuna.Trial], float]:
        """Return the function that runs each trial of a study, with the next number."""
        remaining = iter(numbers)
        return lambda trial: self._attempt(trial, next(remaining), kind)

    def _attempt(self, trial: optuna.Trial, number: int, kind: str) -> float:
        """Run a protocol on the cells of a kind of trials, until it is in the worse half."""
        import optuna

        space, tables, cells = self.space, self.runner.benches, self._cells[kind]
        protocol = {"protocol": f"s{self.seeds[0]}.{number}"}
        for name, choice in space.choices.items():  # empty where no table depends on it
            protocol[name] = _suggest(trial, choice) if choice.concerns(*tables) else ""
        weight = space.search_of(tables).contrast_weight
        runs = pd.DataFrame()
        for step, (table, cell) in enumerate(cells, start=1):
            runs = pd.concat([runs, self.runner.run([protocol], {table: [cell]})])
            value = objective(runs, self.printed, space.claim, weight)
            trial.report(value, step)
            pruned = step < len(cells) and trial.should_prune()
            if pruned:
                break
        ended = {"trial": number, "kind": kind, "objective": value, "complete": not pruned}
        ended |= {"seed": self.seeds[0], "start": self.seeds[1]}
        self.found.append((protocol | ended, runs))
        if pruned:
            raise optuna.TrialPruned
        return value


def _in_turn(by_table: Mapping[str, Sequence[Any]]) -> list[tuple[str, Any]]:
    """Return cells with their table: the first of all tables, then the second, and so on."""
    cells = [(i, table, cell) for table, own in by_table.items() for i, cell in enumerate(own)]
    return [(table, cell) for _, table, cell in sorted(cells, key=itemgetter(0))]


def parts_of(space: Space, tables: Collection[str]) -> list[list[str]]:
    """Return the choices that change the claim's method alone, after all others; none is empty."""
    varied = {name: choice for name, choice in space.choices.items() if choice.concerns(*tables)}
    own = [name for name in varied if set(space.filled_by(varied[name])) == {space.claim.method}]
    rest = [name for name in varied if name not in own]
    return [part for part in (rest, own) if part]


def single_changes(best: optuna.trial.FrozenTrial, free: Iterable[str]) -> list[dict[str, Any]]:
    """Return the best trial's parameters with another category of one free choice, in all ways."""
    return [
        {**best.params, name: value}
        for name in free
        for value in getattr(best.distributions[name], "choices", ())
        if value != best.params[name]
    ]


def improvements(
    best: optuna.trial.FrozenTrial, trials: Iterable[optuna.trial.FrozenTrial]
) -> list[optuna.trial.FrozenTrial]:
    """Return the trials that are better than the best one so far, in descending order."""
    complete = [trial for trial in trials if trial.state.name == "COMPLETE"]
    better = [trial for trial in complete if trial.value < best.value]
    return sorted(better, key=lambda trial: -trial.value)


def combined(
    best: optuna.trial.FrozenTrial, better: Iterable[optuna.trial.FrozenTrial]
) -> dict[str, Any]:
    """Return the best trial's parameters with the best change of each choice."""
    params = dict(best.params)
    for trial in better:  # the best one is the last
        params |= {name: v for name, v in trial.params.items() if v != best.params[name]}
    return params


def _suggest(trial: optuna.Trial, choice: Choice) -> str:
    """Return what a trial chooses. A range also stands for the single values beside it."""
    for value in choice.values:
        if value.between:
            number = trial.suggest_float(choice.name, *value.between, log=value.log)
            return f"{number:.3g} {value.name}"
    return trial.suggest_categorical(choice.name, list(choice.by_name))
