"""How many replications a setting gets: until its printed numbers are precise, never by a verdict.

The rule is fixed before a run, in the preset, and looks at the width of an interval only. A plan is
static, so the number of a setting is decided from the evidence. Where that is not yet precise, a
run goes one step further.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from math import inf, isfinite, isnan, nan
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.cells.equivalence import NO_DRAWS, between_draws, compare
from fedmix.cells.items import Item
from fedmix.cells.measured import SECONDS, finals_in, summarise
from fedmix.cells.printed import PrintedTable, names_of
from fedmix.cells.verdicts import headline
from fedmix.pipeline.coverage import Coverage, identity_in
from fedmix.pipeline.plan import Setting, Study
from fedmix.pipeline.schemas import ReplicationRule

if TYPE_CHECKING:
    import numpy as np

PRECISE, COMPLETE, FAILED = "precise", "at the study's number", "failed throughout"
GOES_ON = "not yet precise"
_PLACE = ["setting", "method", "metric", "key"]
_EXACT, _EXACT_DIGITS = 10**12, 99  # replications and decimals of a number without an error


@dataclass(frozen=True)
class Target:
    """A published value that a method has in a setting, in the unit of the measured values."""

    method: str
    metric: str
    sd: float
    other_draws: str


@dataclass(frozen=True)
class Reached:
    """How precise our mean of a published value is.

    ``held`` is the largest step of replications that is complete in the evidence. ``half_width`` is
    that of the 90 % interval of our mean, in published standard deviations; infinite with fewer
    than two finished replications, and NaN if all of them failed. ``planned`` are the replications
    that the next run ends with, if no other method needs more. ``state`` is :data:`PRECISE`,
    :data:`COMPLETE` or :data:`FAILED`, if it stops there; or :data:`GOES_ON`.
    """

    target: Target
    held: int
    half_width: float
    planned: int
    state: str


@dataclass(frozen=True)
class Precision:
    """The rule of a preset, applied to the evidence; ``published`` is ``data/published``."""

    rule: ReplicationRule
    coverage: Coverage
    studies: Mapping[str, Study]
    items: Mapping[str, Item]
    published: Path
    _tables: dict[str, PrintedTable] = field(default_factory=dict, repr=False)
    _values: dict[str, tuple[np.ndarray, Mapping]] = field(default_factory=dict, repr=False)
    _draws: dict[tuple[str, str], Mapping] = field(default_factory=dict, repr=False)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict, repr=False)

    def __call__(self, study: Study, setting: Setting) -> int:
        """Return the number of replications of a setting, the same for all of its methods."""
        if not counts(study, setting):
            return min(study.replications, self.rule.other_variants)
        place = study.name, setting.folder
        if place not in self._numbers:
            planned = [found.planned for found in self.reached(study, setting)]
            self._numbers[place] = max(planned, default=study.replications)
        return self._numbers[place]

    def reached(self, study: Study, setting: Setting) -> Iterator[Reached]:
        """Yield how precise each published value of a setting is; none without evidence."""
        if self.coverage.evidence.folder is None:
            return
        held = self.coverage.held(study, setting)
        for target in self._targets(study, setting):
            own = held.get(target.method, frozenset())
            most = study.most_replications(target.method, setting)
            steps = [*(n for n in self.rule.steps if n < most), most]
            complete = max((n for n in steps if own.issuperset(range(n))), default=0)
            width = self._half_width(study, setting, target, complete) if complete else inf
            further = next((n for n in steps if n > complete), complete)
            if isnan(width):
                state = FAILED
            elif width <= self.rule.precision:
                state = PRECISE
            else:
                state = COMPLETE if complete == further else GOES_ON
            planned = further if state == GOES_ON else complete
            yield Reached(target, complete, width, planned, state)

    def _targets(self, study: Study, setting: Setting) -> Iterator[Target]:
        for item in self.items.values():
            is_here = item.study == study.name and setting.matches(item.where)
            if not (is_here and item.judged and item.printed):
                continue
            if item.name not in self._tables:
                self._tables[item.name] = PrintedTable(item, self.published)
            table = self._tables[item.name]
            for name in study.methods_of(setting):
                names, is_stand_in = names_of(item, identity_in(study, setting, name))
                number = None if is_stand_in else table.number(names or {})
                for metric in item.metrics_of(name) if number else ():
                    if metric != SECONDS:
                        yield Target(name, metric, number.sd * item.scale, item.other_draws)

    def _half_width(self, study: Study, setting: Setting, target: Target, n: int) -> float:
        """Return the half-width of the interval of our mean, in published standard deviations."""
        finished = self._finished(study, setting, target.method, target.metric)
        values = [value for replication, value in finished.items() if replication < n]
        if not values:
            return nan
        draws = self._between(target, setting.dataset) if target.other_draws else NO_DRAWS
        if draws[0] == inf:
            return inf
        # The difference from an exact number has the interval of our mean alone. `compare` counts
        # the draws of both sides.
        exact = compare(values, 0.0, 0.0, _EXACT, _EXACT_DIGITS, (draws[0] / 2, draws[1]))
        half = (exact.high - exact.low) / 2
        if not isfinite(half):
            return inf
        return half / target.sd if target.sd else (inf if half else 0.0)

    def _finished(
        self, study: Study, setting: Setting, method: str, metric: str
    ) -> Mapping[float, float]:
        """Return the values of the finished replications with the planned key."""
        if study.name not in self._values:
            rows = self.coverage.evidence.rows(study.name)
            finals = finals_in(rows[[*_PLACE, "replication", "value", "round", "status"]])
            numbers = finals[["replication", "value"]].to_numpy()
            self._values[study.name] = numbers, finals.groupby(_PLACE).indices
        numbers, places = self._values[study.name]
        key = self.coverage.keys(study, setting).get(method, "")
        return dict(numbers[places.get((setting.folder, method, metric, key), [])].tolist())

    def _between(self, target: Target, dataset: str) -> tuple[float, int]:
        """Return the variance between draws and their number; infinite if not known."""
        study = self.studies.get(target.other_draws)
        if study and all(dataset != setting.dataset for setting in study.settings.values()):
            return NO_DRAWS  # nothing of this data set is drawn once for all replications
        place = target.other_draws, target.metric
        if place not in self._draws:
            self._draws[place] = self._all_draws(study, target.metric) if study else {}
        shared = dataset, target.method, target.metric
        return self._draws[place].get((shared, ()), (inf, 2))

    def _all_draws(self, study: Study, metric: str) -> Mapping[tuple, tuple[float, int]]:
        import pandas as pd

        cells = [
            {
                "variant": s.variant,
                "setting": s.folder,
                "setting_dataset": s.dataset,
                "setting_n_contaminated": s.values.get("n_contaminated"),
                "method": method,
                "metric": metric,
                **summarise(list(values.values())),
            }
            for s in study.settings.values()
            for method in study.methods_of(s)
            if (values := self._finished(study, s, method, metric))
        ]
        return between_draws(pd.DataFrame(cells)) if cells else {}


def precision_lines(precision: Precision) -> Iterator[str]:
    """Yield what stopped where: a line for each study, and one for each published value of ours."""
    for study, values in groupby(_all_reached(precision), key=itemgetter(0)):
        found = list(values)
        states = Counter(reached.state for *_, reached in found)
        yield f"{study}, published values: {', '.join(f'{n} {s}' for s, n in states.items())}"
        for _, folder, reached in found:
            target = reached.target
            until = f", {reached.planned} next" if reached.state == GOES_ON else ""
            known = reached.held and reached.state != FAILED
            width = f"half-width {reached.half_width:.3f} published sd, " if known else ""
            yield (
                f"  {folder}  {target.method}, {target.metric}: {reached.held} replications, "
                f"{width}{reached.state}{until}"
            )


def instalment_lines(precision: Precision, preset: str) -> Iterator[str]:
    """Yield what to do after a run that took some settings one step further."""
    found = _all_reached(precision)
    going = len({(study, folder) for study, folder, own in found if own.state == GOES_ON})
    if going:
        yield (
            f"Settings that were not yet precise before this run: {going}. To go on where they "
            "still are not, add the run to the evidence (python -m fedmix evidence add --config "
            f"preset={preset}) and run again."
        )


def _all_reached(precision: Precision) -> Iterator[tuple[str, str, Reached]]:
    """Yield how precise each published value is, with its study and the setting's folder."""
    for study in precision.studies.values():
        for setting in study.settings.values():
            if counts(study, setting):
                for reached in precision.reached(study, setting):
                    yield study.name, setting.folder, reached


def counts(study: Study, setting: Setting) -> bool:
    """Return whether a setting's variant is the one that the paper's tables count."""
    return study.roles[setting.variant] == headline(study.roles.values())
