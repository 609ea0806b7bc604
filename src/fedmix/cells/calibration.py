"""What the rule says of known truths: exact replications, and made-up papers with known errors.

A published value has errors of its own: its replications, its rounding, the draws behind
it. Somebody who runs exactly the published experiment again does not agree with all of it. The
counts of such a replication are simulated, and stand beside the counts of every table.

The whole path is calibrated too, from results to verdicts. A world is a made-up paper with one
table, five methods in four settings. Its published values are drawn and rounded, and our
replications are drawn again: exactly as published, or with a known error. The results take the way
of all results (cells, verdicts, claims), so that the confusion matrix of truths and verdicts shows
the error rates of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmix.cells.claims import CLAIM_VERDICTS, evaluate_claims
from fedmix.cells.equivalence import NO_DRAWS, decide
from fedmix.cells.frame import complete, make_cells
from fedmix.cells.items import Item, Table
from fedmix.cells.verdicts import (
    AUTHORS,
    NOT_JUDGED,
    NOT_RUN,
    RULES,
    STAND_IN,
    counted_roles,
    judge_numbers,
    printed_cells,
)

#: Simulated replications of every published value.
DRAWN = 5000
#: What a simulated replication can score.
SCORED = tuple(name for name in RULES if name not in (STAND_IN, NOT_JUDGED, NOT_RUN))
PAPER, STUDY, VARIANT = "known", "known_truths", "as_coded"
#: Replications of ours and of the published means, as in the three papers and with few of ours.
DESIGNS = ((20, 200), (50, 50), (100, 100), (200, 200))
#: True means of the methods, in standard deviations: B and C are equal.
METHODS = {"A": 0.0, "B": 1.0, "C": 1.0, "D": 2.0, "E": 3.0}
SETTINGS = 4
_LEVEL, _DIGITS, _COMMON = 10.0, 2, 0.5
_KNOWN = ["printed_sd", "n", "printed_replications", "digits", "draws_sd", "n_draws"]
_RUN = {"message": "", "rounds": 1, "converged": True, "floats_up": 1, "floats_down": 1}


def simulate(
    sd: float,
    n: int,
    printed_replications: int,
    digits: int,
    draws: tuple[float, int] = NO_DRAWS,
    times: int = DRAWN,
) -> NDArray:
    """Return the verdicts on simulated exact replications of one normal experiment.

    Both sides have the true standard deviation ``sd``, and make one draw each. The other parameters
    are those of :func:`fedmix.cells.equivalence.compare`, and the number of simulated pairs of a
    published value and a replication.

    Examples
    --------
    >>> from collections import Counter
    >>> Counter(simulate(1.0, 100, 100, 2).tolist()).most_common(1)[0][0]
    'agrees'
    """
    rng = np.random.default_rng([0, n, printed_replications, digits])
    published_mean, own_mean = (
        sd / np.sqrt(size) * rng.standard_normal(times)
        + np.sqrt(draws[0]) * rng.standard_normal(times)
        for size in (printed_replications, n)
    )
    published_sd, own_sd = (
        sd * np.sqrt(rng.chisquare(size - 1, times) / (size - 1))
        for size in (printed_replications, n)
    )
    # The last published digit may fall anywhere, because a true mean does.
    place = rng.random(times) * 10.0**-digits
    published_mean = np.round(published_mean + place, digits) - place
    difference = own_mean - published_mean
    known = np.round(published_sd, digits), printed_replications, digits, draws
    return decide(difference, own_sd, n, *known)[-1]


def expected_counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the counts that an exact replication of each table would be expected to get.

    Items are in rows, :data:`SCORED` in columns. Each item counts the variant that its table
    counts. Values with fewer than two replications of ours, or that cannot be compared, are left
    out.
    """
    judged = printed_cells(cells)
    able = judged["verdict"].isin(SCORED) & (judged["n"] > 1)
    own = judged[able & (judged["role"] == judged["item"].map(counted_roles(cells)))]
    shares = [_shares_of(*cell) for cell in own[_KNOWN].itertuples(index=False)]
    table = pd.DataFrame(shares, own["item"], SCORED, dtype=float)
    return table.groupby(level="item", sort=False).sum()


@cache
def _shares_of(
    sd: float, n: int, printed_replications: int, digits: int, draws_sd: float, n_draws: int
) -> tuple[float, ...]:
    found = simulate(sd, n, printed_replications, digits, (draws_sd**2, n_draws)).tolist()
    return tuple(found.count(name) / len(found) for name in SCORED)


@dataclass(frozen=True)
class Truth:
    """What is known of our replications."""

    #: In words.
    name: str
    #: Our true mean minus theirs, in standard deviations.
    shift: float = 0.0
    #: Our true standard deviation over theirs.
    spread: float = 1.0
    #: The methods that the error concerns; only their values count.
    methods: str = "ABCDE"
    #: Those whose values stand in their place, method by method.
    instead: str = ""


EXACT = Truth("exact replication")
TRUTHS = (
    EXACT,
    Truth("shifted by a quarter sd", shift=0.25),
    Truth("shifted by half an sd", shift=0.5),
    Truth("shifted by one sd", shift=1.0),
    Truth("a third of the spread", spread=1 / 3),
    Truth("two columns swapped", methods="AD", instead="DA"),
    Truth("a program that scores A in place of B", methods="B", instead="A"),
)


def _asked(predicate: str, method: str, **more: Any) -> dict[str, Any]:
    return {"predicate": predicate, "parameters": {"metric": "error", "method": method, **more}}


#: Claims with a known truth on exact replications; D is worse than E in the last setting alone.
CLAIMS: Mapping[str, dict[str, Any]] = {
    "true: A is lowest": _asked("ordered", "A", direction="below", than="all"),
    "true: B and C are similar": _asked("similar", "B", to="C", tolerance=0.1),
    "false in one setting: D is below E": _asked("ordered", "D", direction="below", than="E"),
    "false, equal means: B is below C": _asked("ordered", "B", direction="below", than="C"),
    "false: D is below A": _asked("ordered", "D", direction="below", than="A"),
    # The tolerance is a share of B's mean.
    "false: A differs from B by no more than .1": _asked(
        "similar", "A", to="B", tolerance=0.1 / (_LEVEL + METHODS["B"])
    ),
}


def calibrate(exact: int = 40, others: int = 10) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the confusion matrices of numbers and of claims.

    Parameters
    ----------
    exact, others : int, default=40 and 10
        Made-up papers for every design, replicated exactly or with each known error. Each paper
        has twenty published values. The claims are planted in those replicated exactly.

    Returns
    -------
    numbers, claims : DataFrame
        One row per ``design`` and ``truth`` (for claims: a claim, which says whether it is true),
        ``n`` of them, and one column per verdict with its share.
    """
    numbers: list[dict[str, Any]] = []
    claims: list[dict[str, Any]] = []
    for place, (ours, theirs) in enumerate(DESIGNS):
        for which, truth in enumerate(TRUTHS):
            rng = np.random.default_rng([0, place, which])
            worlds = exact if truth is EXACT else others
            results, cells = _world_cells(rng, truth, ours, theirs, worlds)
            design = f"{ours} of ours, {theirs} published"
            known = judge_numbers(cells[cells["method"].isin(list(truth.methods))])["verdict"]
            numbers.append(_shares(design, truth.name, known, SCORED))
            if truth is EXACT:
                claims += _claim_shares(design, cells, results, worlds)
    return pd.DataFrame(numbers), pd.DataFrame(claims)


def _world_cells(
    rng: np.random.Generator, truth: Truth, ours: int, theirs: int, worlds: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the results of many worlds with one truth, and their judged cells."""
    printed, results = [], []
    replaced = dict(zip(truth.methods, truth.instead, strict=False))
    for world in range(worlds):
        for row in range(SETTINGS):
            published, own = (_draw(rng, n, row) for n in (theirs, ours))
            for method, values in published.items():
                mean, sd = (round(float(x), _DIGITS) for x in (values.mean(), values.std(ddof=1)))
                printed.append((world, row, method, mean, sd))
            for method in METHODS:
                scored = replaced.get(method, method)
                centre = _LEVEL + _mean(scored, row)
                values = centre + truth.spread * (own[scored] - centre) + truth.shift
                results.append(_rows(world, row, method, values))
    frame = pd.concat(results, ignore_index=True).assign(**_RUN)
    with TemporaryDirectory() as folder:
        (Path(folder) / PAPER).mkdir()
        table = pd.DataFrame(printed, columns=["world", "row", "method", "mean", "sd"])
        table.to_csv(Path(folder) / PAPER / "table.csv", index=False)
        item = _item(theirs)
        made = make_cells(frame, pd.DataFrame(), [item], folder, PAPER, {}, {VARIANT: AUTHORS})
        return frame, complete(made, [item], folder)


def _mean(method: str, row: int) -> float:
    """Return a method's true mean; in the last setting D and E change places."""
    if row == SETTINGS - 1:
        method = {"D": "E", "E": "D"}.get(method, method)
    return METHODS[method]


def _draw(rng: np.random.Generator, n: int, row: int) -> dict[str, np.ndarray]:
    """Return replications of standard deviation 1, in part common to all methods."""
    common = np.sqrt(_COMMON) * rng.standard_normal(n)
    return {
        method: _LEVEL + _mean(method, row) + common + np.sqrt(1 - _COMMON) * rng.standard_normal(n)
        for method in METHODS
    }


def _rows(world: int, row: int, method: str, values: np.ndarray) -> pd.DataFrame:
    place: dict[str, Any] = {"study": STUDY, "variant": VARIANT, "metric": "error"}
    place |= {"setting": f"world{world}-row{row}", "setting_world": world, "setting_row": row}
    columns = {"replication": range(len(values)), "value": values}
    return pd.DataFrame(columns).assign(method=method, status="ok", round=pd.NA, **place)


def _item(printed_replications: int) -> Item:
    return Table(
        name="known_table",
        paper=PAPER,
        title="Known truths",
        caption="Made-up results.",
        study=STUDY,
        metric="error",
        row="world {world}, row {row}",
        column="{method}",
        digits=_DIGITS,
        printed={
            "file": "table.csv",
            "columns": {"world": "setting_world", "row": "setting_row", "method": "method"},
            "mean": "mean",
            "sd": "sd",
            "replications": printed_replications,
            "best": "lowest",
        },
    )


def _claim_shares(
    design: str, cells: pd.DataFrame, results: pd.DataFrame, worlds: int
) -> Iterator[dict[str, Any]]:
    """Yield the verdicts on every planted claim, over all worlds."""
    asked = [
        {"id": f"{name} {world}", "paper": PAPER, "section": "", "claim": name, "study": STUDY}
        | {"where": {"world": world}}
        | claim
        for name, claim in CLAIMS.items()
        for world in range(worlds)
    ]
    found = evaluate_claims(asked, cells, results)
    for name in CLAIMS:
        yield _shares(design, name, found.loc[found["claim"] == name, "verdict"], CLAIM_VERDICTS)


def _shares(design: str, truth: str, verdicts: pd.Series, names: tuple[str, ...]) -> dict[str, Any]:
    shares = verdicts.value_counts(normalize=True)
    row = {"design": design, "truth": truth, "n": len(verdicts)}
    return row | {name: float(shares.get(name, 0.0)) for name in names}
