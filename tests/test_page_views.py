"""What the pages say of claims, scores and cells."""

from math import inf, nan

import pandas as pd

from fedmix.cells.claims import SOURCES
from fedmix.views.page.views import claim_views


def claim(**changes) -> pd.DataFrame:
    """Return one claim, which the text's variant alone answers."""
    names = ("yes", "no", "unclear", "median", "smallest", "low", "high")
    none = {f"{source}_{name}": 0 for source in SOURCES for name in names}
    plain = {"verdict": "holds", "chance": nan, "written_yes": 1}
    return pd.DataFrame([none | plain | changes])


def test_margins_have_no_exponents_and_an_interval_where_there_is_one():
    large = {"written_median": 52413.0, "written_smallest": -0.5}
    for low, high, told in (
        (-0.75, 1.0, "+52,413; -0.5 (-0.75 to +1)"),
        (-inf, inf, "+52,413; -0.5"),  # of one replication
    ):
        [view] = claim_views(claim(**large, written_low=low, written_high=high))
        [source] = view["sources"]
        assert (source["name"], source["margins"]) == ("written", told)
