"""t-SNE as a whole: agreement with scikit-learn, determinism, and input of every kind."""

import os

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

from fedmix.embed import Progress, tsne
from fedmix.embed.objective import Objective, joint_affinities, nearest_neighbors
from fedmix.errors import ConfigurationError, DataError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return load_digits().data


@pytest.fixture(scope="module")
def few(digits) -> np.ndarray:
    return digits[:90]


def quick(X, **parameters) -> np.ndarray:
    return tsne(X, **{"n_components": 3, "perplexity": 10, "n_iter": 40, **parameters})


def test_exact_mode_ends_at_the_divergence_of_scikit_learn(digits):
    X = digits[:500]
    expected = TSNE(method="exact", random_state=0).fit(X).kl_divergence_
    objective = Objective(joint_affinities(*nearest_neighbors(X, 499), 30.0), dtype=np.float64)
    # So few points end in minima that lie up to 3 % apart, so the typical start counts.
    found = [objective(tsne(X, 2, random_state=seed)).kl for seed in range(5)]
    assert np.median(found) == pytest.approx(expected, rel=0.02)


def test_sampled_repulsion_ends_near_the_exact_divergence(digits):
    X = digits[:800]
    exact = tsne(X, return_details=True)
    sampled = tsne(X, repulsion="sampled", n_samples=100, return_details=True)
    assert exact.details["kl"] <= sampled.details["kl"] < 1.05 * exact.details["kl"]
    assert (exact.details["n_samples"], sampled.details["n_samples"]) == (800, 100)


def test_ten_dimensions_keep_the_classes_of_the_digits_apart(digits):
    from sklearn.metrics import adjusted_rand_score

    embedding = tsne(digits, repulsion="sampled", n_iter=500)
    found = KMeans(10, n_init=10, random_state=0).fit_predict(embedding)
    assert adjusted_rand_score(load_digits().target, found) > 0.8


@pytest.mark.parametrize("repulsion", ["exact", "sampled"])
def test_threads_do_not_change_a_bit(digits, repulsion, monkeypatch):
    monkeypatch.setattr("fedmix.embed.objective._CHUNK", 150)
    monkeypatch.setattr("fedmix.embed.objective._ROWS", 200)
    runs = [
        quick(digits[:700], repulsion=repulsion, n_samples=100, threads=threads)
        for threads in (1, 2, 5)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_the_seed_decides(few):
    parameters = {"repulsion": "sampled", "n_samples": 20}
    first = quick(few, random_state=1, **parameters)
    np.testing.assert_array_equal(first, quick(few, random_state=1, **parameters))
    assert (first != quick(few, random_state=2, **parameters)).any()


@pytest.mark.parametrize("n_components", [1, 2, 10, 50])
@pytest.mark.parametrize("degrees", [1, "sklearn", 2.5])
def test_any_number_of_components(few, n_components, degrees):
    embedding = quick(few, n_components=n_components, degrees_of_freedom=degrees)
    assert embedding.shape == (90, n_components)
    assert embedding.dtype == np.float64
    assert np.isfinite(embedding).all()
    assert (embedding.std(axis=0) > 0).all()


def test_degrees_of_freedom_of_scikit_learn_are_one_less_than_the_dimensions(few):
    np.testing.assert_array_equal(
        quick(few, degrees_of_freedom="sklearn"), quick(few, degrees_of_freedom=2)
    )


@pytest.mark.parametrize("scale", [2.0**-400, 2.0**400])
def test_the_scale_of_the_data_does_not_matter(few, scale):
    np.testing.assert_array_equal(quick(few * scale), quick(few))


@pytest.mark.parametrize("offset", [1e6, -1e9])
def test_the_place_of_the_data_does_not_matter(few, offset):
    # In the first iterations: later ones turn differences in the last digit into other minima.
    expected = quick(few, n_iter=5)
    np.testing.assert_allclose(quick(few + offset, n_iter=5), expected, atol=1e-3 * expected.std())


def test_forms_of_input_agree(few):
    expected = quick(few)
    frozen = few.copy()
    frozen.setflags(write=False)
    for same in (frozen, np.asfortranarray(few), few.astype(np.float32), few.astype(int)):
        np.testing.assert_array_equal(quick(same), expected)
    np.testing.assert_array_equal(quick(few.tolist()), expected)


def test_the_data_are_left_as_they_were(few):
    before = few.copy()
    quick(few)
    np.testing.assert_array_equal(few, before)


def test_one_column_duplicates_and_constant_columns(few):
    assert np.isfinite(quick(few[:, 20:21])).all()
    assert np.isfinite(quick(np.repeat(few[:10], 9, axis=0))).all()
    assert np.isfinite(quick(np.c_[few, np.full(90, 3.0)], pca_components=None)).all()


def test_more_columns_than_points():
    wide = np.random.default_rng(0).normal(size=(40, 300))
    assert quick(wide).shape == (40, 3)


def test_a_start_is_used_as_given(few):
    start = np.random.default_rng(0).normal(size=(90, 3))
    kept = start.copy()
    from_it = quick(few, init=start)
    assert (from_it != quick(few)).any()
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(from_it, quick(few, init=start.tolist()))


def test_a_random_start_is_a_small_normal_one(few):
    start = 1e-4 * np.random.default_rng(7).standard_normal((90, 3))
    found = quick(few, init="random", random_state=7)
    np.testing.assert_array_equal(found, quick(few, init=start))
    assert (found != quick(few, init="random", random_state=8)).any()


def test_progress_tells_iteration_divergence_and_time_left(few):
    seen: list[Progress] = []
    details = quick(few, n_iter=120, callback=seen.append, return_details=True)
    assert [p.iteration for p in seen] == [50, 100, 120]
    assert seen[-1].seconds_left == 0
    assert seen[0].seconds_left > 0
    assert details.details["n_iter"] == seen[-1].n_iter == 120
    assert str(seen[-1]).startswith("t-SNE iteration 120 of 120: KL ")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_named(few, bad):
    X = few.copy()
    X[7, 4] = bad
    with pytest.raises(DataError, match="row 7, column 4"):
        tsne(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(5), r"shape \(n, d\)"),
        (np.zeros((5, 0)), r"shape \(n, d\)"),
        (np.zeros((2, 3)), "at least 3 points"),
        (np.zeros((90, 3)), "all points are equal"),
        (np.full((90, 3), 0.1), "all points are equal"),
        ([["a", "b"]], "array of numbers"),
    ],
)
def test_data_that_cannot_be_embedded(X, message):
    with pytest.raises(DataError, match=message):
        quick(X)


def test_a_perplexity_too_large_says_so(few):
    with pytest.raises(DataError, match="perplexity 89 needs more than 90 points, got 90"):
        tsne(few, perplexity=89)
    assert np.isfinite(quick(few, perplexity=80)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 51}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"perplexity": 1}, "perplexity"),
        ({"perplexity": "30"}, "perplexity"),
        ({"early_exaggeration": 0}, "early_exaggeration"),
        ({"n_iter": 0}, "n_iter"),
        ({"n_samples": 1}, "n_samples"),
        ({"repulsion": "exakt"}, "Did you mean 'exact'"),
        ({"degrees_of_freedom": 0}, "degrees_of_freedom"),
        ({"degrees_of_freedom": "student"}, "degrees_of_freedom"),
        ({"init": "randon"}, "Did you mean 'random'"),
        ({"init": np.zeros((90, 2))}, r"shape \(90, 3\)"),
        ({"init": np.full((90, 3), np.nan)}, "finite"),
        ({"init": "abc"}, "init"),
        ({"pca_components": 0}, "pca_components"),
        ({"threads": 0}, "threads"),
    ],
)
def test_parameters_out_of_range(few, parameters, message):
    with pytest.raises(ConfigurationError, match=message):
        quick(few, **parameters)


def _misclustering(embedding: np.ndarray, labels: np.ndarray) -> float:
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import confusion_matrix

    found = KMeans(10, n_init=10, random_state=0).fit_predict(embedding)
    counts = confusion_matrix(labels, found)
    return 1 - counts[linear_sum_assignment(-counts)].sum() / len(labels)


@pytest.mark.mirror
def test_sampled_repulsion_ends_within_five_percent_on_images(mirror):
    with np.load(mirror / "mnist.npz") as archive:
        chosen = np.random.default_rng(0).permutation(70_000)[:4000]
        images = archive["images"][chosen].astype(float)
    exact = tsne(images, return_details=True)
    sampled = tsne(images, repulsion="sampled", n_samples=500, return_details=True)
    assert sampled.details["kl"] < 1.05 * exact.details["kl"]


@pytest.mark.mirror
@pytest.mark.skipif("FEDMIX_SLOW" not in os.environ, reason="six minutes: set FEDMIX_SLOW to run")
def test_clusters_of_all_mnist_images_are_the_digits(mirror):
    with np.load(mirror / "mnist.npz") as archive:
        images, labels = archive["images"].astype(float), archive["labels"]
    assert _misclustering(tsne(images, repulsion="sampled"), labels) <= 0.05
