"""Affinities and gradient of t-SNE against their definitions."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from fedmix.embed import objective as module
from fedmix.embed.objective import (
    Objective,
    conditional_affinities,
    joint_affinities,
    nearest_neighbors,
)


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(700, 8))


def test_neighbours_are_the_exact_ones(points, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 128)
    monkeypatch.setattr(module, "_COLUMNS", 200)
    neighbors, distances = nearest_neighbors(points, 20, threads=2)
    expected, labels = NearestNeighbors(n_neighbors=20).fit(points).kneighbors()
    np.testing.assert_array_equal(neighbors, labels)
    np.testing.assert_allclose(distances, expected**2, rtol=1e-5)


def test_neighbours_can_be_all_other_points(points):
    neighbors, _ = nearest_neighbors(points[:10], 9)
    for i, row in enumerate(neighbors):
        assert sorted([i, *row]) == list(range(10))


def test_equal_points_are_neighbours_at_distance_zero():
    points = np.repeat(np.eye(3), 5, axis=0)
    neighbors, distances = nearest_neighbors(points, 4)
    assert (distances == 0).all()
    assert (neighbors // 5 == np.arange(15)[:, None] // 5).all()


@pytest.mark.parametrize("perplexity", [1.5, 30.0, 85.0])
def test_calibration_meets_the_perplexity(points, perplexity):
    _, distances = nearest_neighbors(points, 90)
    conditional = conditional_affinities(distances, perplexity)
    np.testing.assert_allclose(conditional.sum(axis=1), 1, rtol=1e-12)
    logs = np.log(np.maximum(conditional, 1e-300))
    np.testing.assert_allclose(np.exp(-(conditional * logs).sum(axis=1)), perplexity, rtol=1e-8)


def test_calibration_does_not_depend_on_the_scale(points):
    _, distances = nearest_neighbors(points, 30)
    expected = conditional_affinities(distances, 10.0)
    for scale in (1e-200, 1e200):
        found = conditional_affinities(distances * scale, 10.0)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_many_equal_neighbours_share_the_row():
    distances = np.array([[0.0, 0.0, 0.0, 0.0, 7.0]])
    np.testing.assert_allclose(conditional_affinities(distances, 2.0), [[0.25] * 4 + [0.0]])
    np.testing.assert_allclose(conditional_affinities(np.zeros((1, 4)), 2.0), [[0.25] * 4])


def test_joint_affinities_are_symmetric_and_sum_to_one(points):
    joint = joint_affinities(*nearest_neighbors(points, 15), 5.0)
    assert joint.sum() == pytest.approx(1)
    assert abs(joint - joint.T).max() < 1e-18
    assert (joint.data >= 0).all()
    assert (joint.diagonal() == 0).all()


def random_affinities(rng: np.random.Generator, n: int, density: float = 0.6) -> sparse.csr_array:
    dense = rng.random((n, n)) * (rng.random((n, n)) < density)
    dense += dense.T
    np.fill_diagonal(dense, 0)
    return sparse.csr_array(dense / dense.sum())


def divergence_by_hand(affinities: sparse.csr_array, embedding: np.ndarray, degrees: float):
    """KL(P || Q) written out with full matrices."""
    q = (1 + cdist(embedding, embedding, "sqeuclidean") / degrees) ** (-(degrees + 1) / 2)
    np.fill_diagonal(q, 0)
    q /= q.sum()
    p = affinities.toarray()
    here = p > 0
    return float((p[here] * np.log(p[here] / q[here])).sum())


@pytest.mark.parametrize("degrees", [1, 2, 3, 9, 2.5])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_gradient_is_that_of_the_kl_divergence(degrees, d):
    rng = np.random.default_rng(d)
    affinities = random_affinities(rng, 15)
    embedding = rng.normal(size=(15, d))
    found = Objective(affinities, degrees, dtype=np.float64)(embedding)
    assert found.kl == pytest.approx(divergence_by_hand(affinities, embedding, degrees), rel=1e-12)
    step = 1e-6
    for place in np.ndindex(embedding.shape):
        shift = np.zeros_like(embedding)
        shift[place] = step
        ahead = divergence_by_hand(affinities, embedding + shift, degrees)
        behind = divergence_by_hand(affinities, embedding - shift, degrees)
        numerical = (ahead - behind) / (2 * step)
        assert found.gradient[place] == pytest.approx(numerical, rel=1e-6, abs=1e-8)


def test_exaggeration_multiplies_the_attraction_alone():
    rng = np.random.default_rng(0)
    objective = Objective(random_affinities(rng, 20), dtype=np.float64)
    embedding = rng.normal(size=(20, 3))
    repelled, plain, doubled = (objective(embedding, e).gradient for e in (0.0, 1.0, 2.0))
    np.testing.assert_allclose(doubled - plain, plain - repelled, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("degrees", [1, 4])
def test_sampled_repulsion_is_unbiased_over_all_samples(degrees):
    rng = np.random.default_rng(1)
    n, size = 8, 3
    objective = Objective(random_affinities(rng, n), degrees, dtype=np.float64)
    embedding = rng.normal(size=(n, 2))

    def parts(sample):
        found = objective(embedding, 0.0, sample)
        return found.gradient * found.normaliser, found.normaliser

    samples = [parts(np.array(s)) for s in combinations(range(n), size)]
    force, normaliser = parts(None)
    np.testing.assert_allclose(np.mean([f for f, _ in samples], axis=0), force, rtol=1e-11)
    assert np.mean([z for _, z in samples]) == pytest.approx(normaliser, rel=1e-12)


def test_random_samples_scatter_around_the_exact_repulsion():
    rng = np.random.default_rng(2)
    n = 700  # more than one block of the kernel
    objective = Objective(random_affinities(rng, n, density=0.1))
    embedding = rng.normal(size=(n, 3)).astype(np.float32)
    draws = [
        objective(embedding, 0.0, rng.choice(n, n // 8, replace=False)).normaliser
        for _ in range(200)
    ]
    standard_error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - objective(embedding).normaliser) < 4 * standard_error


def test_a_sample_of_all_points_is_the_exact_repulsion():
    rng = np.random.default_rng(3)
    objective = Objective(random_affinities(rng, 30), dtype=np.float64)
    embedding = rng.normal(size=(30, 2))
    everything, sampled = objective(embedding), objective(embedding, 1.0, rng.permutation(30))
    np.testing.assert_allclose(sampled.gradient, everything.gradient, rtol=1e-9, atol=1e-15)
    assert sampled.kl == pytest.approx(everything.kl, rel=1e-12)


def test_far_points_keep_a_precise_normaliser():
    affinities = random_affinities(np.random.default_rng(4), 6, density=1.0)
    embedding = (1e4 * np.arange(6.0)[:, None]).astype(np.float32)
    expected = divergence_by_hand(affinities, embedding.astype(float), 9.0)
    assert Objective(affinities, 9.0)(embedding).kl == pytest.approx(expected, rel=1e-5)


def test_single_precision_agrees_with_double():
    rng = np.random.default_rng(5)
    affinities = random_affinities(rng, 1100, density=0.05)
    embedding = rng.normal(scale=5, size=(1100, 10))
    exact = Objective(affinities, dtype=np.float64)(embedding)
    single = Objective(affinities)(embedding.astype(np.float32))
    assert single.kl == pytest.approx(exact.kl, rel=1e-5)
    scale = np.abs(exact.gradient).max()
    np.testing.assert_allclose(single.gradient, exact.gradient, atol=1e-4 * scale)
