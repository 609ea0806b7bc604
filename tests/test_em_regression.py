"""The methods on regressions against plain transcriptions of the published rules."""

import numpy as np
import pytest

from fedmix import Clients, methods
from fedmix.kernels.regression_maps import hard_round, local_filter, rotate

N_CLIENTS, N_COMPONENTS, N_POINTS, N_FEATURES = 4, 3, 60, 3


def simulate():
    generator = np.random.default_rng(0)
    centres = generator.normal(scale=3.0, size=(N_COMPONENTS, N_FEATURES))
    xs = generator.normal(size=(N_CLIENTS, N_POINTS, N_FEATURES))
    labels = generator.integers(N_COMPONENTS, size=(N_CLIENTS, N_POINTS))
    ys = np.einsum("knd,knd->kn", xs, centres[labels]) + generator.normal(size=labels.shape)
    weights = generator.dirichlet(np.full(N_COMPONENTS, 9.0), N_CLIENTS)
    means = centres + 0.5 * generator.normal(size=(N_CLIENTS, N_COMPONENTS, N_FEATURES))
    return xs, ys, weights, means


def responsibilities(x, y, weights, means, floor):
    kernels = weights * np.exp(-0.5 * np.square(y[:, None] - x @ means.T))
    kernels[kernels == 0 if floor == "zeros" else kernels <= 1e-8] = 1e-8
    return kernels / kernels.sum(axis=1, keepdims=True)


def gradient(x, y, share, means):
    return (share * (y[:, None] - x @ means.T)).T @ x / len(x)


def central_passes(means, threshold, passes):
    deviations = np.zeros_like(means)
    for _ in range(passes):
        centre = (means - deviations).mean(axis=0)
        length = np.linalg.norm(means - centre, axis=2, keepdims=True)
        deviations = np.maximum(1 - threshold / length, 0) * (means - centre)
    return centre + deviations


def published(name, floor, rounds):
    xs, ys, weights, means = simulate()
    step_sizes = 0.95 / weights
    penalty = 1.0
    for _ in range(rounds):
        shares = [
            responsibilities(xs[k], ys[k], weights[k], means[k], floor) for k in range(N_CLIENTS)
        ]
        weights = np.array([share.mean(axis=0) for share in shares])
        if name == "FedEM":
            local = [
                [
                    np.linalg.solve((x.T * g) @ x + 1e-5 * np.eye(N_FEATURES), (x.T * g) @ y)
                    for g in share.T
                ]
                for x, y, share in zip(xs, ys, shares, strict=True)
            ]
            means = np.repeat(np.mean(local, axis=0)[None], N_CLIENTS, axis=0)
            continue
        slopes = np.array([gradient(xs[k], ys[k], shares[k], means[k]) for k in range(N_CLIENTS)])
        if name == "LocalGradientEM":
            means = means + 0.1 * slopes
            continue
        penalty = 0.1 * penalty + 2.0 * np.sqrt(N_FEATURES + np.log(N_CLIENTS))
        means = central_passes(means + step_sizes[..., None] * slopes, penalty / N_POINTS**0.5, 2)
    return weights, means


@pytest.mark.parametrize(
    ("name", "floor", "parameters"),
    [
        ("FedEM", "zeros", {}),
        ("LocalGradientEM", "below", {}),
        ("FedGrEM", "below", {"central_steps": 2, "safe_step": False}),
    ],
)
def test_ten_rounds_agree_with_the_published_rules(name, floor, parameters):
    xs, ys, weights, means = simulate()
    clients = Clients.from_arrays(list(xs), list(ys))
    fitted = methods.get(name)(
        n_components=N_COMPONENTS,
        family="regression",
        init=(weights, means),
        density_floor=floor,
        max_rounds=10,
        **parameters,
    ).fit(clients)
    expected_weights, expected_means = published(name, floor, 10)
    np.testing.assert_allclose(fitted.weights_, expected_weights, atol=1e-10)
    np.testing.assert_allclose(fitted.means_, expected_means, atol=1e-9)


def test_joint_mixture_finds_the_components_of_the_covariates():
    generator = np.random.default_rng(0)
    coefficients = np.array([[4.0, 0.0], [-4.0, 2.0]])
    xs, ys = [], []
    for _ in range(3):
        x = generator.normal(size=(200, 2)) + 8.0 * generator.integers(2, size=(200, 1))
        labels = generator.integers(2, size=200)
        xs.append(x)
        ys.append(np.einsum("nd,nd->n", x, coefficients[labels]) + generator.normal(size=200))
    clients = Clients.from_arrays(xs, ys)
    start = np.full((3, 2), 0.5), np.tile(coefficients, (3, 1, 1)) + 0.2
    fitted = methods.FedGMM(
        n_components=2, n_covariate_components=2, init=start, max_rounds=50
    ).fit(clients)
    centres = fitted.covariate_means_[0]
    np.testing.assert_allclose(centres[centres[:, 0].argsort()], [[0, 0], [8, 8]], atol=0.3)
    np.testing.assert_allclose(fitted.means_[0], coefficients, atol=0.1)
    np.testing.assert_allclose(fitted.joint_weights_.sum(axis=(1, 2)), 1, rtol=1e-12)
    np.testing.assert_allclose(fitted.covariances_[0, 0], np.eye(2), atol=0.25)


def test_samples_of_the_joint_mixture_follow_it():
    generator = np.random.default_rng(0)
    xs = [generator.normal(size=(200, 2)) @ [[1.0, 0.0], [3.0, 0.5]] for _ in range(2)]
    signs = [generator.choice([-1.0, 1.0], size=200) for _ in xs]
    ys = [9 * z * x[:, 0] + generator.normal(size=200) for x, z in zip(xs, signs, strict=True)]
    start = np.full((2, 2), 0.5), np.tile([[9.0, 0.0], [-9.0, 0.0]], (2, 1, 1))
    clients = Clients.from_arrays(xs, ys)
    fitted = methods.FedGMM(2, n_covariate_components=1, init=start).fit(clients)
    drawn, labels = fitted.sample([9000, 10], random_state=0)
    assert drawn.sizes.tolist() == [9000, 10]
    covariance = np.cov(drawn[0].T)
    np.testing.assert_allclose(covariance, fitted.covariances_[0, 0], rtol=0.05)
    residuals = drawn.responses_of(0) - np.sum(drawn[0] * fitted.means_[0, labels[0]], axis=1)
    np.testing.assert_allclose([residuals.mean(), residuals.std()], [0, 1], atol=0.05)
    np.testing.assert_allclose(fitted.score(drawn), fitted.score(clients), rtol=0.05)
    assert np.mean(fitted.predict(drawn)[0] == labels[0]) > 0.9


def test_all_covariate_components_may_share_the_first_covariance():
    generator = np.random.default_rng(0)
    scales = np.repeat([1.0, 5.0], 100)[:, None]
    xs = [20 * (scales > 1) + scales * generator.normal(size=(200, 2)) for _ in range(3)]
    clients = Clients.from_arrays(xs, [x[:, 0] + generator.normal(size=200) for x in xs])
    start = np.full((3, 2), 0.5), np.tile([[1.0, 0.0], [0.0, 1.0]], (3, 1, 1))
    fitted = {
        name: methods.FedGMM(2, n_covariate_components=2, covariances=name, init=start).fit(clients)
        for name in ("own", "first")
    }
    own, first = (fitted[name].covariances_[0] for name in ("own", "first"))
    assert max(np.trace(own[0]) / np.trace(own[1]), np.trace(own[1]) / np.trace(own[0])) > 5
    np.testing.assert_array_equal(first[0], first[1])


SIZES = (7, 1, 0, 3, 12, 1)  # d = 4: fewer points than features, more, one and none


def ragged_clients(seed=0, sizes=SIZES, d=4):
    rng = np.random.default_rng(seed)
    return Clients.from_arrays(
        [rng.standard_normal((n, d)) for n in sizes], [rng.standard_normal(n) for n in sizes]
    )


def local_training(x, y, theta, eta, local, steps):
    """Train literally, as the pseudo-code of Phase 2 has it."""
    n = len(y)
    if local == "fedprox":
        gram = np.eye(len(theta)) + eta * x.T @ x / n
        return np.linalg.solve(gram, theta + eta * x.T @ y / n)
    for _ in range(steps):
        theta = theta - eta * x.T @ (x @ theta - y) / n
    return theta


def literal_round(clients, models, labels, eta, local, steps):
    """Average the clients' locally trained models with weights n_i / N."""
    result = np.zeros_like(models)
    for i, n in enumerate(clients.sizes):
        for j, theta in enumerate(models):
            x, y = clients[i], clients.responses_of(i)
            trains = n and labels[i] == j
            own = local_training(x, y, theta, eta, local, steps) if trains else theta
            result[j] += n / clients.n_points * own
    return result


def losses(clients, models):
    pairs = [(clients[i], clients.responses_of(i)) for i in range(len(clients))]
    return np.array([[np.sum((x @ m - y) ** 2) for m in models] for x, y in pairs])


def closed_form_round(clients, models, eta, local, steps):
    rotated = rotate(clients)
    labels, gradient = np.empty(len(clients), dtype=np.int64), np.empty_like(models)
    filters = local_filter(rotated.curvatures, eta, local, steps)
    hard_round(rotated.rows, rotated.targets, filters, rotated.offsets, models, labels, gradient)
    return models - eta / clients.n_points * gradient, labels


@pytest.mark.parametrize(("local", "steps"), [("fedavg", 1), ("fedavg", 7), ("fedprox", 1)])
@pytest.mark.parametrize("k", [1, 3])
def test_lemma_1_equals_literal_local_training(local, steps, k):
    clients = ragged_clients()
    models = np.random.default_rng(1).standard_normal((k, 4))
    expected_labels = losses(clients, models).argmin(axis=1)
    expected = literal_round(clients, models, expected_labels, 0.1, local, steps)
    got, labels = closed_form_round(clients, models, 0.1, local, steps)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-50, 1.0, 1e50])
def test_rotation_keeps_losses_up_to_a_constant_a_client(scale):
    clients = ragged_clients()
    clients = Clients(scale * clients.points, clients.offsets, scale * clients.responses)
    models = np.random.default_rng(4).standard_normal((3, 4))
    rotated = rotate(clients)
    inside = np.zeros((len(clients), 3))
    np.add.at(inside, rotated.owners, (rotated.rows @ models.T - rotated.targets[:, None]) ** 2)
    difference = (losses(clients, models) - inside) / scale**2
    np.testing.assert_allclose(difference, difference[:, :1] * np.ones(3), atol=1e-12)
    few = clients.sizes <= 4
    np.testing.assert_allclose(difference[few], 0, atol=1e-12)


def test_filter_without_curvature_takes_full_steps():
    assert local_filter(np.zeros(1), 0.5, "fedavg", 9) == 9
    assert local_filter(np.zeros(1), 0.5, "fedprox", 9) == 1


def test_filter_has_no_cancellation_at_tiny_curvature():
    assert local_filter(np.array([1e-18]), 1.0, "fedavg", 20) == pytest.approx(20, rel=1e-15)


def test_largest_curvature_is_squared_norm_over_size():
    clients = ragged_clients()
    norms = [np.linalg.norm(x, 2) ** 2 / len(x) for x in clients if len(x)]
    assert rotate(clients).largest_curvature == pytest.approx(max(norms))


@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**40])
def test_many_features_in_any_unit_keep_fedgmm_s_determinants_in_range(scale):
    rng = np.random.default_rng(0)
    xs = [scale * rng.normal(size=(300, 60)) for _ in range(2)]
    coefficients = np.zeros(60)
    coefficients[0] = 9 / scale
    signs = [rng.choice([-1.0, 1.0], size=300) for _ in xs]
    ys = [z * (x @ coefficients) + rng.normal(size=300) for x, z in zip(xs, signs, strict=True)]
    start = np.full((2, 2), 0.5), np.tile([coefficients, -coefficients], (2, 1, 1))
    fitted = methods.FedGMM(2, n_covariate_components=1, init=start, max_rounds=3).fit(xs, ys)
    np.testing.assert_allclose(scale * fitted.means_[0, 0], scale * coefficients, atol=0.3)
