"""Likelihoods of fitted mixtures: probabilities, information criteria and samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal

from contract_cases import GAUSSIAN, build, make_clients, named
from fedmix import methods
from fedmix.errors import DataError


@pytest.mark.parametrize("name", [n for n in GAUSSIAN if hasattr(methods.get(n), "score_samples")])
def test_probabilities_criteria_and_samples_agree_with_the_likelihood(name):
    clients = named(name, "gaussian")
    fitted = build(name, "gaussian").fit(clients)
    shares = fitted.predict_proba(clients)
    assert_allclose(np.concatenate(shares).sum(axis=1), 1.0)
    assert_equal([own.argmax(axis=1) for own in shares], fitted.predict(clients))
    total = np.concatenate(fitted.score_samples(clients)).sum()
    if name == "CentralDPGMM":
        assert not hasattr(fitted, "bic")
    else:
        p = (fitted.aic(clients) + 2 * total) / 2
        assert p == pytest.approx(round(p))
        assert fitted.bic(clients) == pytest.approx(p * np.log(clients.n_points) - 2 * total)
    drawn, labels = fitted.sample([400, 300], clients=["b", "e"], random_state=0)
    assert drawn.names == ["b", "e"]
    assert drawn.sizes.tolist() == [400, 300]
    found = np.concatenate(fitted.predict(drawn))
    assert np.mean(found == np.concatenate(labels)) > 0.95
    for sizes in ([1, 2], 0, -1, 1.5, "a", [[1]]):
        with pytest.raises(DataError, match="expected n_samples to be one integer"):
            fitted.sample(sizes)


def test_a_sample_of_clients_without_names_has_none():
    xs = list(make_clients("LocalEM", "gaussian"))
    fitted = build("LocalEM", "gaussian").fit([xs[0], xs[1] + 100.0])
    drawn, _ = fitted.sample(200, random_state=0)
    assert not drawn.named
    assert fitted.score(drawn) == pytest.approx(fitted.score(drawn, clients=[0, 1]))
    turned, _ = fitted.sample(200, clients=[1, 0], random_state=0)
    assert fitted.score(turned, clients=[1, 0]) == pytest.approx(fitted.score(drawn), abs=0.3)


@pytest.mark.parametrize("name", [n for n in GAUSSIAN if hasattr(methods.get(n), "predict_proba")])
def test_probabilities_of_a_point_far_away_sum_to_one(name):
    fitted = build(name, "gaussian").fit(named(name, "gaussian"))
    (shares,) = fitted.predict_proba([[[1e150, 0.0, 0.0], [1e8, 1e8, 0.0]]], clients=["a"])
    assert_allclose(shares.sum(axis=1), 1.0)


def test_the_central_mixture_counts_parameters_as_scikit_learn_does():
    clients = make_clients("CentralGMM", "gaussian")
    for covariance in ("full", "tied", "diag", "spherical"):
        fitted = methods.CentralGMM(3, covariance_type=covariance).fit(clients)
        assert fitted.bic(clients) == pytest.approx(fitted._model.bic(clients.points))
        assert fitted.aic(clients) == pytest.approx(fitted._model.aic(clients.points))


def test_common_means_count_once():
    clients = make_clients("FedEM", "gaussian")
    criteria = {
        name: (build(name, "gaussian").fit(clients)) for name in ("LocalEM", "FedEM", "PooledEM")
    }
    counts = {name: model._n_parameters() for name, model in criteria.items()}
    assert counts == {"LocalEM": 6 * 2 * 3 + 6, "FedEM": 2 * 3 + 6, "PooledEM": 2 * 3 + 1}


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [
        ("LocalEM", [1], 2 * 3 + 1),
        ("FedEM", [1], 2 * 3 + 1),
        ("FedEM", "new", 2 * 3 + 1),
        ("PooledEM", [1], 2 * 3 + 1),
        ("FedGEM", [1], 2 * 3),
    ],
)
def test_criteria_of_one_client_count_its_own_parameters(name, wanted, expected):
    clients = make_clients(name, "gaussian")
    fitted, one = build(name, "gaussian").fit(clients), clients.subset([1])
    (values,) = fitted.score_samples(one, clients=wanted)
    assert fitted.aic(one, clients=wanted) / 2 + values.sum() == pytest.approx(expected)
