"""Parameters are chosen without labels, by points that the fit has not seen."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from fedmix import Clients, methods, selection
from fedmix.errors import ConfigurationError, SelectionWarning
from fedmix.methods.federated_mixture import FederatedMixture
from fedmix.metrics.clustering import silhouette

CENTRES = 8.0 * np.eye(3)


def blobs(seed=0, n_clients=6, n_points=30):
    """Clients with points in each of three clusters."""
    rng = np.random.default_rng(seed)
    shape = (n_points, 3)
    return [
        CENTRES[rng.integers(3, size=n_points)] + rng.standard_normal(shape)
        for _ in range(n_clients)
    ]


@pytest.mark.parametrize("criterion", ["held_out", "silhouette", "stability"])
def test_every_criterion_finds_the_number_of_separated_clusters(criterion):
    grid = {"n_components": [5, 4, 3, 2]}
    chosen = selection.choose(methods.CentralGMM(), blobs(), grid, criterion)
    assert chosen.best_parameters == {"n_components": 3}
    assert chosen.best_estimator.n_clusters_ == 3
    assert len(chosen.best_estimator.labels_) == 6


def test_the_table_has_a_row_a_candidate_in_their_order_and_gains_over_the_first():
    grid = {"n_components": [2, 3], "max_iter": [50, 100]}
    chosen = selection.choose(methods.CentralGMM(), blobs(), grid, refit=False)
    assert list(chosen.scores) == ["max_iter", "n_components", "score", "n_undefined"]
    assert chosen.scores["n_components"].tolist() == [2, 3, 2, 3]
    assert chosen.scores["score"].iloc[0] == 0.0
    assert (chosen.scores["n_undefined"] == 0).all()
    assert chosen.best_estimator is None


def test_one_cluster_is_stable_and_not_chosen():
    grid = {"n_components": [1, 2]}
    chosen = selection.choose(methods.CentralGMM(), blobs(), grid, "stability", refit=False)
    assert chosen.scores["score"].iloc[0] == 0.0
    assert chosen.scores["n_undefined"].iloc[0] > 0
    assert chosen.best_parameters == {"n_components": 2}


def test_of_candidates_that_tie_the_first_is_chosen():
    for order in ([100, 90], [90, 100]):
        chosen = selection.choose(methods.CentralGMM(3), blobs(), {"max_iter": order})
        assert chosen.best_parameters == {"max_iter": order[0]}


def test_no_point_is_judged_by_a_fit_that_has_seen_it(monkeypatch):
    seen = []

    class Watched(methods.CentralGMM):
        def fit(self, clients):
            self.own = {tuple(x) for x in clients.points}
            return super().fit(clients)

        def score_samples(self, clients):
            seen.append(self.own & {tuple(x) for x in clients.points})
            return super().score_samples(clients)

    selection.choose(Watched(3), blobs(), {"max_iter": [100]}, refit=False)
    assert seen == [set()] * 5


def test_held_out_gains_are_those_of_the_typical_client():
    xs = blobs()
    strange = [x + 100.0 if k == 5 else x for k, x in enumerate(xs)]
    grid = {"n_components": [2, 3]}
    gains = {
        average: selection.choose(methods.CentralGMM(), strange, grid, average=average).scores
        for average in ("median", "mean")
    }
    assert gains["median"]["score"].iloc[1] != gains["mean"]["score"].iloc[1]


def test_a_silhouette_is_the_mean_over_clients_of_the_points_held_out():
    xs, grid = blobs(), {"n_components": [3]}
    chosen = selection.choose(
        methods.CentralGMM(), xs, grid, "silhouette", average="mean", n_splits=1
    )
    ((seen, held),) = selection._splits(Clients.from_arrays(xs), 3, 1, 0)
    labels = methods.CentralGMM(3).fit(seen).predict(held)
    expected = np.mean([silhouette(x, own) for x, own in zip(held, labels, strict=True)])
    assert chosen.scores["score"].iloc[0] == pytest.approx(expected)


def test_a_weighted_average_counts_clients_by_their_points():
    xs = [blobs()[0], blobs()[1][::2], CENTRES[:2]]  # the last has too few points for the folds
    chosen = {
        average: selection.choose(
            methods.CentralGMM(), xs, {"n_components": [3, 2]}, "silhouette", average=average
        )
        for average in ("mean", "weighted")
    }
    by_client = chosen["weighted"].by_client
    expected = by_client @ [len(xs[0]), len(xs[1])] / (len(xs[0]) + len(xs[1]))
    np.testing.assert_allclose(chosen["weighted"].scores["score"], expected)
    np.testing.assert_allclose(chosen["mean"].scores["score"], by_client.mean(axis=1))


def test_one_label_has_no_silhouette_and_counts_as_0():
    chosen = selection.choose(methods.CentralGMM(), blobs(), {"n_components": [1, 3]}, "silhouette")
    assert chosen.scores["n_undefined"].tolist() == [18, 0]
    assert chosen.scores["score"].iloc[0] == 0.0


def test_a_client_with_fewer_points_than_folds_takes_part_and_has_none_held_out():
    xs = [*blobs(), CENTRES[:2]]
    seen, held = selection._splits(Clients.from_arrays(xs), 3, None, 0)[0]
    assert seen.sizes.tolist() == [20] * 6 + [2]
    assert held.sizes.tolist() == [10] * 6 + [0]
    assert selection.choose(methods.CentralGMM(), xs, {"n_components": [3]}, n_folds=3)


def test_folds_of_a_client_do_not_depend_on_the_others():
    one, other = blobs(0), blobs(1)
    together = selection._splits(Clients.from_arrays([one[0], other[1]]), 5, 1, 3)[0][1]
    apart = selection._splits(Clients.from_arrays([one[0], one[1]]), 5, 1, 3)[0][1]
    np.testing.assert_array_equal(together[0], apart[0])


def test_responses_follow_their_points():
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal((30, 2)) for _ in range(3)]
    clients = Clients.from_arrays(xs, [x @ [1.0, 2.0] for x in xs])
    for part in selection._splits(clients, 5, 1, 0)[0]:
        np.testing.assert_allclose(part.responses, part.points @ [1.0, 2.0])


def test_a_candidate_that_diverges_is_never_chosen():
    method = methods.LocalGradientEM(n_components=3, init="kmeans++", max_rounds=50, tol=0.0)
    chosen = selection.choose(method, blobs(), {"step_size": [1e200, 0.1]})
    assert chosen.best_parameters == {"step_size": 0.1}
    assert np.isnan(chosen.scores["score"].iloc[0])
    with pytest.warns(
        SelectionWarning, match="all candidates diverged. The first candidate is used"
    ):
        selection.choose(method, blobs(), {"step_size": [1e200]}, refit=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"candidates": {"n_component": [3]}}, "no parameter 'n_component'. .* 'n_components'"),
        ({"candidates": {"n_components": [0]}}, "n_components to be an integer >= 1, got 0"),
        ({"criterion": "heldout"}, "Unknown criterion 'heldout'. Did you mean 'held_out'"),
        ({"average": "medain"}, "Unknown average 'medain'. Did you mean .*'median'"),
        ({"n_folds": 1}, "n_folds to be an integer of at least 2, got 1"),
        ({"n_folds": 2.5}, "n_folds to be an integer of at least 2, got 2.5"),
        ({"candidates": []}, "at least one candidate"),
        ({"n_splits": 6}, "n_splits <= n_folds; got 5 and 6"),
        ({"random_state": None}, "random_state to be an integer of at least 0, got None"),
        ({"estimator": methods.FedEM}, r"such as FedEM\(2\), got <class .*FedEM"),
        ({"estimator": make_pipeline(methods.FedEM(2))}, "(?s)got Pipeline.* give the last step"),
    ],
)
def test_a_wrong_argument_is_told_before_any_fit(arguments, says):
    chosen = {"estimator": methods.CentralGMM(), "candidates": {"n_components": [3]}} | arguments
    with pytest.raises(ConfigurationError, match=says):
        selection.choose(clients=blobs(), **chosen)


def test_a_method_without_a_likelihood_is_sent_to_the_other_criteria():
    with pytest.raises(ConfigurationError, match=r"KFED has no likelihood .* 'silhouette' or"):
        selection.choose(methods.KFED(), blobs(), {"n_clusters": [3]})


def test_fedgem_s_likelihood_is_that_of_each_client_s_own_mixture():
    xs = blobs()
    fitted = methods.FedGEM(components_per_client=3, learn_weights=True).fit(
        [*xs, np.empty((0, 3))]
    )
    points = fitted.score_samples([*xs, np.empty((0, 3))])
    squares = ((xs[0][:, None] - fitted.means_[0]) ** 2).sum(axis=2)
    densities = np.exp(-squares / 2) @ fitted.weights_[0] / (2 * np.pi) ** 1.5
    np.testing.assert_allclose(points[0], np.log(densities))
    assert points[-1].shape == (0,)
    assert fitted.score([*xs, np.empty((0, 3))]) == np.concatenate(points).mean()


def test_fedgem_warns_where_the_clusters_hang_on_the_final_radius(recwarn):
    rng = np.random.default_rng(0)
    line = np.repeat([[0.0, 0.0], [6.0, 0.0], [12.0, 0.0]], 5, axis=0)
    xs = [line + rng.standard_normal((15, 2)) for _ in range(10)]
    with pytest.warns(SelectionWarning, match="3 at 0.5, 2 at 1, 1 at 2"):
        fitted = methods.FedGEM(components_per_client=3).fit(xs)
    assert fitted.n_clusters_by_scale_ == {0.5: 3, 1.0: 2, 2.0: 1}
    assert fitted.n_clusters_ == 2
    for v, found in fitted.n_clusters_by_scale_.items():
        again = methods.FedGEM(components_per_client=3, final_radius_scale=v).fit(xs)
        assert again.n_clusters_ == found
    recwarn.clear()
    methods.FedGEM(components_per_client=3).fit(blobs(n_points=200))
    assert not [w for w in recwarn if w.category is SelectionWarning]


def test_held_out_likelihood_merges_what_belongs_together_and_nothing_else():
    rng = np.random.default_rng(0)
    line = np.repeat([[0.0, 0.0], [6.0, 0.0], [12.0, 0.0]], 5, axis=0)
    xs = [line + rng.standard_normal((15, 2)) for _ in range(10)]
    grid = {"final_radius_scale": [1e-6, 0.25, 1.0, 2.0]}
    chosen = selection.choose(methods.FedGEM(components_per_client=3), xs, grid)
    assert chosen.best_parameters == {"final_radius_scale": 0.25}
    assert chosen.best_estimator.n_clusters_ == 3


@pytest.mark.parametrize("criterion", ["held_out", "silhouette", "stability"])
def test_candidates_that_share_a_start_score_as_if_each_had_its_own(criterion, monkeypatch):
    """Whether the estimator can share its start does not change a digit."""
    estimator = methods.FedGrEM(n_components=2, init="kmeans++", max_rounds=20, tol=0)
    grid = {"penalty_scale": [0.5, 2.0, 8.0]}
    shared = selection.choose(estimator, blobs(), grid, criterion, refit=False)
    monkeypatch.delattr(FederatedMixture, "with_start")
    alone = selection.choose(estimator, blobs(), grid, criterion, refit=False)
    np.testing.assert_array_equal(shared.by_client, alone.by_client)


@pytest.mark.parametrize("name", ["LocalEM", "PooledEM", "PooledGradientEM"])
def test_a_copy_that_starts_in_numbers_fits_as_the_original(name):
    clients = Clients.from_arrays(blobs())
    original = methods.get(name)(n_components=3, init="kmeans++", max_rounds=5, tol=0)
    copy = original.with_start(clients)
    assert not isinstance(copy.init, str)
    np.testing.assert_array_equal(copy.fit(clients).means_, original.fit(clients).means_)


def test_a_start_is_computed_once_for_all_candidates_unless_they_vary_it(monkeypatch):
    computed = []
    original = methods.FedGrEM._initial_values

    def counted(self, clients):
        computed.append(isinstance(self.init, str))
        return original(self, clients)

    monkeypatch.setattr(methods.FedGrEM, "_initial_values", counted)
    estimator = methods.FedGrEM(n_components=2, init="kmeans++", max_rounds=2, tol=0)
    selection.choose(
        estimator, blobs(), {"penalty_scale": [1.0, 2.0, 4.0]}, n_splits=1, refit=False
    )
    assert sum(computed) == 1
    computed.clear()
    selection.choose(estimator, blobs(), {"n_components": [1, 2, 3]}, n_splits=1, refit=False)
    assert sum(computed) == 3
