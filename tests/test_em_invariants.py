"""What holds for every method of the EM family, on ordinary and on awkward clients."""

import numpy as np
import pytest

from fedmix import Clients, methods
from fedmix.errors import ConfigurationError, DataError, DivergenceError

GAUSSIAN = [
    "LocalEM",
    "LocalGradientEM",
    "PooledEM",
    "PooledGradientEM",
    "FedEM",
    "FedGrEM",
    "TGMM",
]
REGRESSION = [name for name in GAUSSIAN if name != "TGMM"] + ["FedGMM"]
CASES = [(name, "gaussian") for name in GAUSSIAN] + [(name, "regression") for name in REGRESSION]


def simulate(sizes=(60, 40, 80), n_components=3, d=2, seed=0):
    """Clients whose components lie near common centres, with responses, and a start."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(scale=3.0, size=(n_components, d))
    xs, ys = [], []
    for n in sizes:
        labels = generator.integers(n_components, size=n)
        x = centres[labels] + generator.normal(size=(n, d))
        xs.append(x)
        ys.append(np.einsum("nd,nd->n", x, centres[labels]) + generator.normal(size=n))
    weights = np.full((len(sizes), n_components), 1 / n_components)
    means = centres + generator.normal(scale=0.3, size=(len(sizes), n_components, d))
    return Clients.from_arrays(xs, ys), weights, means


def build(name, family="gaussian", n_components=3, **parameters):
    method = methods.get(name)
    if name == "FedGMM":
        parameters = {"n_covariate_components": 2, **parameters}
    return method(n_components=n_components, family=family, **{"max_rounds": 5, **parameters})


def check_sound(fitted, clients, n_components):
    """Assert finite parameters of the right shapes, weights that add up to 1, valid labels."""
    shape = (len(clients), n_components)
    assert fitted.weights_.shape == shape
    assert fitted.means_.shape == (*shape, clients.n_features)
    assert np.isfinite(fitted.means_).all()
    np.testing.assert_allclose(fitted.weights_.sum(axis=1), 1.0, atol=1e-9)
    labels = fitted.predict(clients)
    assert [len(own) for own in labels] == clients.sizes.tolist()
    assert all(((own >= 0) & (own < n_components)).all() for own in labels)
    assert np.isfinite(fitted.score(clients))


@pytest.mark.parametrize("family", ["gaussian", "regression"])
@pytest.mark.parametrize("name", ["LocalEM", "PooledEM"])
def test_likelihood_never_falls(name, family):
    clients, weights, means = simulate()
    scores = [
        build(name, family, init=(weights, means), max_rounds=t).fit(clients).score(clients)
        for t in range(1, 15)
    ]
    assert (np.diff(scores) > -1e-12).all()
    assert scores[-1] > scores[0]


@pytest.mark.parametrize(("name", "family"), CASES)
def test_no_rounds_return_the_initial_values(name, family):
    clients, weights, means = simulate()
    fitted = build(name, family, init=(weights, means), max_rounds=0).fit(clients)
    expected = np.repeat(means[:1], 3, axis=0) if name.startswith("Pooled") else means
    np.testing.assert_array_equal(fitted.means_, expected)
    assert fitted.n_rounds_ == 0
    assert not fitted.converged_


@pytest.mark.parametrize("family", ["gaussian", "regression"])
@pytest.mark.parametrize("pair", [("LocalEM", "PooledEM"), ("LocalGradientEM", "PooledGradientEM")])
def test_pooled_equals_local_on_the_pooled_client(pair, family):
    clients, weights, means = simulate()
    pooled = build(pair[1], family, init=(weights, means)).fit(clients)
    local = build(pair[0], family, init=(weights[:1], means[:1])).fit(clients.pooled())
    np.testing.assert_array_equal(pooled.means_, np.repeat(local.means_, 3, axis=0))


@pytest.mark.parametrize(("name", "family"), CASES)
def test_one_client_equals_centralised(name, family):
    clients, weights, means = simulate(sizes=(90,))
    fitted = build(name, family, init=(weights, means)).fit(clients)
    if name == "FedGMM":  # it models the covariates as well
        check_sound(fitted, clients, 3)
        return
    if name == "FedGrEM":  # one client is its own centre
        step_sizes = 0.95 / weights
        reference = build("LocalEM", family, init=(weights, means), max_rounds=0).fit(clients)
        sample = reference._start(clients)
        for _ in range(5):
            statistics = reference._expectation(sample)
            reference.weights_ = statistics.mixing_weights(reference.weights_)
            steps = np.minimum(step_sizes, 1 / reference.weights_)[..., None]
            reference.means_ = reference.means_ + steps * statistics.gradient()
    else:
        same = "LocalGradientEM" if "Gradient" in name else "LocalEM"
        reference = build(same, family, init=(weights, means)).fit(clients)
    np.testing.assert_allclose(fitted.means_, reference.means_, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("name", "family"), CASES)
def test_result_follows_a_permutation_of_clients(name, family):
    if name.startswith("Pooled"):
        pytest.skip("the pooled methods start from the first client")
    clients, weights, means = simulate()
    order = [2, 0, 1]
    init = weights[order], means[order]
    fitted = build(name, family, init=(weights, means)).fit(clients)
    permuted = build(name, family, init=init).fit(clients.subset(order))
    np.testing.assert_allclose(permuted.means_, fitted.means_[order], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(permuted.weights_, fitted.weights_[order], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("name", "family"), CASES)
def test_result_follows_a_permutation_of_components(name, family):
    clients, weights, means = simulate()
    order = [1, 2, 0]
    fitted = build(name, family, init=(weights, means)).fit(clients)
    init = weights[:, order], means[:, order]
    permuted = build(name, family, init=init).fit(clients)
    np.testing.assert_allclose(permuted.means_, fitted.means_[:, order], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("name", "family"), CASES)
def test_given_initial_values_are_not_written_to(name, family):
    clients, weights, means = simulate()
    weights.flags.writeable = means.flags.writeable = False
    before = means.copy()
    build(name, family, init=(weights, means)).fit(clients)
    np.testing.assert_array_equal(means, before)


@pytest.mark.parametrize(("name", "family"), CASES)
@pytest.mark.parametrize(
    "clients",
    [
        pytest.param(simulate(sizes=(20, 0, 25))[0], id="an empty client"),
        pytest.param(simulate(sizes=(1, 2, 30))[0], id="fewer points than components"),
        pytest.param(simulate(sizes=(25,))[0], id="one client"),
        pytest.param(simulate(sizes=(30, 25), d=1)[0], id="one feature"),
        pytest.param(
            Clients.from_arrays([np.ones((12, 2)), np.ones((9, 2))], [np.ones(12), np.ones(9)]),
            id="one point over and over",
        ),
        pytest.param(
            Clients.from_arrays([np.zeros((12, 2))] * 2, [np.zeros(12)] * 2), id="all zero"
        ),
        pytest.param(
            Clients.from_arrays(
                [np.c_[np.arange(15.0), np.full(15, 3.0)]] * 2, [np.arange(15.0)] * 2
            ),
            id="a constant column",
        ),
    ],
)
def test_awkward_clients_give_sound_results(name, family, clients):
    check_sound(build(name, family).fit(clients), clients, 3)


@pytest.mark.parametrize(("name", "family"), CASES)
def test_one_component_is_a_plain_fit(name, family):
    clients, _weights, means = simulate()
    init = np.ones((3, 1)), means[:, :1]
    check_sound(build(name, family, n_components=1, init=init).fit(clients), clients, 1)


@pytest.mark.parametrize(("name", "family"), CASES)
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e149])
def test_any_scale_works_or_is_refused_or_diverges_openly(name, family, scale):
    clients, _weights, _ = simulate(sizes=(20, 25))
    scaled = Clients.from_arrays(
        [x * scale for x in clients], [clients.responses_of(k) * scale for k in range(2)]
    )
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            fitted = build(name, family).fit(scaled)
    except (DataError, DivergenceError):
        return
    check_sound(fitted, scaled, 3)


@pytest.mark.parametrize("name", ["LocalEM", "FedEM", "TGMM", "FedGrEM"])
def test_tolerance_stops_early_near_the_limit(name):
    clients, weights, means = simulate()
    stopped = build(name, init=(weights, means), tol=1e-9, max_rounds=3000).fit(clients)
    longer = {"max_rounds": stopped.n_rounds_ + 200, "tol": 0.0}
    full = build(name, init=(weights, means), **longer).fit(clients)
    assert stopped.converged_
    assert stopped.n_rounds_ < 3000
    np.testing.assert_allclose(stopped.means_, full.means_, atol=1e-6)


def test_fixed_point_stops_without_a_tolerance():
    clients = Clients.from_arrays([[[0.0], [0.0]], [[1.0]]])
    init = np.ones((2, 1)), np.zeros((2, 1, 1))
    fitted = build("LocalEM", n_components=1, init=init, max_rounds=50, tol=0.0).fit(clients)
    assert fitted.converged_
    assert fitted.n_rounds_ == 2
    np.testing.assert_array_equal(fitted.means_.ravel(), [0, 1])


@pytest.mark.parametrize(("name", "family"), CASES)
def test_communication_counts_floats_of_all_clients(name, family):
    clients, weights, means = simulate()
    fitted = build(name, family, init=(weights, means), max_rounds=2).fit(clients)
    parameters = 3 * 3 * 2
    covariates = 2 * 3 * (2 * 2 + 2 * 4)
    expected = {
        "LocalEM": (0, 0),
        "LocalGradientEM": (0, 0),
        "PooledEM": (180 * 3, parameters + 9),
        "PooledGradientEM": (180 * 3, parameters + 9),
        "FedEM": (2 * parameters, 2 * parameters),
        "FedGrEM": (2 * parameters, 2 * parameters),
        "TGMM": (parameters, parameters),
        "FedGMM": (2 * parameters + covariates + 12, 2 * parameters + covariates),
    }[name]
    assert (fitted.communication_["up"], fitted.communication_["down"]) == expected


def test_named_start_is_aligned_and_shared():
    clients, _, _ = simulate(sizes=(200, 200, 200))
    fitted = build("LocalEM", init="ward", max_rounds=0).fit(clients)
    assert np.abs(fitted.means_ - fitted.means_.mean(axis=0)).max() < 1.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"max_rounds": -1}, "max_rounds"),
        ({"max_rounds": 2.5}, "max_rounds"),
        ({"tol": -1.0}, "tol"),
        ({"tol": float("nan")}, "tol"),
        ({"family": "poisson"}, "family"),
        ({"density_floor": "all"}, "density_floor"),
        ({"init": "kmean++"}, "kmeans"),
        ({"init": (np.ones((3, 3)) / 3, np.zeros((3, 2, 2)))}, "shape"),
        ({"init": (np.ones((3, 3)), np.zeros((3, 3, 2)))}, "sum to 1"),
        ({"init": (np.ones((3, 3)) / 3, np.full((3, 3, 2), np.nan))}, "finite"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ConfigurationError, match=message):
        methods.LocalEM(**{"n_components": 3, **parameters}).fit(simulate()[0])


def test_family_that_a_method_does_not_take_is_refused():
    with pytest.raises(ConfigurationError, match="TGMM: expected family to be 'gaussian'"):
        build("TGMM", "regression").fit(simulate()[0])
    with pytest.raises(ConfigurationError, match="FedGMM: expected family to be 'regression'"):
        build("FedGMM", "gaussian").fit(simulate()[0])


def test_prediction_needs_the_same_clients():
    clients, weights, means = simulate()
    fitted = build("LocalEM", init=(weights, means)).fit(clients)
    with pytest.raises(DataError, match="same clients"):
        fitted.predict(clients.subset([0]))
    with pytest.raises(DataError, match="features"):
        fitted.predict(Clients.from_arrays([np.zeros((2, 5))] * 3))


def test_divergence_says_where():
    clients, weights, means = simulate()
    method = build(
        "LocalGradientEM", "regression", init=(weights, means), step_size=1e6, max_rounds=1000
    )
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(DivergenceError, match=r"round \d+: client \d, component \d"),
    ):
        method.fit(clients)


def test_fedem_averages_clients_alike_or_by_their_points():
    generator = np.random.default_rng(0)
    xs = [generator.normal(0, 1, (300, 2)), generator.normal(4, 1, (100, 2))]
    clients = Clients.from_arrays(xs)
    start = np.ones((2, 1)), np.zeros((2, 1, 2))
    means = [x.mean(axis=0) for x in xs]
    for weighting, weights in (("equal", [1, 1]), ("size", [300, 100])):
        model = methods.FedEM(1, weighting=weighting, init=start, max_rounds=1).fit(clients)
        expected = np.average(means, axis=0, weights=weights)
        np.testing.assert_allclose(model.means_[:, 0], [expected, expected], rtol=1e-12)
