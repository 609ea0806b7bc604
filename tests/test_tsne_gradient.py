"""The t-SNE objective: its gradient, its parts by hand, and sampled repulsion without bias."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from fedmix.embed.objective import Objective


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
