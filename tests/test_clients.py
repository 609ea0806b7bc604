import numpy as np
import pytest

from fedmix.clients import Clients
from fedmix.errors import DataError


def test_from_arrays_keeps_every_client_where_it_was():
    xs = [np.arange(6.0).reshape(3, 2), np.ones((1, 2)), np.zeros((0, 2))]
    clients = Clients.from_arrays(xs)
    assert len(clients) == 3
    assert clients.sizes.tolist() == [3, 1, 0]
    for given, stored in zip(xs, clients, strict=True):
        np.testing.assert_array_equal(given, stored)


def test_subset_and_pooled_keep_responses_with_their_points():
    xs, ys = [[[1.0], [2.0]], [[3.0]]], [[10.0, 20.0], [30.0]]
    clients = Clients.from_arrays(xs, ys)
    swapped = clients.subset([1, 0])
    assert swapped.responses_of(0).tolist() == [30.0]
    assert swapped.responses_of(1).tolist() == [10.0, 20.0]
    pooled = clients.pooled()
    assert len(pooled) == 1
    assert pooled.responses.tolist() == [10.0, 20.0, 30.0]


def test_split_gives_one_array_a_client():
    clients = Clients.from_arrays([np.zeros((2, 1)), np.zeros((0, 1)), np.zeros((1, 1))])
    assert [part.tolist() for part in clients.split(np.array([7, 8, 9]))] == [[7, 8], [], [9]]


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6, dtype=np.float32).reshape(3, 2),
        np.arange(12).reshape(3, 4)[:, ::2],
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        [[0, 1], [2, 3]],
    ],
)
def test_any_array_of_numbers_becomes_contiguous_float64(x):
    clients = Clients.from_arrays([x])
    assert clients.points.dtype == np.float64
    assert clients.points.flags.c_contiguous
    np.testing.assert_array_equal(clients.points, np.asarray(x, dtype=float))


def test_read_only_input_is_taken():
    x = np.ones((2, 2))
    x.setflags(write=False)
    assert Clients.from_arrays([x, x]).n_points == 4


@pytest.mark.parametrize(
    ("xs", "ys", "says"),
    [
        ([], None, "No clients"),
        ([np.zeros(3)], None, r"Client 0: expected an array of shape \(n_k, d\)"),
        (
            [np.zeros((1, 2)), np.zeros((1, 3))],
            None,
            r"differ in their number of features: \[2, 3\]",
        ),
        ([np.zeros((0, 2))], None, "All clients are empty"),
        (
            [np.zeros((2, 1)), [[np.nan]]],
            None,
            "Client 1: points hold NaN or infinity, first in row 0",
        ),
        ([[[np.inf]]], None, "Client 0"),
        ([[["a"]]], None, "Client 0: expected numbers"),
        ([np.zeros((2, 1))], [[1.0]], "one response a point"),
        ([np.zeros((2, 1))], [[1.0, np.nan]], "responses hold NaN"),
        ([np.zeros((2, 0))], None, "d >= 1"),
    ],
)
def test_bad_input_is_a_clear_error(xs, ys, says):
    with pytest.raises(DataError, match=says):
        Clients.from_arrays(xs, ys)


def test_responses_are_asked_for_by_name_when_missing():
    with pytest.raises(DataError, match="have no responses"):
        Clients.from_arrays([[[1.0]]]).responses_of(0)
