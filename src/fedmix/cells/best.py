"""Which methods are best where they are compared: the best mean, and what cannot be told from it.

Methods that saw the same data are compared replication by replication, by the paired test of
:mod:`fedmix.cells.effects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmix.cells.effects import YES, paired_effect

if TYPE_CHECKING:
    from fedmix.cells.measured import Metric

HIGHEST, LOWEST = "highest", "lowest"
BEST, TIED = "best", "tied"


def standings(scores: Metric, direction: str) -> dict[str, str]:
    """Return which methods are best by a metric in one setting.

    Parameters
    ----------
    scores : mapping of str to Series
        Method -> values of its finished replications, indexed by replication.
    direction : str
        ``"highest"`` or ``"lowest"`` is best; with anything else nothing is.

    Returns
    -------
    dict of str to str
        ``"best"`` for the method with the best mean, ``"tied"`` for those that the paired test
        cannot tell from it. Nothing where fewer than two methods have a value.
    """
    finished = {method: values for method, values in scores.items() if len(values)}
    if direction not in (HIGHEST, LOWEST) or len(finished) < 2:
        return {}
    sign = 1.0 if direction == LOWEST else -1.0
    losses = {method: sign * values for method, values in finished.items()}
    winner = min(losses, key=lambda method: losses[method].mean())
    found = {winner: BEST}
    for method, values in losses.items():
        behind = paired_effect(values, losses[winner])
        if method != winner and behind and behind.above() != YES:
            found[method] = TIED
    return found
