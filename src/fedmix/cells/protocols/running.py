"""Runs of protocols on the tables of a search: those that were drawn, or that an optimiser tries.

The optimiser is Optuna's tree-structured Parzen estimator (Bergstra et al. 2011; multivariate:
Falkner et al. 2018), which takes categories and ranges together. It works in stages. The first
changes all choices. The others change in turn those of the claim's method alone and all the rest,
and begin with protocols that differ from the best one so far in one choice. They lead to a nearby
optimum, so a search starts anew several times. The first start begins with the table's
``first_trial``, if it has one. A trial runs cell by cell, the first row first, and
ends early if it is in the worse half (successive halving: Li et al. 2020). The best few of each
start then compete on further replications, because the least of many objectives is partly luck. A
search is the same in every run from the same seed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    STAGES,
    STARTS,
    TRIED,
    Space,
)
from fedmix.streams import Streams

if TYPE_CHECKING:
    import optuna

#: The share of a stage's trials before its sampler learns from them.
STARTUP = 0.3
#: Replications of the first row after which a trial ends if it is in the worse half.
FIRST = 3
#: How many of the best trials of each start compete.
FEW = 4


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
    few trials of each start have a ``confirmed`` objective, on further replications. The best
    protocol by this one then runs on all rows: on further replications, which rank it among those
    of other seeds, and on fresh ones, which judge it.
    """
    tables, found = runner.benches, []
    search = space.search_of(tables)
    for start, numbers in enumerate(np.array_split(range(search.trials), STARTS)):
        found += _search(space, runner, printed, (seed, start), numbers.tolist())
    frame = pd.DataFrame([trial for trial, _ in found])
    few = frame[frame["complete"]].sort_values("objective", kind="stable")
    few = few.drop_duplicates(["start", "objective"]).groupby("start").head(FEW)
    few = few.drop_duplicates(list(space.choices))
    further = runner.run(few.to_dict("records"), space.cells(CONFIRMED, tables))
    by_protocol = further.groupby("protocol")
    confirmed = by_protocol.apply(
        objective, printed, space.claim, search.contrast_weight, include_groups=False
    )
    frame["confirmed"] = frame["protocol"].map(confirmed)
    best = frame.sort_values(["confirmed", "trial"]).head(1).to_dict("records")
    runs = {kind: runner.run(best, space.cells(kind, tables)) for kind in (COMPARED, JUDGED)}
    runs = {TRIED: pd.concat([*(own for _, own in found), further])} | runs
    return frame, pd.concat(runs, names=["kind"]).reset_index("kind").reset_index(drop=True)


def _search(
    space: Space,
    runner: Runner,
    printed: Mapping[str, pd.DataFrame],
    seeds: tuple[int, int],
    numbers: Sequence[int],
) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """Search from one start. Return each trial and its runs."""
    import optuna

    parts = parts_of(space, runner.benches)
    weight = space.search_of(runner.benches).contrast_weight
    by_table = space.cells(TRIED, runner.benches)
    cells = [(i, table, cell) for table, own in by_table.items() for i, cell in enumerate(own)]
    cells.sort(key=itemgetter(0))  # the same row of all tables, one after the other
    found: list[tuple[dict[str, Any], pd.DataFrame]] = []

    def attempt(trial: optuna.Trial) -> float:
        number = numbers[len(found)]
        protocol = {"protocol": f"s{seeds[0]}.{number}"}
        for name, choice in space.choices.items():  # empty where no table depends on it
            protocol[name] = _suggest(trial, choice) if choice.concerns(*by_table) else ""
        runs = pd.DataFrame()
        for step, (_, table, cell) in enumerate(cells, start=1):
            runs = pd.concat([runs, runner.run([protocol], {table: [cell]})])
            value = objective(runs, printed, space.claim, weight)
            trial.report(value, step)
            if step < len(cells) and trial.should_prune():
                break
        complete = step == len(cells)
        ended = {"trial": number, "objective": value, "complete": complete}
        found.append((protocol | ended | {"seed": seeds[0], "start": seeds[1]}, runs))
        if not complete:
            raise optuna.TrialPruned
        return value

    first = space.first_trial(by_table) if seeds[1] == 0 else {}
    study: optuna.Study | None = None
    for stage, own_numbers in enumerate(np.array_split(numbers, STAGES)):
        study = _study_of(
            parts[stage % len(parts)],
            study.best_trial if study else None,
            startup=ceil(STARTUP * len(own_numbers)),
            first=FIRST * len(runner.benches),
            seed=100 * seeds[0] + 10 * seeds[1] + stage,
        )
        if first and stage == 0:
            study.enqueue_trial(first)
        study.optimize(attempt, n_trials=len(own_numbers))
    return found


def parts_of(space: Space, tables: Collection[str]) -> list[list[str]]:
    """Return the choices that change the claim's method alone, after all others; none is empty."""
    varied = {name: choice for name, choice in space.choices.items() if choice.concerns(*tables)}
    own = [name for name in varied if set(space.filled_by(varied[name])) == {space.claim.method}]
    rest = [name for name in varied if name not in own]
    return [part for part in (rest, own) if part]


def _study_of(
    free: Iterable[str], best: optuna.trial.FrozenTrial | None, startup: int, first: int, seed: int
) -> optuna.Study:
    """Return the study of a stage: the best trial so far, and its changes in one free choice."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    fixed = {name: v for name, v in best.params.items() if name not in free} if best else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.PartialFixedSampler(
            fixed,
            optuna.samplers.TPESampler(multivariate=True, n_startup_trials=startup, seed=seed),
        )
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=2)
    study = optuna.create_study(sampler=sampler, pruner=pruner)
    if best:
        study.add_trial(best)
        for name in free:
            for value in getattr(best.distributions[name], "choices", ()):
                if value != best.params[name]:
                    study.enqueue_trial({**best.params, name: value})
    return study


def _suggest(trial: optuna.Trial, choice: Choice) -> str:
    """Return what a trial chooses. A range also stands for the single values beside it."""
    for value in choice.values:
        if value.between:
            number = trial.suggest_float(choice.name, *value.between, log=value.log)
            return f"{number:.3g} {value.name}"
    return trial.suggest_categorical(choice.name, list(choice.by_name))
