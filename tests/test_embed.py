"""Embeddings by name, and the figure of an embedding."""

import hashlib
import json

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fedmix.embed import EMBEDDINGS, EmbeddingResult, embed, tsne
from fedmix.errors import ConfigurationError, DataError
from fedmix.storage import write_arrays


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(60, 5)) * [1, 2, 3, 4, 5] + 7


def test_the_kinds_are_the_documented_ones():
    assert set(EMBEDDINGS) == {"identity", "standardize", "pca", "tsne", "vae", "file"}


def test_identity_copies(features):
    result = embed("identity", features)
    assert isinstance(result, EmbeddingResult)
    np.testing.assert_array_equal(result.embedding, features)
    assert not np.shares_memory(result.embedding, features)
    assert result.details == {"kind": "identity", "seed": None, "parameters": {}}


def test_standardize_makes_columns_comparable_and_constants_zero(features):
    embedding = embed({"kind": "standardize"}, np.c_[features, np.full(60, 3.0)]).embedding
    np.testing.assert_allclose(embedding.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(embedding.std(axis=0), [1] * 5 + [0], rtol=1e-12)


def test_pca_agrees_with_the_singular_vectors(features):
    result = embed({"kind": "pca", "n_components": 2}, features)
    expected = PCA(2, svd_solver="full").fit_transform(features)
    np.testing.assert_allclose(np.abs(result.embedding), np.abs(expected), atol=1e-10)
    assert 0.5 < result.details["explained_variance"] < 1
    whitened = embed({"kind": "pca", "n_components": 2, "whiten": True}, features).embedding
    np.testing.assert_allclose(np.cov(whitened.T), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e155, 1e300])
@pytest.mark.parametrize(
    "spec", ["standardize", {"kind": "pca", "n_components": 2, "whiten": True}]
)
def test_unit_variance_does_not_depend_on_the_scale(features, scale, spec):
    expected = embed(spec, features).embedding
    embedding = embed(spec, scale * features).embedding
    np.testing.assert_allclose(np.abs(embedding), np.abs(expected), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e155, 1e300])
def test_pca_keeps_the_scale(features, scale):
    spec = {"kind": "pca", "n_components": 2}
    one, other = embed(spec, features), embed(spec, scale * features)
    np.testing.assert_allclose(np.abs(other.embedding), scale * np.abs(one.embedding), rtol=1e-9)
    share = one.details["explained_variance"]
    assert other.details["explained_variance"] == pytest.approx(share)


def test_pca_of_more_columns_than_points():
    wide = np.random.default_rng(1).normal(size=(8, 50))
    embedding = embed({"kind": "pca", "n_components": 8}, wide).embedding
    np.testing.assert_allclose(
        np.abs(embedding), np.abs(PCA(8, svd_solver="full").fit_transform(wide)), atol=1e-10
    )


@pytest.mark.slow
def test_tsne_by_name_is_the_function(features):
    seen = []
    spec = {"kind": "tsne", "n_components": 2, "perplexity": 8, "n_iter": 60}
    result = embed(spec, features, random_state=3, threads=2, callback=seen.append)
    same = tsne(features, n_components=2, perplexity=8, n_iter=60, random_state=3)
    np.testing.assert_array_equal(result.embedding, same)
    assert len(seen) == 2
    assert result.details["seed"] == 3
    assert result.details["kl"] > 0
    assert result.details["n_iter"] == 60
    assert result.details["parameters"]["early_exaggeration"] == 12
    assert json.loads(json.dumps(result.details)) == result.details


def test_a_seed_in_the_specification_wins(features):
    spec = {"kind": "tsne", "n_components": 2, "perplexity": 8, "n_iter": 20, "random_state": 5}
    result = embed(spec, features, random_state=3)
    assert result.details["seed"] == 5
    spec.pop("random_state")
    np.testing.assert_array_equal(result.embedding, embed(spec, features, 5).embedding)


def test_the_specification_is_left_as_it_was(features):
    spec = {"kind": "pca", "n_components": 2}
    embed(spec, features)
    assert spec == {"kind": "pca", "n_components": 2}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tnse", "unknown kind 'tnse'. Did you mean 'tsne'"),
        ({}, "unknown kind None"),
        ({"kind": "tsne", "perplexty": 3}, "Did you mean 'perplexity'"),
        ({"kind": "tsne", "threads": 3}, "unknown parameter 'threads'"),
        ({"kind": "identity", "scale": 3}, "unknown parameter 'scale'"),
        ({"kind": "pca", "n_components": 6}, "n_components to be an integer from 1 to 5"),
        ({"kind": "file", "path": "x"}, "sha256 is missing"),
    ],
)
def test_mistakes_in_a_specification(features, spec, message):
    with pytest.raises(ConfigurationError, match=message):
        embed(spec, features)


def test_features_must_be_finite(features):
    features[3, 2] = np.nan
    with pytest.raises(DataError, match="row 3, column 2"):
        embed("identity", features)


@pytest.fixture
def frozen(tmp_path, features):
    """A frozen embedding as npz: its specification and its values."""
    values = np.random.default_rng(2).normal(size=(60, 3)).astype(np.float32)
    path = tmp_path / "frozen.npz"
    write_arrays(path, {"embedding": values})
    return {"kind": "file", "path": str(path), "sha256": _sha256(path)}, values


def _sha256(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_frozen_embedding_is_repeated_exactly(features, frozen):
    spec, values = frozen
    result = embed(spec, features)
    np.testing.assert_array_equal(result.embedding, values)
    assert result.details["parameters"] == {"path": spec["path"], "sha256": spec["sha256"]}
    assert embed({**spec, "sha256": spec["sha256"].upper()}, features).embedding.shape == (60, 3)


def test_a_frozen_embedding_may_be_the_pipelines_own_or_an_npy(features, tmp_path):
    for name in ("own.npz", "plain.npy"):
        path = tmp_path / name
        if path.suffix == ".npy":
            np.save(path, features)
        else:
            write_arrays(path, {"features": features, "labels": np.zeros(60, dtype=int)})
        spec = {"kind": "file", "path": str(path), "sha256": _sha256(path)}
        np.testing.assert_array_equal(embed(spec, features).embedding, features)


def test_a_frozen_embedding_must_be_what_was_promised(features, frozen, tmp_path):
    spec, _ = frozen
    with pytest.raises(DataError, match="no file"):
        embed({**spec, "path": str(tmp_path / "none.npz")}, features)
    with pytest.raises(DataError, match=r"sha256 is \w+, expected 00"):
        embed({**spec, "sha256": "00"}, features)
    with pytest.raises(DataError, match=r"expected finite values of shape \(59, q\)"):
        embed(spec, features[:59])
    other = tmp_path / "other.npz"
    write_arrays(other, {"points": features})
    with pytest.raises(DataError, match="no array 'embedding' or 'features'"):
        embed({"kind": "file", "path": str(other), "sha256": _sha256(other)}, features)
    damaged = tmp_path / "damaged.npy"
    damaged.write_bytes(b"\x93NUMPY half a file")
    with pytest.raises(DataError, match="damaged"):
        embed({"kind": "file", "path": str(damaged), "sha256": _sha256(damaged)}, features)


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("n_classes", [1, 12, 30])
def test_the_figure_shows_two_axes_and_all_classes(features, q, n_classes):
    from fedmix.plot.points import embedding_figure

    labels = np.arange(60) % n_classes
    figure = embedding_figure(features[:, :q], labels, title="Noise")
    (axes,) = figure.axes
    assert axes.get_xlabel().startswith("First principal axis")
    assert len(axes.get_legend().get_texts()) == n_classes
    assert len(axes.collections[0].get_offsets()) == 60


def test_the_figure_draws_the_same_part_of_many_points_and_names_all_classes():
    from fedmix.plot.points import embedding_figure

    points = np.random.default_rng(0).normal(size=(4_100, 2))
    labels = np.r_[0, np.ones(4_099, dtype=int)]  # the first class can be left out
    first, again = (embedding_figure(points, labels).axes[0] for _ in range(2))
    shown = first.collections[0].get_offsets()
    assert len(shown) == 4_000
    np.testing.assert_array_equal(shown, again.collections[0].get_offsets())
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["0", "1"]


@pytest.mark.parametrize(("shape", "n_labels"), [((60, 5), 59), ((60,), 60)])
def test_the_figure_rejects_labels_that_do_not_match(shape, n_labels):
    from fedmix.plot.points import embedding_figure

    with pytest.raises(DataError, match="expected"):
        embedding_figure(np.zeros(shape), np.zeros(n_labels))
