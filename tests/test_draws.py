"""What print and run drew once counts with its variance between draws, on both sides."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.draws import with_draws
from fedmix.cells.verdicts import compare

PRINT = {"printed_mean": 10.0, "printed_sd": 2.0, "printed_replications": 200, "digits": 2}


def cell(item, study, setting, values, **columns):
    """Return a cell in percent of a share."""
    values = np.asarray(values) / 100
    numbers = {"mean": values.mean(), "sd": values.std(ddof=1), "n": len(values)}
    place = {"item": item, "study": study, "setting": setting, "setting_dataset": "d"}
    named = {"method": "A", "metric": "error", "scale": 0.01, "values": values, "verdict": ""}
    return place | named | numbers | columns


def around(mean):
    """Return 200 values around a mean."""
    return mean + np.tile([-1.0, 1.0], 100)


def frame(between):
    """Return a judged cell that is 2 beyond its print, and draws this far apart."""
    ours = around(12.0)
    found = compare(ours, *list(PRINT.values()))
    judged = cell("table", "run", "s", ours, **PRINT, verdict=found.verdict, low=found.low)
    others = [cell("", "draws", f"s{i}", around(10.0 + between * i)) for i in range(10)]
    return pd.DataFrame([judged, *others])


def test_a_difference_within_the_reach_of_another_draw_is_undecided():
    before = frame(between=1.0)
    after = with_draws(before, {"table": "draws"}).iloc[0]
    assert before["verdict"].iloc[0] == "differs"
    assert after["verdict"] == "undecided"
    assert after["low"] < before["low"].iloc[0]
    assert np.isinf(after["needed"])  # no number of replications decides it


def test_draws_that_differ_by_no_more_than_replications_do_change_nothing():
    after = with_draws(frame(between=0.0), {"table": "draws"}).iloc[0]
    assert after["verdict"] == "differs"


def test_the_variance_is_that_between_draws_less_the_replications_share():
    between = np.var(np.arange(10.0), ddof=1) - np.var(around(0), ddof=1) / 200
    expected = compare(around(12.0), *list(PRINT.values()), (between, 10))
    after = with_draws(frame(between=1.0), {"table": "draws"}).iloc[0]
    assert after["low"] == pytest.approx(expected.low)


def test_without_other_draws_verdicts_stay():
    before = frame(between=1.0)
    assert with_draws(before, {"table": "not run"}).iloc[0]["verdict"] == "differs"
