"""What all of FedGEM's baselines have in common."""

import numpy as np
import pytest

from fedmix import Clients, methods
from fedmix.errors import ConfigurationError

# For each method: how it is told that there are k clusters, k of them at every client.
BASELINES = {
    "KFED": lambda k: {"n_clusters": k, "components_per_client": k},
    "FedKMeans": lambda k: {"n_clusters": k, "components_per_client": k},
    "FFCM": lambda k: {"n_clusters": k},
    "AFCL": lambda k: {"components_per_client": k, "max_rounds": 5},
    "CentralGMM": lambda k: {"n_components": k},
    "CentralDPGMM": lambda k: {"components_per_client": k},
    "LocalKMeans": lambda k: {"components_per_client": k},
}
CENTRES = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])

pytestmark = pytest.mark.parametrize("name", BASELINES)


def build(name, k=3, **parameters):
    return methods.get(name)(**{**BASELINES[name](k), "random_state": 0, **parameters})


def three_clusters(sizes=(60, 90, 30)):
    rng = np.random.default_rng(0)
    return Clients.from_arrays([CENTRES[np.arange(n) % 3] + rng.normal(size=(n, 2)) for n in sizes])


def test_clients_send_and_receive_and_learn_centres(name):
    model = build(name).fit(three_clusters())
    assert all(v > 0 for v in model.communication_.values())
    assert model.cluster_centers_.shape[1] == 2
    assert model.n_clusters_ >= 1


def test_empty_and_tiny_clients_take_part(name):
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=(30, 2)), np.empty((0, 2)), rng.normal(size=(1, 2))]
    clients = Clients.from_arrays(xs)
    model = build(name).fit(clients)
    assert np.isfinite(model.cluster_centers_).all()
    assert [len(own) for own in model.predict(clients)] == [30, 0, 1]


def test_duplicate_points_and_constant_columns(name):
    clients = Clients.from_arrays([np.full((8, 2), 3.0), np.full((8, 2), 3.0)])
    model = build(name, k=2).fit(clients)
    assert np.isfinite(model.cluster_centers_).all()


def test_one_client_one_cluster_one_feature(name):
    x = np.random.default_rng(0).normal(size=(20, 1))
    model = build(name, k=1).fit(Clients.from_arrays([x]))
    assert model.cluster_centers_.shape == (1, 1)
    np.testing.assert_array_equal(model.predict(Clients.from_arrays([x]))[0], 0)


def test_zero_clusters_are_refused(name):
    with pytest.raises(ConfigurationError):
        build(name, k=0).fit(three_clusters())


def test_separated_clusters_are_found(name):
    clients = three_clusters()
    if name == "AFCL":
        pytest.skip("AFCL needs many rounds; see test_afcl.py")
    model = build(name).fit(clients)
    own = np.concatenate(model.predict(clients)[:1])
    truth = np.arange(60) % 3
    purity = [np.bincount(truth[own == c]).max() for c in np.unique(own)]
    assert sum(purity) == 60
