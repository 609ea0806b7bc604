"""The best methods of a setting, and those that no paired test tells apart from them."""

import numpy as np
import pandas as pd
import pytest

from fedmix.cells.frame import standings


def on_the_same_data(n=20, **offsets):
    """Return scores on the same data: a large common part, small noise, an offset a method."""
    rng = np.random.default_rng(0)
    common = rng.normal(0, 5, n)
    return {
        name: pd.Series(common + offset + rng.normal(0, 0.1, n)) for name, offset in offsets.items()
    }


@pytest.mark.parametrize(("direction", "best"), [("lowest", "low"), ("highest", "high")])
def test_the_best_mean_is_best_in_its_direction(direction, best):
    assert standings(on_the_same_data(low=0.0, middle=1.0, high=2.0), direction) == {best: "best"}


def test_what_differs_on_the_same_data_is_no_tie_however_far_means_scatter():
    assert standings(on_the_same_data(good=0.0, worse=0.5), "lowest") == {"good": "best"}


def test_what_the_paired_test_cannot_tell_is_a_tie():
    found = standings(on_the_same_data(one=0.0, other=0.0, far=3.0), "lowest")
    assert set(found) == {"one", "other"}
    assert sorted(found.values()) == ["best", "tied"]


def test_a_scattered_best_mean_makes_no_tie_of_what_another_method_beats():
    scattered = {"wild": pd.Series(np.tile([-20.0, 12.0], 10))}
    found = standings(on_the_same_data(good=0.0, worse=1.0) | scattered, "lowest")
    assert found == {"wild": "best", "good": "tied"}


def test_equal_scores_tie_and_nothing_is_best_below_five_replications():
    same = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0])
    assert standings({"a": same, "b": same.copy()}, "lowest") == {"a": "best", "b": "tied"}
    assert standings(on_the_same_data(4, a=0.0, b=9.0), "lowest") == {}
    both = on_the_same_data(5, a=3.0, b=9.0) | on_the_same_data(4, c=0.0)
    assert standings(both, "lowest") == {"a": "best"}


def test_nothing_is_best_alone_without_a_direction_or_without_a_common_replication():
    assert standings(on_the_same_data(a=0.0), "lowest") == {}
    assert standings(on_the_same_data(a=0.0, b=1.0), "none") == {}
    apart = pd.Series([0.1, 0.1, 0.1, 0.2, 0.1], index=range(5, 10))
    parts = {"a": pd.Series([0.0] * 5), "b": apart}
    assert standings(parts, "lowest") == {"a": "best"}
    assert standings({"a": pd.Series([0.0]), "b": pd.Series(dtype=float)}, "lowest") == {}
