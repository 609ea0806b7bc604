"""k-FED: how the server picks and moves the centres."""

import numpy as np
import pytest

from fedmix import Clients
from fedmix.errors import ConfigurationError
from fedmix.methods.kfed import KFED, _spread_out, lloyd_step


def test_own_rule_takes_the_largest_minimum_and_the_published_the_largest_mean():
    chosen = np.array([[0.0], [10.0]])
    candidates = np.array([[0.0], [10.0], [5.0], [14.0]])
    own = _spread_out(chosen, candidates, 3, "farthest-minimum")
    published = _spread_out(chosen, candidates, 3, "farthest-mean")
    assert own[-1, 0] == 5.0
    assert published[-1, 0] == 14.0


def test_lloyd_step_moves_centres_to_their_means_and_leaves_empty_ones():
    points = np.array([[0.0], [1.0], [9.0]])
    moved = lloyd_step(points, np.array([[0.0], [10.0], [100.0]]))
    np.testing.assert_allclose(moved, [[0.5], [9.0], [100.0]])


def test_clients_with_fewer_clusters_than_k_together_find_all():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0]])
    xs = [
        centres[[a, b]].repeat(20, axis=0) + rng.normal(size=(40, 2))
        for a, b in [(0, 1), (1, 2), (2, 3)]
    ]
    model = KFED(4, components_per_client=2, random_state=0).fit(Clients.from_arrays(xs))
    nearest = np.linalg.norm(model.cluster_centers_[:, None] - centres, axis=2).argmin(axis=1)
    assert sorted(nearest) == [0, 1, 2, 3]
    assert model.communication_ == {"up": 6 * 2, "down": 3 * 4 * 2}


def test_unknown_seeding_is_refused():
    with pytest.raises(ConfigurationError, match="farthest-mean"):
        KFED(2, seeding="farthest-men").fit(Clients.from_arrays([np.zeros((3, 1))]))
