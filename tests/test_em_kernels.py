"""The compiled E-steps against plain formulas."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from fedmix import Clients, families, methods
from fedmix.families import Sample
from fedmix.kernels.em import has_settled, limited_steps
from fedmix.kernels.joint import joint_expectation
from fedmix.kernels.regression import solve_normal
from fedmix.kernels.responsibilities import BELOW, BLOCK, NO_FLOOR, ZEROS, exp_of_nonpositive


@njit
def exponentials(x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = exp_of_nonpositive(x[i])
    return result


def problem(sizes=(3, 0, 2 * BLOCK + 17), n_components=4, d=3, seed=0):
    generator = np.random.default_rng(seed)
    clients = Clients.from_arrays(
        [generator.normal(scale=2.0, size=(n, d)) for n in sizes],
        [generator.normal(scale=2.0, size=n) for n in sizes],
    )
    weights = generator.dirichlet(np.ones(n_components), len(sizes))
    means = generator.normal(scale=2.0, size=(len(sizes), n_components, d))
    return clients, weights, means


def squared_residuals(family, clients, k, means):
    if family == "gaussian":
        return np.square(clients[k][:, None] - means[k]).sum(axis=2)
    return np.square(clients.responses_of(k)[:, None] - clients[k] @ means[k].T)


def plain_responsibilities(squares, weights, floor):
    kernels = weights * np.exp(-0.5 * squares)
    if floor == "zeros":
        kernels[kernels == 0] = 1e-8
    if floor == "below":
        kernels[kernels <= 1e-8] = 1e-8
    return kernels / kernels.sum(axis=1, keepdims=True), np.log(kernels.sum(axis=1)).sum()


def test_exponential_is_accurate_to_one_unit_in_the_last_place():
    generator = np.random.default_rng(0)
    x = -np.concatenate(
        [generator.uniform(0, 708, 20_000), generator.uniform(0, 3, 20_000), np.logspace(-30, 2)]
    )
    true = np.exp(x.astype(np.longdouble))
    units = np.abs(exponentials(x) - true) / np.spacing(true.astype(np.float64))
    assert units.max() < 1.0


def test_exponential_ends_in_zero_and_keeps_one():
    values = exponentials(np.array([0.0, -0.0, -708.5, -1e6, -1e300, -np.inf]))
    np.testing.assert_array_equal(values, [1, 1, 0, 0, 0, 0])


@pytest.mark.parametrize("floor", [None, "zeros", "below"])
@pytest.mark.parametrize("family", ["gaussian", "regression"])
def test_expectation_agrees_with_the_plain_formulas(family, floor):
    clients, weights, means = problem()
    statistics = families.get(family).expectation(
        Sample.of(clients), weights, means, floor, with_likelihood=True
    )
    for k in (0, 2):
        squares = squared_residuals(family, clients, k, means)
        responsibilities, log_kernels = plain_responsibilities(squares, weights[k], floor)
        if family == "gaussian":
            deviations = clients[k][:, None] - means[k]
            scores = np.einsum("nr,nrd->rd", responsibilities, deviations)
            constant = 0.5 * 3 * np.log(2 * np.pi)
        else:
            residuals = clients.responses_of(k)[:, None] - clients[k] @ means[k].T
            scores = (responsibilities * residuals).T @ clients[k]
            constant = 0.5 * np.log(2 * np.pi)
            normal = np.einsum("nr,nd,ne->rde", responsibilities, clients[k], clients[k])
            np.testing.assert_allclose(statistics.normal[k], np.triu(normal), atol=1e-9)
        np.testing.assert_allclose(
            statistics.responsibilities[k], responsibilities.sum(axis=0), rtol=1e-12
        )
        np.testing.assert_allclose(statistics.scores[k], scores, atol=1e-9)
        expected = log_kernels - len(clients[k]) * constant
        assert statistics.log_likelihoods[k] == pytest.approx(expected, rel=1e-12)
    assert not statistics.responsibilities[1].any()
    assert statistics.log_likelihoods[1] == 0


@pytest.mark.parametrize("family", ["gaussian", "regression"])
def test_far_points_get_responsibilities_where_plain_kernels_vanish(family):
    clients = Clients.from_arrays([[[1e4], [-1e4]]], [[1e8, -1e8]])
    means = np.array([[[1.0], [-1.0]]])
    weights = np.array([[0.5, 0.5]])
    statistics = families.get(family).expectation(
        Sample.of(clients), weights, means, with_likelihood=True
    )
    assert statistics.responsibilities.sum() == pytest.approx(2.0, rel=1e-15)
    assert np.isfinite(statistics.log_likelihoods).all()


def test_component_of_weight_zero_gets_nothing():
    clients, weights, means = problem()
    weights[:, 0] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    statistics = families.get("gaussian").expectation(
        Sample.of(clients), weights, means, with_likelihood=True
    )
    assert not statistics.responsibilities[:, 0].any()
    assert np.isfinite(statistics.log_likelihoods).all()


def test_clients_do_not_touch_each_other():
    clients, weights, means = problem()
    together = families.get("gaussian").expectation(
        Sample.of(clients), weights, means, with_likelihood=True
    )
    for k in (0, 2):
        alone = families.get("gaussian").expectation(
            Sample.of(clients.subset([k])), weights[[k]], means[[k]], with_likelihood=True
        )
        np.testing.assert_array_equal(alone.scores[0], together.scores[k])
        np.testing.assert_array_equal(alone.log_likelihoods[0], together.log_likelihoods[k])


def test_singular_systems_are_reported_not_solved():
    matrices = np.array([np.eye(2), np.ones((2, 2)), np.zeros((2, 2)), np.diag([1e-200, 1e-210])])
    solutions, singular = solve_normal(matrices, np.ones((4, 2)))
    np.testing.assert_array_equal(singular, [False, True, True, False])
    np.testing.assert_array_equal(solutions[0], [1, 1])


@pytest.mark.parametrize("floor", [NO_FLOOR, ZEROS, BELOW])
def test_joint_expectation_agrees_with_the_plain_formulas(floor):
    clients, _, coefficients = problem(sizes=(BLOCK + 5,), n_components=2)
    generator = np.random.default_rng(1)
    weights = generator.dirichlet(np.ones(6)).reshape(1, 3, 2)
    means = generator.normal(size=(1, 3, 3))
    whiteners = np.tril(generator.normal(size=(1, 3, 3, 3))) + 2 * np.eye(3)
    sample = Sample.of(clients)
    masses, deviations, scatters, scores, normal = joint_expectation(
        sample.columns,
        sample.responses,
        sample.offsets,
        weights,
        means,
        whiteners,
        coefficients,
        floor,
    )
    x = clients[0]
    centred = x[:, None] - means[0]
    squares = np.square(np.einsum("mde,nme->nmd", whiteners[0], centred)).sum(axis=2)
    residuals = clients.responses[:, None] - x @ coefficients[0].T
    joint = weights[0] * np.exp(-0.5 * (squares[:, :, None] + np.square(residuals)[:, None]))
    joint /= joint.sum(axis=(1, 2), keepdims=True)
    if floor != NO_FLOOR:
        joint[joint <= (1e-8 if floor == BELOW else 0.0)] = 1e-8
    np.testing.assert_allclose(masses[0], joint.sum(axis=0), rtol=1e-7 if floor == ZEROS else 1e-12)
    by_covariate, by_regression = joint.sum(axis=2), joint.sum(axis=1)
    expected = np.einsum("nm,nmd->md", by_covariate, centred)
    np.testing.assert_allclose(deviations[0], expected, atol=1e-8)
    expected = np.einsum("nm,nmd,nme->mde", by_covariate, centred, centred)
    np.testing.assert_allclose(scatters[0], np.triu(expected), atol=1e-6)
    np.testing.assert_allclose(scores[0], (by_regression * residuals).T @ x, atol=1e-6)
    expected = np.einsum("nr,nd,ne->rde", by_regression, x, x)
    np.testing.assert_allclose(normal[0], np.triu(expected), atol=1e-6)


@pytest.mark.parametrize("floor", [None, "zeros", "below"])
def test_points_whose_kernels_are_barely_above_zero_are_weighed_like_others(floor):
    clients = Clients.from_arrays([[[0.0], [38.2]]])  # exp(-38.2**2 / 2) is subnormal
    start = (np.ones((1, 1)), np.zeros((1, 1, 1)))
    fitted = methods.LocalEM(1, init=start, max_rounds=1, density_floor=floor).fit(clients)
    assert fitted.means_[0, 0, 0] == pytest.approx(19.1)


def test_steps_are_limited_by_one_over_the_curvature_and_not_where_it_is_zero():
    steps = limited_steps(np.array([[2.0, 2.0, 0.1]]), np.array([[0.0, 1.0, 4.0]]))
    np.testing.assert_array_equal(steps, [[2.0, 1.0, 0.1]])


@pytest.mark.parametrize(
    ("after", "tolerance", "settled"),
    [
        ([1.0, 2.0], 0.0, True),
        ([1.0, 2.0 + 1e-15], 0.0, False),
        ([1.0, 2.05], 0.1, True),
        ([1.0, 2.1], 0.05, False),
        ([1.0, np.nan], 0.1, False),
    ],
)
def test_a_fit_has_settled_if_every_value_moves_by_less_than_the_tolerance(
    after, tolerance, settled
):
    assert has_settled(np.array([1.0, 2.0]), np.array(after), tolerance) == settled


FITS = """
import numpy as np
from fedmix import methods
for seed in range(10):
    rng = np.random.default_rng(seed)
    xs = [rng.normal(size=(n, 5)) + 4.0 * rng.integers(3, size=(n, 1)) for n in (50, 90, 41)]
    fit = methods.FedGEM(3).fit(xs)
    print([float(rounds["log_likelihood"]).hex() for rounds in fit.history_])
"""


@pytest.mark.slow
def test_a_fit_does_not_depend_on_whether_the_compiled_code_comes_from_the_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", FITS]
    compiled, cached = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert compiled.count("0x") > 50
    assert cached == compiled
