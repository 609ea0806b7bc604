"""What an exact replication of a published table would be expected to score under the rule.

A published value has errors of its own: its replications, its rounding, the partition draws behind
it. Somebody who runs exactly the published experiment again does not agree with all of it. The
counts of such a replication are simulated here, and stand beside the counts of every table.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fedmix.cells.equivalence import NO_DRAWS, decide
from fedmix.cells.verdicts import (
    NOT_JUDGED,
    NOT_RUN,
    RULES,
    STAND_IN,
    headline_roles,
    printed_cells,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

#: Simulated replications of every published value.
DRAWN = 500
#: What a simulated replication can score.
SCORED = tuple(name for name in RULES if name not in (STAND_IN, NOT_JUDGED, NOT_RUN))


def simulate(
    sd: float,
    n: int,
    printed_replications: int,
    digits: int,
    draws: tuple[float, int] = NO_DRAWS,
    shift: float = 0.0,
    draw: int = 0,
    times: int = DRAWN,
) -> NDArray:
    """Return the verdicts on simulated replications of one normal experiment.

    Parameters
    ----------
    sd : float
        The true standard deviation, of both sides.
    n, printed_replications, digits, draws
        As in :func:`fedmix.cells.equivalence.compare`. Both sides make one partition draw each.
    shift : float, default=0.0
        Our true mean minus theirs, in standard deviations. An exact replication has 0.
    draw : int, default=0
        Of the random numbers.
    times : int, default=500
        Number of simulated pairs of a print and a replication.

    Returns
    -------
    array of str of shape (times,)

    Examples
    --------
    >>> from collections import Counter
    >>> Counter(simulate(1.0, 100, 100, 2).tolist()).most_common(1)[0][0]
    'agrees'
    """
    import numpy as np

    rng = np.random.default_rng([draw, n, printed_replications, digits])
    print_mean, own_mean = (
        sd / np.sqrt(size) * rng.standard_normal(times)
        + np.sqrt(draws[0]) * rng.standard_normal(times)
        for size in (printed_replications, n)
    )
    print_sd, own_sd = (
        sd * np.sqrt(rng.chisquare(size - 1, times) / (size - 1))
        for size in (printed_replications, n)
    )
    # The last published digit may fall anywhere, because a true mean does.
    place = rng.random(times) * 10.0**-digits
    print_mean = np.round(print_mean + place, digits) - place
    difference = own_mean + shift * sd - print_mean
    known = np.round(print_sd, digits), printed_replications, digits, draws
    return decide(difference, own_sd, n, *known).verdict


def expected_shares(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of verdicts that an exact replication of each published value would get.

    Parameters
    ----------
    cells : DataFrame
        Judged cells beside their published values.

    Returns
    -------
    DataFrame
        One row per cell with at least two replications that can be compared, one column per
        :data:`SCORED`.
    """
    import pandas as pd

    able = cells[cells["verdict"].isin(SCORED) & (cells["n"] > 1)]
    shares = [_shares(*_of_cell(cell)) for cell in able.to_dict("records")]
    return pd.DataFrame(shares, able.index, SCORED, dtype=float)


def expected_counts(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the counts that an exact replication of each table would be expected to get.

    Returns
    -------
    DataFrame
        Items in rows, one column per :data:`SCORED`; each counts the variant that its table counts.
    """
    judged = printed_cells(cells)
    is_counted = judged["role"] == judged["item"].map(headline_roles(cells))
    counted = judged[is_counted].reset_index(drop=True)
    shares = expected_shares(counted)
    return shares.groupby(counted.loc[shares.index, "item"], sort=False).sum()


def _of_cell(cell: Mapping[str, Any]) -> tuple[float, int, int, int, float, int]:
    sizes = int(cell["n"]), int(cell["printed_replications"]), int(cell["digits"])
    return float(cell["printed_sd"]), *sizes, float(cell["draws_sd"]), int(cell["n_draws"])


@cache
def _shares(
    sd: float, n: int, printed_replications: int, digits: int, draws_sd: float, n_draws: int
) -> tuple[float, ...]:
    found = simulate(sd, n, printed_replications, digits, (draws_sd**2, n_draws)).tolist()
    return tuple(found.count(name) / len(found) for name in SCORED)
