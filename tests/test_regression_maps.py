import numpy as np
import pytest

from fedmix import Clients
from fedmix.kernels.regression_maps import hard_round, local_filter, rotate

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
