"""A client without points changes nothing for the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from contract_cases import GAUSSIAN, build
from fedmix import methods
from fedmix.errors import DataError

N_EMPTY = 4
EMPTY = [np.empty((0, 2))] * N_EMPTY
# AFCL draws a share of the clients in each round.
SAME_FIT = [name for name in GAUSSIAN if name != "AFCL"]


def points():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    return [centres[rng.integers(3, size=40)] + rng.normal(size=(40, 2)) for _ in range(5)]


def pair(method, *responses):
    """Return two fits: without and with empty clients."""
    xs = points()
    more = [[*own, *[np.empty(0)] * N_EMPTY] for own in responses]
    return method.fit(xs, *responses), clone(method).fit([*xs, *EMPTY], *more)


def responses():
    rng = np.random.default_rng(1)
    return [x.sum(axis=1) * rng.choice([-1, 1], len(x)) + rng.normal(size=len(x)) for x in points()]


@pytest.mark.parametrize("name", SAME_FIT)
def test_labels_of_the_others_and_messages_are_the_same(name):
    without, fitted = pair(build(name, "gaussian"))
    assert len(fitted.labels_) == 5 + N_EMPTY
    for own, same in zip(without.labels_, fitted.labels_[:5], strict=True):
        assert_array_equal(own, same)
    assert fitted.communication_ == without.communication_


@pytest.mark.parametrize(
    "method",
    [methods.get(name)(2, family="regression", max_rounds=5) for name in ("FedEM", "FedGMM")]
    + [methods.get(name)(2, rounds=5) for name in ("TwoPhase", "IFCA", "OneShotClustering")],
    ids=lambda method: type(method).__name__,
)
def test_they_neither_send_nor_receive_for_regressions(method):
    without, fitted = pair(method, responses())
    assert fitted.communication_ == without.communication_


def test_tgmm_does_not_wait_for_them():
    without, fitted = pair(methods.TGMM(3, source_weight=0.01, tol=1e-6))
    assert fitted.n_rounds_ == without.n_rounds_
    assert_allclose(
        fitted.means_[5:], np.broadcast_to(without.means_.mean(axis=0), (4, 3, 2)), atol=0.3
    )


@pytest.mark.parametrize(
    "name", ["LocalEM", "FedEM", "FedGrEM", "TGMM", "PooledEM", "LocalGradientEM"]
)
def test_means_and_criteria_of_mixtures_are_the_same(name):
    without, fitted = pair(methods.get(name)(3))
    assert_allclose(without.means_, fitted.means_[:5], rtol=1e-12)
    xs = points()
    assert fitted.bic([*xs, *EMPTY]) == pytest.approx(without.bic(xs))
    assert fitted.aic([*xs, *EMPTY]) == pytest.approx(without.aic(xs))


def test_criteria_of_mixtures_of_regressions_are_the_same():
    for name in ("FedEM", "FedGMM"):
        without, fitted = pair(methods.get(name)(2, family="regression"), responses())
        assert_allclose(without.means_, fitted.means_[:5], rtol=1e-9)
        assert without._n_parameters() == fitted._n_parameters()


@pytest.mark.parametrize("name", ["FedEM", "PooledEM"])
def test_a_new_client_gets_the_weights_of_clients_with_points(name):
    rng = np.random.default_rng(0)
    weights, means = np.array([0.98, 0.01, 0.01]), rng.normal(size=(3, 2))
    fits = [
        methods.get(name)(3, init=(np.tile(weights, (n, 1)), np.tile(means, (n, 1, 1)))).fit(xs)
        for n, xs in ((5, points()), (5 + N_EMPTY, [*points(), *EMPTY]))
    ]
    scores = [fitted.score(points()[:1], clients="new") for fitted in fits]
    assert scores[0] == pytest.approx(scores[1])


def test_k_fed_draws_no_seeds_for_them():
    without, fitted = pair(methods.KFED(3, random_state=1))
    assert_array_equal(without.cluster_centers_, fitted.cluster_centers_)


def test_fedgem_names_the_client_that_has_no_components():
    xs = points()
    fitted = methods.FedGEM(3).fit({"a": xs[0], "b": xs[1], "c": EMPTY[0]})
    with pytest.raises(DataError, match=r"Clients \['c'\] had no points in fit"):
        fitted.predict({"c": xs[2]})
    with pytest.raises(DataError, match=r"Client c had no points .* Leave it out"):
        fitted.sample(2)
    assert fitted.sample(2, clients=["a", "b"])[0].names == ["a", "b"]
