from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

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


@pytest.mark.parametrize("name", ["b", ("b",), 1.0, True, np.bool_(True)])
def test_a_name_or_a_mask_is_no_position(name):
    clients = Clients.from_arrays({"a": [[1.0]], "b": [[2.0]]}, {"a": [1.0], "b": [2.0]})
    for take in (clients.__getitem__, clients.responses_of, lambda k: clients.subset([k])):
        with pytest.raises(TypeError, match=r"Expected a client's position.*names.index\(name\)"):
            take(name)


def test_a_position_counts_from_the_end_if_it_is_negative_and_is_a_clients():
    clients = Clients.from_arrays([[[1.0]], [[2.0]]])
    assert clients[-1].tolist() == clients[np.int64(1)].tolist() == [[2.0]]
    for k in (2, -3):
        with pytest.raises(IndexError, match=f"There is no client {k}: expected 0 to 1"):
            clients[k]


@pytest.mark.parametrize(
    ("xs", "says"),
    [
        ([[[3.0]], [[4.0], [5.0]]], "Client 0: expected 2 points, got 1"),
        ([[[3.0], [4.0], [5.0]]], "one array for each of 2 clients, got 1"),
    ],
)
def test_other_points_are_as_many_for_each_client(xs, says):
    clients = Clients.from_arrays([[[0.0], [1.0]], [[2.0]]])
    with pytest.raises(DataError, match=says):
        clients.with_points(xs)


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
        ([[[1.0, 2.0], [3.0]]], None, "Client 0: expected numbers"),
        ([np.array([[None, 1]], dtype=object)], None, "Client 0"),
        ([np.array([[1 + 2j, 1]])], None, "Client 0"),
        ([np.zeros((2, 1))], [[1.0]], "one response per point"),
        ([np.zeros((2, 1))], [[1.0, np.nan]], "responses hold NaN"),
        ([np.zeros((2, 1))], [["a", "b"]], "response"),
        ([np.zeros((2, 1))], [[1j, 2]], "response"),
        (
            [np.ones((2, 1)), np.ones((1, 1))],
            [np.ones(2), [1e160]],
            r"Client 1: responses hold numbers larger than 1e\+152",
        ),
        ([np.zeros((2, 0))], None, "d >= 1"),
    ],
)
def test_bad_input_is_a_clear_error(xs, ys, says):
    with pytest.raises(DataError, match=says):
        Clients.from_arrays(xs, ys)


def test_responses_are_asked_for_by_name_when_missing():
    with pytest.raises(DataError, match="have no responses"):
        Clients.from_arrays([[[1.0]]]).responses_of(0)


def test_clients_of_a_data_frame_keep_their_points_and_responses():
    frame = pd.DataFrame(
        {"site": ["b", "a", "b"], "x": [1, 2, 3], "y": [0.5, 0.25, 0.125], "z": [7.0, 8.0, 9.0]}
    )
    clients = Clients.from_frame(frame, by="site", response="z")
    assert [x.tolist() for x in clients] == [[[2.0, 0.25]], [[1.0, 0.5], [3.0, 0.125]]]
    assert clients.responses.tolist() == [8.0, 7.0, 9.0]


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({}, {"by": "clint"}, "no column 'clint'. Did you mean 'client'"),
        ({}, {"response": "yy"}, "no column 'yy'"),
        ({"x": ["a", "b"]}, {}, "Column 'x' holds"),
        ({"client": [1, None]}, {}, "Column 'client' names no client in 1 rows"),
        ({"x": [1.0, np.nan]}, {}, "Client 1: points hold NaN"),
    ],
)
def test_a_data_frame_that_cannot_be_cut_names_the_column(change, options, says):
    frame = pd.DataFrame({"client": [1, 2], "x": [1.0, 2.0], "y": [1.0, 2.0]} | change)
    with pytest.raises(DataError, match=says):
        Clients.from_frame(frame, **options)


def test_data_frames_with_other_columns_are_refused():
    one, other = pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"b": [1.0], "a": [2.0]})
    with pytest.raises(DataError, match="Client 1 has the columns"):
        Clients.from_arrays([one, other])


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ([0], "one group per point"),
        ([[0], [1, 2]], "Expected groups of shape"),
        ([0, np.nan], "1 of the groups are missing"),
        ([None, "a"], "1 of the groups are missing"),
        (["a", np.nan], "1 of the groups are missing"),
        (pd.Series([1, None], dtype="Int64"), "1 of the groups are missing"),
        ([1, "a"], "cannot be sorted"),
        (np.ma.masked_array([0, 1], mask=[False, True]), "masked"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, says):
    with pytest.raises(DataError, match=says):
        Clients.from_groups([[1.0], [2.0]], groups)


def test_groups_of_no_points_are_refused():
    with pytest.raises(DataError, match="There are no points"):
        Clients.from_groups(np.empty((0, 2)), [])


def test_names_and_offsets_of_another_type_are_refused():
    with pytest.raises(DataError, match=r"names of clients, such as strings; got \[1\]"):
        Clients(np.eye(2), [0, 1, 2], names=[[1], [2]])
    with pytest.raises(DataError, match=r"offsets to be integers, got \[0, 1.7, 2\]"):
        Clients(np.eye(2), [0, 1.7, 2])
    with pytest.raises(TypeError, match=r"one \(n_k,\) array per client, got an int"):
        Clients.from_arrays([np.eye(2)], 5)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_clients_can_be_named_by_times(unit):
    days = pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01"])).astype(f"datetime64[{unit}]")
    frame = pd.DataFrame({"client": days, "x": [1.0, 2.0]})
    clients = Clients.from_frame(frame)
    assert clients.names == [datetime(2020, 1, 1), datetime(2020, 1, 2)]
    assert clients.points.tolist() == [[2.0], [1.0]]
    gaps = days.to_numpy() - days.to_numpy().min()
    names = Clients.from_groups(frame[["x"]], gaps).names
    assert names == [timedelta(0), timedelta(days=1)]


def test_a_data_frame_with_a_repeated_column_is_refused():
    for columns in (["client", "x", "x"], ["client", "client", "x"]):
        with pytest.raises(DataError, match=f"more than one column '{columns[1]}'"):
            Clients.from_frame(pd.DataFrame([[0, 1.0, 2.0]], columns=columns))


def test_other_points_must_have_one_width():
    clients = Clients.from_arrays([np.ones((2, 2)), np.ones((1, 2))])
    with pytest.raises(DataError, match=r"differ in their number of features: \[1, 2\]"):
        clients.with_points([np.ones((2, 2)), np.ones((1, 1))])
    with pytest.raises(DataError, match="Client 1: expected an array of shape"):
        clients.with_points([np.ones((2, 2)), np.ones(1)])


def test_a_sparse_matrix_is_named():
    with pytest.raises(DataError, match=r"Client 0: .*the matrix is sparse: .* toarray\.$"):
        Clients.from_arrays([csr_array(np.eye(2))])


@pytest.mark.parametrize(
    ("frame", "got"),
    [
        (None, "a NoneType"),
        (np.eye(2), r"an ndarray of shape \(2, 2\)"),
        ([np.eye(2)], "a list"),
        ({"client": [0]}, "a dict"),
    ],
)
def test_what_is_no_data_frame_is_a_type_error(frame, got):
    with pytest.raises(TypeError, match=rf"Expected a pandas data frame, got {got}\.$"):
        Clients.from_frame(frame)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_a_missing_value_of_a_nullable_column_is_found(dtype):
    frame = pd.DataFrame({"client": [1, 2, 2], "x": pd.array([1, 0, None], dtype=dtype)})
    with pytest.raises(DataError, match="Client 1: points hold NaN or infinity, first in row 1"):
        Clients.from_frame(frame.assign(y=0.5))


def test_no_sequence_of_arrays_is_a_type_error():
    for nothing in (None, 3):
        with pytest.raises(TypeError, match=r"Expected one \(n_k, d\) array per client, got a"):
            Clients.from_arrays(nothing)


@pytest.mark.parametrize("unit", ["datetime64[D]", "datetime64[ns]", "timedelta64[s]"])
def test_dates_are_not_taken_for_numbers(unit):
    times = np.arange(4).astype(unit).reshape(2, 2)
    for xs in ([np.ones((2, 2)), times], [np.ones((2, 2)), list(times)]):
        with pytest.raises(DataError, match=r"Client 1: .*dates or durations"):
            Clients.from_arrays(xs)
    with pytest.raises(DataError, match="dates or durations"):
        Clients.from_arrays([np.ones((2, 2))], [times[0]])
    with pytest.raises(DataError, match="dates or durations"):
        Clients.from_groups(times, [0, 1])


def test_a_column_of_dates_in_a_data_frame_is_an_error():
    days = pd.date_range("2020-01-01", periods=2)
    with pytest.raises(DataError, match="dates or durations"):
        Clients.from_arrays([pd.DataFrame({"day": days})])
    with pytest.raises(DataError, match="Timestamp"):
        Clients.from_arrays([pd.DataFrame({"day": days, "x": [1.0, 2.0]})])
    with pytest.raises(DataError, match="Column 'day' holds datetime64"):
        Clients.from_frame(pd.DataFrame({"day": days, "client": [0, 1]}))
