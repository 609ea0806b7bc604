"""The verdict on one printed number: agreement is equivalence."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from fedmix.cells.equivalence import compare


def replications(mean: float, sd: float, n: int) -> np.ndarray:
    """Return n values with exactly this mean and standard deviation."""
    if n < 2:
        return np.full(n, mean)
    values = np.arange(n, dtype=float)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


@pytest.mark.parametrize(
    ("mean", "n", "verdict"),
    [
        (10.0, 400, "agrees closely"),
        (
            10.2,
            100_000,
            "cannot be decided",
        ),  # the print's own error: a fifth of its spread, give or take
        (10.2, 100, "agrees"),
        (10.5, 400, "cannot be decided"),  # on the edge of the margin
        (10.7, 400, "differs"),
        (11.5, 100, "differs"),
        (11.5, 3, "undecided"),  # noise of three replications could hide anything
        (10.0, 1, "undecided"),
        (10.0, 4, "undecided"),  # absence of a proven difference is no agreement
        (float("nan"), 0, "not run"),
    ],
)
def test_the_verdict_follows_the_rule(mean, n, verdict):
    printed_replications = 60 if n == 100_000 else 200
    values = replications(mean, 1.0 if n != 3 else 3.0, n)
    narrow = {100_000: 0.45}.get(n, 1.0)
    assert compare(values, 10.0, narrow, printed_replications, 2).verdict == verdict


def test_differences_are_given_in_printed_sd_and_in_standard_errors():
    comparison = compare(replications(11.0, 2.0, 16), 10.0, 4.0, 64, 3)
    assert comparison.difference == pytest.approx(1.0)
    assert comparison.difference_in_sd == pytest.approx(0.25)
    assert comparison.difference_in_se == pytest.approx(1.0 / np.sqrt(4 / 16 + 16 / 64), rel=1e-6)


def test_the_interval_of_the_difference_is_welchs():
    ours, theirs = np.random.default_rng(1).normal(size=(2, 30))
    theirs = 3 * theirs[:12] + 1
    printed = theirs.mean(), theirs.std(ddof=1)
    comparison = compare(ours, *printed, 12, 12)
    expected = ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose([comparison.low, comparison.high], expected, rtol=1e-9)


def test_the_ratio_of_spreads_has_an_interval_that_covers():
    rng = np.random.default_rng(2)
    found = [
        compare(rng.normal(size=20), 0.0, rng.normal(size=30).std(ddof=1), 30, 6)
        for _ in range(400)
    ]
    covered = np.mean([c.sd_ratio_low <= 1 <= c.sd_ratio_high for c in found])
    assert 0.85 < covered < 0.95


@pytest.mark.parametrize(("sd", "verdict"), [(0.3, "agrees in mean only"), (0.7, "agrees closely")])
def test_a_spread_less_than_half_of_the_published_one_is_no_full_agreement(sd, verdict):
    assert compare(replications(10.0, sd, 200), 10.0, 1.0, 200, 2).verdict == verdict


def test_what_no_number_of_replications_decides_is_told_apart():
    few = compare(replications(10.0, 1.0, 10), 10.0, 1.0, 10, 2)
    assert few.verdict == "cannot be decided"  # the published mean itself is known to .32 sd
    assert few.needed == np.inf
    assert compare(replications(10.0, 1.0, 10), 10.0, 1.0, 200, 2).verdict == "undecided"


def test_the_replications_needed_decide():
    few = compare(replications(10.3, 1.0, 20), 10.0, 1.0, 200, 2)
    assert few.verdict == "undecided"
    enough = int(np.ceil(few.needed * 1.2))
    assert compare(replications(10.3, 1.0, enough), 10.0, 1.0, 200, 2).verdict == "agrees"
    assert compare(replications(10.5, 1.0, 20), 10.0, 1.0, 200, 2).needed == np.inf


def test_a_print_without_spread_is_met_by_its_own_digits():
    values = replications(0.0001, 1e-6, 50)
    assert compare(values, 0.0, 0.0, 50, 3).verdict in ("agrees", "agrees closely")
    assert compare(replications(0.01, 1e-6, 50), 0.0, 0.0, 50, 3).verdict == "differs"


def test_rounding_in_print_is_part_of_the_error():
    values = replications(0.2621, 1e-9, 50)
    assert compare(values, 0.262, 1e-9, 50, 3).difference_in_se == pytest.approx(0.3464, rel=1e-3)
