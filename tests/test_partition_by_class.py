"""Clients that hold some of the classes."""

import numpy as np
import pytest

from fedmix.errors import ConfigurationError
from fedmix.partition.split import (
    deal_out,
    draw_classes,
    hand_over_missing,
    share_out,
    split_in_order,
)


def test_number_of_classes_is_uniform_on_its_range():
    classes = draw_classes(6, 6_000, 4, np.random.default_rng(0))
    sizes = np.bincount([len(own) for own in classes], minlength=7)
    assert set(np.flatnonzero(sizes)) == {2, 3, 4}
    assert np.all(np.abs(sizes[2:5] / 6_000 - 1 / 3) < 0.03)
    assert all(len(set(own)) == len(own) for own in classes)


@pytest.mark.parametrize("most", [1, 7])
def test_impossible_numbers_are_refused(most):
    with pytest.raises(ConfigurationError, match="most_classes"):
        draw_classes(6, 3, most, np.random.default_rng(0))


def test_dealing_takes_equal_shares_from_the_front():
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 2, 2])
    rows = deal_out(labels, [np.array([0, 1]), np.array([0]), np.array([1, 2])])
    np.testing.assert_array_equal(rows[0], [0, 1])
    np.testing.assert_array_equal(rows[1], [2])
    np.testing.assert_array_equal(rows[2], [3])  # 2 rows of class 2 for 3 clients: none each


def test_sharing_uses_every_row_of_every_class_that_is_held_once():
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=203)
    classes = hand_over_missing([np.array([0, 1]), np.array([1, 2, 4])], 5)
    rows = share_out(labels, classes, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(203))
    for own, held in zip(rows, classes, strict=True):
        assert set(labels[own]) == set(held)
    shared = [np.sum(labels[own] == 1) for own in rows]
    assert abs(shared[0] - shared[1]) <= 1


def test_a_class_that_nobody_holds_goes_to_who_has_fewest():
    classes = hand_over_missing([np.array([0, 1, 2]), np.array([0, 2])], 5)
    np.testing.assert_array_equal(classes[0], [0, 1, 2, 4])
    np.testing.assert_array_equal(classes[1], [0, 2, 3])


def test_the_first_rows_of_a_class_are_for_training_and_the_next_for_testing():
    labels = np.repeat([0, 1], 20)
    train, test = split_in_order(labels, [np.array([0, 1]), np.array([0])], train_fraction=0.7)
    assert [rows.tolist() for rows in train] == [[*range(7), *range(20, 27)], [*range(10, 17)]]
    assert [rows.tolist() for rows in test] == [[7, 8, 9, 27, 28, 29], [17, 18, 19]]
