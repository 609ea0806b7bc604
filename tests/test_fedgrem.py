"""FedGrEM's own parts: the central update, steps, penalty, options."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from fedmix import Clients, methods
from fedmix.errors import ConfigurationError, DivergenceError, SelectionWarning
from fedmix.kernels.huber import huber_centres, penalty_thresholds
from fedmix.methods.fedgrem import pool_towards_centre
from fedmix.metrics import estimation_error
from fedmix.selection import choose, tune


def objective(flat, means, sizes, penalty):
    """The central problem of Algorithm 1 for one component, in nu_1 .. nu_K and their centre."""
    parameters = flat.reshape(-1, means.shape[1])
    pooled, centre = parameters[:-1], parameters[-1]
    fit = sizes / 2 * np.square(pooled - means).sum(axis=1)
    distance = np.linalg.norm(pooled - centre, axis=1)
    return (fit + np.sqrt(sizes) * penalty * distance).sum()


def simulate(n_clients=6, n=80, h=0.0, seed=0, outlier=False):
    generator = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    shifts = generator.normal(size=(n_clients, 2, 3))
    true_means = centres + h * shifts / np.linalg.norm(shifts, axis=2, keepdims=True)
    true_weights = np.full((n_clients, 2), 0.5)
    xs = []
    for k in range(n_clients):
        labels = generator.integers(2, size=n)
        xs.append(true_means[k, labels] + generator.normal(size=(n, 3)))
    if outlier:
        xs[-1] = 30 + 5 * generator.normal(size=(n, 3))
    start = true_means + generator.normal(scale=0.4, size=true_means.shape)
    return Clients.from_arrays(xs), (true_weights, start), (true_weights, true_means)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_clients=st.integers(1, 7),
    d=st.integers(1, 4),
    penalty=st.floats(0.05, 30),
)
def test_exact_central_update_is_no_worse_than_a_generic_solver(seed, n_clients, d, penalty):
    generator = np.random.default_rng(seed)
    means = generator.normal(size=(n_clients, 1, d)) * generator.choice([0.3, 3])
    sizes = generator.integers(1, 60, size=n_clients)
    pooled = pool_towards_centre(means, sizes, penalty)[:, 0]
    means = means[:, 0]

    def best_for(centre):  # the central problem with the pooled means minimised out
        distance = np.linalg.norm(means - centre, axis=1)
        cut = penalty / np.sqrt(sizes)
        huber = np.where(distance <= cut, distance**2 / 2, cut * distance - cut**2 / 2)
        return (sizes * huber).sum()

    generic = minimize(best_for, means.mean(axis=0), method="Powell", tol=1e-10).fun
    centre = huber_centres(
        means[:, None].copy(), sizes.astype(float), penalty_thresholds(penalty, sizes), 1e-12
    )[0]
    ours = objective(np.vstack([pooled, centre]).ravel(), means, sizes, penalty)
    assert ours <= generic * (1 + 1e-9) + 1e-12


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(1, 4), penalty=st.floats(0.01, 30))
def test_pulls_of_the_clients_add_up_to_zero_at_the_centre(seed, d, penalty):
    generator = np.random.default_rng(seed)
    means = generator.normal(size=(8, 3, d)) * np.exp(generator.normal(size=(8, 1, 1)))
    sizes = generator.integers(1, 200, size=8)
    thresholds = penalty_thresholds(penalty, sizes)
    centres = huber_centres(means, sizes.astype(float), thresholds, 1e-12)
    differences = means - centres
    distances = np.linalg.norm(differences, axis=2)
    shrink = np.minimum(1, thresholds[:, None] / distances)
    pulls = (sizes[:, None] * shrink)[..., None] * differences
    total = np.linalg.norm(pulls.sum(axis=0), axis=1)
    assert (total <= 1e-10 * np.linalg.norm(pulls, axis=2).sum(axis=0)).all()


def test_many_alternating_passes_reach_the_exact_update():
    generator = np.random.default_rng(0)
    means, sizes = generator.normal(size=(7, 3, 4)), generator.integers(20, 90, size=7)
    exact = pool_towards_centre(means, sizes, 5.0)
    np.testing.assert_allclose(pool_towards_centre(means, sizes, 5.0, 5000), exact, atol=1e-9)


def test_no_penalty_leaves_the_means_and_a_huge_one_averages_them():
    means, sizes = np.random.default_rng(0).normal(size=(4, 2, 3)), np.array([5, 10, 20, 5])
    np.testing.assert_allclose(pool_towards_centre(means, sizes, 0.0), means, rtol=1e-14)
    average = (sizes[:, None, None] * means).sum(axis=0) / sizes.sum()
    pooled = pool_towards_centre(means, sizes, 1e9)
    np.testing.assert_allclose(pooled, np.tile(average, (4, 1, 1)), atol=1e-12)


def test_client_without_points_takes_the_centre_and_does_not_move_it():
    means = np.array([[[0.0]], [[0.1]], [[100.0]]])
    for steps in ("exact", 3):
        pooled = pool_towards_centre(means, np.array([10, 10, 0]), 2.0, steps)
        np.testing.assert_allclose(pooled, 0.05, atol=1e-12)


def test_clients_without_points_do_not_change_the_penalty():
    clients, (weights, means), _ = simulate(h=1.0)
    options = {"penalty_scale": 0.5, "max_rounds": 30, "tol": 0.0}
    alone = methods.FedGrEM(2, init=(weights, means), **options).fit(clients)
    padded = [*clients, np.empty((0, 3)), np.empty((0, 3))]
    init = (np.vstack([weights, weights[:2]]), np.vstack([means, means[:2]]))
    more = methods.FedGrEM(2, init=init, **options).fit(padded)
    assert more.penalty_ == alone.penalty_
    np.testing.assert_array_equal(more.means_[:-2], alone.means_)


def test_one_wild_client_moves_the_others_by_a_bounded_amount():
    means, sizes = np.random.default_rng(0).normal(size=(9, 1, 3)), np.full(9, 50)
    pooled = [means]
    for distance in (1e2, 1e6, 1e12):
        means[-1] = distance
        pooled.append(pool_towards_centre(means, sizes, 3.0))
    np.testing.assert_allclose(pooled[1][:-1], pooled[3][:-1], atol=0.05)
    np.testing.assert_allclose(pooled[2][:-1], pooled[3][:-1], atol=1e-3)


def test_penalty_follows_the_published_path():
    clients, start, _ = simulate()
    fitted = methods.FedGrEM(n_components=2, init=start, max_rounds=3).fit(clients)
    penalty = 1.0
    for _ in range(3):
        penalty = 0.1 * penalty + 2.0 * np.sqrt(3 + np.log(6))
    assert fitted.penalty_ == pytest.approx(penalty, rel=1e-15)


def test_large_initial_penalty_makes_the_first_round_one_consensus():
    clients, start, _ = simulate(h=1.0)
    settings_ = {"n_components": 2, "init": start, "initial_penalty": 1e5}
    first = methods.FedGrEM(**settings_, max_rounds=1).fit(clients)
    np.testing.assert_allclose(first.means_, first.means_[:1].repeat(len(clients), axis=0))
    later = methods.FedGrEM(**settings_, penalty_scale=0.1, max_rounds=20).fit(clients)
    assert np.ptp(later.means_, axis=0).max() > 0.1
    assert later.penalty_ == pytest.approx(0.1 * np.sqrt(3 + np.log(6)) / 0.9)


def test_safe_step_never_goes_past_the_m_step():
    # The first client's start has a tiny weight for a component that most points belong to.
    clients, (_, means), _ = simulate(n_clients=1)
    weights = np.array([[0.01, 0.99]])
    settings_ = {"n_components": 2, "init": (weights, means), "max_rounds": 1, "penalty_scale": 0.0}
    safe = methods.FedGrEM(**settings_).fit(clients)
    full = methods.LocalEM(n_components=2, init=(weights, means), max_rounds=1).fit(clients)
    np.testing.assert_allclose(safe.means_[0, 0], full.means_[0, 0], atol=1e-12)
    unsafe = methods.FedGrEM(**settings_, safe_step=False).fit(clients)
    step = full.means_[0, 0] - means[0, 0]
    np.testing.assert_allclose(
        unsafe.means_[0, 0] - means[0, 0], 95 * full.weights_[0, 0] * step, rtol=1e-10
    )


def test_curvature_is_the_weight_for_gaussians():
    clients, start, _ = simulate()
    fits = [
        methods.FedGrEM(n_components=2, init=start, max_rounds=5, safe_step=safe).fit(clients)
        for safe in (True, "curvature")
    ]
    np.testing.assert_array_equal(fits[0].means_, fits[1].means_)


def exploding_fit():
    """Return a method whose steps are too large for the clients."""
    generator = np.random.default_rng(0)
    xs = [generator.normal(scale=4.0, size=(50, 3)) for _ in range(3)]
    clients = Clients.from_arrays(xs, [x.sum(axis=1) for x in xs])
    start = np.full((3, 2), 0.5), generator.normal(size=(3, 2, 3))
    method = methods.FedGrEM(n_components=2, family="regression", init=start, max_rounds=400)
    return method, clients


def test_curvature_keeps_regressions_from_diverging():
    method, clients = exploding_fit()
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(DivergenceError):
        method.fit(clients)
    fitted = method.set_params(safe_step="curvature").fit(clients)
    assert np.isfinite(fitted.means_).all()


def test_a_fit_that_explodes_has_a_finite_score_or_is_an_error():
    method, clients = exploding_fit()
    with pytest.raises(DivergenceError, match=r"larger than 1e\+152") as error:
        method.fit(clients)
    last = int(re.search(r"round (\d+)", str(error.value)).group(1)) - 1
    fitted = method.set_params(max_rounds=last).fit(clients)
    assert np.abs(fitted.means_).max() > 1e140
    assert np.isfinite(fitted.score(clients))


def test_divergence_names_the_client_before_it_reaches_the_others():
    clients, (weights, means), _ = simulate()
    method = methods.FedGrEM(
        n_components=2, init=(weights, means), step_scale=1e308, safe_step=False, max_rounds=5
    )
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(DivergenceError, match="client 0, component 0"),
    ):
        method.fit(clients)


def test_pooling_beats_local_fits_where_clients_agree():
    errors = {}
    for name in ("LocalEM", "FedGrEM"):
        clients, start, truth = simulate(n=40, outlier=True)
        fitted = methods.get(name)(n_components=2, init=start, max_rounds=60).fit(clients)
        errors[name] = estimation_error(fitted.weights_, fitted.means_, *truth, range(5))[1]
    assert errors["FedGrEM"] < 0.7 * errors["LocalEM"]


def test_clients_that_sit_out_keep_their_parameters():
    clients, start, _ = simulate()
    fitted = methods.FedGrEM(n_components=2, init=start, max_rounds=1, participation=0.5).fit(
        clients
    )
    moved = (fitted.means_ != start[1]).any(axis=(1, 2))
    assert moved.sum() == 3
    np.testing.assert_array_equal(fitted.weights_[~moved], start[0][~moved])
    assert fitted.communication_ == {"up": 3 * 6, "down": 3 * 6}


def test_partial_participation_and_batches_come_near_the_full_fit():
    clients, start, truth = simulate(n=200)
    fitted = methods.FedGrEM(
        n_components=2, init=start, max_rounds=150, participation=0.5, batch_size=100
    ).fit(clients)
    assert not fitted.converged_
    assert estimation_error(fitted.weights_, fitted.means_, *truth)[1] < 0.6


def test_batch_as_large_as_the_clients_changes_nothing():
    clients, start, _ = simulate()
    full = methods.FedGrEM(n_components=2, init=start, max_rounds=5)
    expected = full.fit(clients).means_
    np.testing.assert_array_equal(full.set_params(batch_size=80).fit(clients).means_, expected)


def test_aggregated_weights_stay_weights_and_agree():
    clients, start, _ = simulate()
    fitted = methods.FedGrEM(
        n_components=2, init=start, max_rounds=20, tol=0.0, aggregate_weights=True
    ).fit(clients)
    np.testing.assert_allclose(fitted.weights_.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(fitted.weights_, fitted.weights_[:1].repeat(6, axis=0), atol=1e-9)
    assert fitted.communication_["up"] == 20 * 6 * (6 + 2)


PENALTIES = {"penalty_scale": [0.1, 4.0]}


def test_held_out_likelihood_pools_similar_clients_more_than_different_ones():
    chosen = {}
    for h in (0.0, 6.0):
        clients, start, _ = simulate(n=30, h=h, n_clients=10)
        method = methods.FedGrEM(n_components=2, init=start, max_rounds=40)
        chosen[h] = choose(method, clients, PENALTIES, n_splits=1).best_parameters["penalty_scale"]
    assert chosen == {0.0: 4.0, 6.0: 0.1}


def test_contaminated_clients_do_not_choose_the_penalty():
    clients, start, _ = simulate(n=30, h=0.0, n_clients=10)
    method = methods.FedGrEM(n_components=2, init=start, max_rounds=40)
    far = [x + 50.0 if k > 7 else x for k, x in enumerate(map(clients.__getitem__, range(10)))]
    candidates = {"penalty_scale": [0.1, 2.0]}
    chosen = {
        average: choose(method, far, candidates, average=average, refit=False)
        for average in ("median", "mean")
    }
    assert chosen["median"].best_parameters == {"penalty_scale": 2.0}
    assert chosen["mean"].best_parameters == {"penalty_scale": 0.1}, "ruined by two of ten"


def test_candidates_grow_with_the_scale_of_the_data():
    clients, (weights, means), _ = simulate(n=30, h=0.0, n_clients=10)
    chosen = {}
    for unit in (1.0, 100.0):
        scaled = Clients.from_arrays([unit * clients[k] for k in range(10)])
        method = methods.FedGrEM(n_components=2, init=(weights, unit * means), max_rounds=40)
        chosen[unit] = tune(method, scaled)["penalty_scale"]
    assert chosen[100.0] >= 50.0 > chosen[1.0]


def test_held_out_penalty_is_used():
    clients, start, _ = simulate(n=30)
    method = methods.FedGrEM(n_components=2, init=start, max_rounds=10, penalty_scale="held-out")
    fitted = method.fit(clients)
    scale = tune(method, clients)["penalty_scale"]
    assert fitted.penalty_scale_ == scale
    same = method.set_params(penalty_scale=scale).fit(clients)
    np.testing.assert_array_equal(fitted.means_, same.means_)


def test_the_named_start_of_the_held_out_fits_has_not_seen_what_is_held_out(named_starts):
    clients, _, _ = simulate(n=30)
    method = methods.FedGrEM(n_components=2, init="kmeans++", max_rounds=2)
    method.set_params(penalty_scale="held-out").fit(clients)
    assert named_starts == [clients.n_points, 0.8 * clients.n_points], "of the fit, of the choice"


def test_candidates_share_one_named_start_from_the_training_part(named_starts):
    clients, _, _ = simulate(n=30)
    method = methods.FedGrEM(n_components=2, init="kmeans++", max_rounds=2)
    choose(method, clients, PENALTIES, n_splits=1, refit=False)
    assert named_starts == [0.8 * clients.n_points]


@pytest.fixture
def named_starts(monkeypatch) -> list[int]:
    """Return the number of points that each start given by name was computed from."""
    n_points = []
    start = methods.FedGrEM._initial_values

    def recorded(self, clients):
        if isinstance(self.init, str):
            n_points.append(clients.n_points)
        return start(self, clients)

    monkeypatch.setattr(methods.FedGrEM, "_initial_values", recorded)
    return n_points


def test_nothing_to_hold_out_gives_the_smallest_penalty():
    clients = Clients.from_arrays([[[0.0]], [[1.0], [2.0]]])
    method = methods.FedGrEM(n_components=1)
    with pytest.warns(SelectionWarning, match="FedGrEM: penalty_scale cannot be chosen"):
        chosen = choose(method, clients, {"penalty_scale": [2.0, 3.0]})
    assert chosen.best_parameters == {"penalty_scale": 2.0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"step_scale": 0.0}, "step_scale"),
        ({"initial_penalty": -1.0}, "initial_penalty"),
        ({"penalty_decay": -1.0}, "penalty_decay"),
        ({"penalty_scale": "heldout"}, "penalty_scale"),
        ({"central_steps": 0}, "central_steps"),
        ({"central_steps": "exactly"}, "central_steps"),
        ({"safe_step": "weights"}, "safe_step"),
        ({"participation": 0.0}, "participation"),
        ({"participation": 1.5}, "participation"),
        ({"batch_size": 0}, "batch_size"),
        ({"penalty_decay": 1.1}, "penalty_decay to be a finite number >= 0 and <= 1"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    clients, start, _ = simulate()
    with pytest.raises(ConfigurationError, match=message):
        methods.FedGrEM(n_components=2, init=start, **parameters).fit(clients)
