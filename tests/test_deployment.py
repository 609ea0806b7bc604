"""A fitted model meets new data: other columns, other clients, names, files, probabilities."""

import json
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from contract_cases import CASES, GAUSSIAN, NAMES, build, make_clients, named
from fedmix import Clients, methods
from fedmix.errors import DataError
from fedmix.methods.base import FederatedEstimator
from fedmix.preprocessing import ClientScaler

every_case = pytest.mark.parametrize(("name", "family"), CASES)
REGRESSIONS = [name for name, family in CASES if family == "regression"]
#: Methods whose clients have models of their own, and nothing for a new client.
OWN = ("FedGrEM", "LocalEM", "LocalGradientEM", "LocalKMeans", "TGMM")


@pytest.fixture(scope="module")
def frame():
    """One data frame of three clients, in no order."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 50.0], [20.0, -10.0]])
    found = pd.DataFrame(
        centres[rng.integers(2, size=90)] + rng.normal(size=(90, 2)), columns=["size", "age"]
    )
    found["client"] = rng.choice(["north", "south", "west"], size=90)
    found.index = rng.permutation(1000)[:90]
    return found


@pytest.mark.parametrize("name", GAUSSIAN)
def test_swapped_columns_raise_with_both_lists(name):
    xs = [pd.DataFrame(x, columns=["u", "v", "w"]) for x in make_clients(name, "gaussian")]
    fitted = build(name, "gaussian").fit(xs)
    assert fitted.n_features_in_ == 3
    assert list(fitted.feature_names_in_) == ["u", "v", "w"]
    swapped = [x[["v", "u", "w"]] for x in xs]
    calls = [
        fitted.predict,
        *(getattr(fitted, n) for n in ("score_samples", "predict_clusters") if hasattr(fitted, n)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"\['u', 'v', 'w'\].*\['v', 'u', 'w'\]"):
            call(swapped)
    with pytest.warns(UserWarning, match="no feature names"):
        fitted.predict([x.to_numpy() for x in xs])


def test_names_only_at_predict_warn_and_numbers_are_no_names():
    xs = list(make_clients("KFED", "gaussian"))
    fitted = methods.KFED(2).fit(xs)
    assert not hasattr(fitted, "feature_names_in_")
    with pytest.warns(UserWarning, match="the fit had data with no feature names"):
        fitted.predict([pd.DataFrame(x, columns=list("abc")) for x in xs])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict([pd.DataFrame(x) for x in xs])


def test_a_fit_to_arrays_forgets_the_names_of_an_earlier_fit():
    xs = list(make_clients("KFED", "gaussian"))
    fitted = methods.KFED(2).fit([pd.DataFrame(x, columns=list("abc")) for x in xs]).fit(xs)
    assert not hasattr(fitted, "feature_names_in_")


@every_case
def test_some_of_the_clients_by_name_get_the_labels_of_all(name, family):
    clients = named(name, family)
    fitted = build(name, family).fit(clients)
    assert fitted.client_names_ == NAMES
    every = fitted.predict(clients)
    some = clients.subset([4, 1])
    assert some.names == ["e", "b"]
    assert_equal(fitted.predict(some), [every[4], every[1]])
    bare = Clients(some.points, some.offsets, some.responses)
    assert_equal(fitted.predict(bare, clients=["e", "b"]), [every[4], every[1]])


@every_case
def test_new_clients_are_labelled_or_the_error_says_what_to_do(name, family):
    fitted = build(name, family).fit(make_clients(name, family))
    new = make_clients(name, family, sizes=(20, 14), seed=5)
    if name in OWN:
        with pytest.raises(DataError, match=r"was fitted to 6 clients.*clients=\[names\].*Refit"):
            fitted.predict(new)
        return
    labels = fitted.predict(new)
    assert [own.shape for own in labels] == [(20,), (14,)]
    if family == "gaussian":
        for own in labels:
            assert not set(own[::2]) & set(own[1::2]), "separated clusters"
    assert_equal(fitted.predict(new, clients="new"), labels)


def test_a_name_that_was_not_in_the_fit_is_an_error_with_a_hint():
    clients = named("FedEM", "gaussian")
    fitted = build("FedEM", "gaussian").fit(clients)
    with pytest.raises(DataError, match=r"client 'A' was not in the fit\. Did you mean 'a'"):
        fitted.predict(clients.subset([0]), clients=["A"])
    with pytest.raises(DataError, match="has 2 names, but the data are Clients"):
        fitted.predict(clients.subset([0]), clients=["a", "b"])
    with pytest.raises(DataError, match="a list of names or 'new', got 'a'"):
        fitted.predict(clients.subset([0]), clients="a")
    unnamed = build("FedEM", "gaussian").fit(list(clients))
    with pytest.raises(DataError, match="got a mask"):
        unnamed.predict(list(clients)[:2], clients=[True, False])


def test_without_a_server_fedgem_has_no_clusters_for_new_clients():
    clients = make_clients("FedGEM", "gaussian")
    fitted = methods.FedGEM(2, server="none").fit(clients)
    with pytest.raises(DataError, match="each with its own model"):
        fitted.predict(clients.subset([0]))


def test_a_new_client_of_fedgem_has_the_global_clusters():
    clients = make_clients("FedGEM", "gaussian")
    fitted = methods.FedGEM(2, max_rounds=3).fit(clients)
    new = clients.subset([0])
    assert_equal(fitted.predict(new), fitted.predict_clusters(new))
    assert_equal(fitted.predict_clusters(new)[0], fitted.predict_clusters(clients)[0])


def test_a_new_client_of_fedem_has_the_average_weights():
    clients = make_clients("FedEM", "gaussian")
    fitted = build("FedEM", "gaussian").fit(clients)
    weights, means = fitted.weights_.mean(axis=0), fitted.means_[0]
    density = sum(
        w * multivariate_normal(m, np.eye(3)).pdf(clients[0])
        for w, m in zip(weights, means, strict=True)
    )
    assert_allclose(fitted.score_samples(clients.subset([0]))[0], np.log(density))


def test_names_survive_from_a_data_frame_and_labels_go_back_to_its_rows(frame):
    clients = Clients.from_frame(frame)
    assert clients.names == ["north", "south", "west"]
    assert clients.feature_names == ["size", "age"]
    fitted = methods.FedEM(2).fit(clients)
    table = fitted.labels_frame()
    assert list(table.columns) == ["client", "label"]
    assert table["client"].tolist() == frame["client"].tolist()
    joined = frame.assign(label=table["label"].to_numpy())
    assert joined.groupby(joined["size"] > 10)["label"].nunique().tolist() == [1, 1]
    south = fitted.labels_frame(Clients.from_frame(frame[frame["client"] == "south"]))
    expected = joined.loc[joined["client"] == "south", "label"]
    assert south["label"].tolist() == expected.tolist()
    assert set(south["client"]) == {"south"}


def test_groups_are_taken_as_a_keyword_and_labels_come_in_the_order_of_the_rows(frame):
    X, groups = frame[["size", "age"]].to_numpy(), frame["client"].to_numpy()
    fitted = methods.FedGrEM(2).fit(X, groups=groups)
    assert_equal(fitted.labels_, methods.FedGrEM(2).fit((X, groups)).labels_)
    assert fitted.client_names_ == ["north", "south", "west"]
    table = fitted.labels_frame()
    assert table["client"].tolist() == groups.tolist()
    some = groups != "west"
    assert_equal(fitted.predict(X[some], groups=groups[some]), fitted.labels_[:2])
    with pytest.raises(DataError, match="Do not give them again"):
        fitted.fit(Clients.from_frame(frame), groups=groups)


def test_a_mapping_names_its_clients_and_responses_follow_it():
    rng = np.random.default_rng(0)
    xs = {"b": rng.normal(size=(9, 2)), "a": rng.normal(size=(7, 2))}
    ys = {name: xs[name].sum(axis=1) for name in ("a", "b")}
    clients = Clients.from_arrays(xs, ys)
    assert clients.names == ["b", "a"]
    assert_equal(clients.responses_of(1), ys["a"])
    fitted = methods.LocalEM(1, family="regression").fit(xs, ys)
    assert_allclose(fitted.predict_response({"a": xs["a"]})[0], ys["a"], atol=1e-6)
    with pytest.raises(DataError, match="same keys"):
        Clients.from_arrays(xs, {"a": ys["a"]})
    with pytest.raises(DataError, match="different names"):
        Clients(np.ones((2, 1)), [0, 1, 2], names=["a", "a"])


def test_a_name_alone_is_no_list_of_clients():
    fitted = build("LocalEM", "gaussian").fit(named("LocalEM", "gaussian"))
    with pytest.raises(DataError, match=r"expected clients to be a list of names or 'new', got 0"):
        fitted.predict([np.zeros((1, 3))], clients=0)


@pytest.mark.parametrize("ask", ["score", "predict", "predict_proba", "score_samples", "bic"])
def test_responses_are_not_taken_for_names_of_clients(ask):
    clients = make_clients("FedEM", "regression")
    xs, ys = list(clients), [clients.responses_of(k) for k in range(len(clients))]
    fitted = build("FedEM", "regression").fit(xs, ys)
    with pytest.raises(DataError, match=r"Give responses with the data, .*from_arrays\(xs, ys\)"):
        getattr(fitted, ask)(xs, ys)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions_predict_responses_without_being_given_them(name):
    clients = named(name, "regression")
    fitted = build(name, "regression").fit(clients)
    bare = Clients(clients.points, clients.offsets, names=NAMES)
    found = fitted.predict_response(bare)
    assert [own.shape for own in found] == [(n,) for n in clients.sizes]
    assert_equal(fitted.predict_response(bare.subset([3])), [found[3]])
    if methods.get(name).level == "client":
        for k, own in enumerate(found):
            assert_allclose(own, clients[k] @ fitted.models_[fitted.labels_[k]])
    else:
        low, high = (
            (fitted.means_ @ clients.points.T).min(1),
            (fitted.means_ @ clients.points.T).max(1),
        )
        for k, own in enumerate(found):
            rows = slice(clients.offsets[k], clients.offsets[k + 1])
            assert np.all(own >= low[k, rows] - 1e-9)
            assert np.all(own <= high[k, rows] + 1e-9)


def test_a_new_client_needs_responses_to_find_its_cluster():
    clients = make_clients("IFCA", "regression")
    fitted = build("IFCA", "regression").fit(clients)
    new = make_clients("IFCA", "regression", sizes=(8,), seed=3)
    bare = Clients(new.points, new.offsets)
    with pytest.raises(DataError, match=r"predict_clients\(Clients\.from_arrays"):
        fitted.predict_response(bare)
    cluster = fitted.predict_clients(new)[0]
    assert_allclose(fitted.predict_response(new)[0], new[0] @ fitted.models_[cluster])


def test_what_a_model_does_not_have_is_not_there():
    assert not hasattr(methods.FedEM(2), "predict_response")
    assert not hasattr(methods.FedEM(2, family="regression"), "sample")
    assert not hasattr(methods.KFED(2), "predict_proba")


class Faulty(FederatedEstimator):
    """A method whose labels are what it is told."""

    constraints = {"given": ["mapping"]}  # noqa: RUF012
    needs = ()

    def __init__(self, given=None, random_state=0):
        self.given, self.random_state = given, random_state

    def check_parameters(self):
        pass

    def _fit(self, clients):
        pass

    def _predict(self, clients):
        return self.given


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "a list of 2 arrays of labels, one per client; got a NoneType"),
        ([np.zeros(3, int)], "a list of 2 arrays .* got a list of length 1"),
        ([np.zeros(3, int), np.zeros(3, int)], r"2 integer labels for client y.*shape \(3,\)"),
        ([np.zeros(3, int), np.zeros(2)], "2 integer labels for client y.*an array of float64"),
    ],
)
def test_fit_checks_what_a_method_gives_back(given, says):
    xs = {"x": np.zeros((3, 1)), "y": np.ones((2, 1))}
    with pytest.raises(DataError, match=f"Faulty: expected .*{says}.*Correct its _predict"):
        Faulty(given).fit(xs)


_LOAD = """
import json, sys
import joblib, numpy as np
from fedmix import Clients
saved = joblib.load(sys.argv[1])
assert saved["fedmix"] == __import__("fedmix").__version__
x = np.load(sys.argv[2])
print(json.dumps([own.tolist() for own in saved["model"].predict({"b": x})]))
"""


def test_a_saved_model_labels_the_same_in_another_process(tmp_path):
    import fedmix

    clients = named("FedGrEM", "gaussian")
    fitted = build("FedGrEM", "gaussian").fit(clients)
    joblib.dump({"model": fitted, "fedmix": fedmix.__version__}, tmp_path / "model.joblib")
    np.save(tmp_path / "x.npy", clients[1])
    command = [sys.executable, "-c", _LOAD, tmp_path / "model.joblib", tmp_path / "x.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [fitted.labels_[1].tolist()]


def test_a_pipeline_of_scikit_learn_standardises_each_client_and_knows_it_again(frame):
    clients = Clients.from_frame(frame)
    pipeline = make_pipeline(ClientScaler(), methods.FedGrEM(2)).fit(clients)
    scaled = pipeline[0].transform(clients)
    for own in scaled:
        assert_allclose(own.mean(axis=0), 0, atol=1e-12)
        assert_allclose(own.std(axis=0, ddof=1), 1)
    assert scaled.names == clients.names
    assert scaled.feature_names == ["size", "age"]
    labels = pipeline.predict(clients)
    few = Clients(clients[1][:3], [0, 3], None, ["south"], clients.feature_names)
    assert_equal(pipeline.predict(few)[0], labels[1][:3])
    again = clone(pipeline).fit(clients).predict(clients)
    assert_equal(again, labels)
    with pytest.raises(DataError, match=r"\['size', 'age'\].*\['age', 'size'\]"):
        pipeline.predict(Clients.from_frame(frame[["age", "size", "client"]]))


def test_metadata_routing_tells_the_scaler_in_a_pipeline_which_clients_it_has(frame):
    xs = list(Clients.from_frame(frame))
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = ClientScaler().set_transform_request(clients=True)
        method = methods.FedGrEM(2).set_predict_request(clients=True)
        pipeline = make_pipeline(scaler, method).fit(xs)
        some = pipeline.predict([xs[1][:3]], clients=[1])
        assert_equal(some[0], pipeline.predict(xs)[1][:3])


def test_a_scaler_warns_where_it_takes_clients_for_new_ones():
    scaler = ClientScaler().fit([np.ones((2, 1)), np.zeros((2, 1))])
    with pytest.warns(UserWarning, match="had 2 clients and the data have 1, without names"):
        scaler.transform([np.ones((2, 1))])
    with warnings.catch_warnings(action="error"):
        scaler.transform([np.ones((2, 1))], clients=[0])
        scaler.transform([np.ones((2, 1))], clients="new")
        scaler.transform([np.ones((2, 1))] * 2)


def test_a_new_client_is_standardised_by_its_own_points_and_an_empty_one_stays_empty():
    xs = [np.array([[0.0], [2.0]]), np.empty((0, 1))]
    scaler = ClientScaler().fit(xs)
    assert_equal(scaler.scale_, [[np.sqrt(2)], [1.0]])
    new = scaler.transform([np.array([[5.0], [5.0], [5.0]])], clients="new")
    assert_equal(new[0], np.zeros((3, 1)))
