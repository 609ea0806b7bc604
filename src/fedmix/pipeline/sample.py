"""A few results of a run, one by one: whoever doubts its tables computes these again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: How many fits are kept; and what one may have taken, its data and initial values included, so
#: that a test can afford them all.
N_FITS, SECONDS = 30, 20.0
FIT = ["study", "variant", "setting", "method", "replication"]


def draw_sample(results: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Draw fits, at least one of every study that has a short one, and return their final scores.

    Parameters
    ----------
    results, timings : DataFrame
        Of all settings, see :func:`fedmix.experiments.runner.tables_of`.

    Returns
    -------
    DataFrame
        ``study, variant, setting, method, replication, metric, value``, sorted; the same for the
        same run.
    """
    import pandas as pd

    seconds = timings["cpu_seconds"] + timings["shared_seconds"]
    short = timings.loc[(timings["status"] == "ok") & (seconds < SECONDS), FIT]
    shuffled = short.sort_values(FIT).sample(frac=1, random_state=0)
    of_each = shuffled.groupby("study").head(1)
    more = shuffled.drop(of_each.index).head(max(N_FITS - len(of_each), 0))
    scores = results.loc[results["round"].isna(), [*FIT, "metric", "value"]]
    drawn = pd.concat([of_each, more]).merge(scores, on=FIT)
    return drawn.sort_values([*FIT, "metric"], ignore_index=True)
