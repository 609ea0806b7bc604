"""The embeddings that need no iteration, and frozen ones."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from fedmix.checks import check_integer
from fedmix.embed.base import EmbeddingResult
from fedmix.errors import DataError


def identity(features: np.ndarray) -> EmbeddingResult:
    """Leave the features as they are."""
    return EmbeddingResult(features.copy())


def standardize(features: np.ndarray) -> EmbeddingResult:
    """Centre each column and scale it to unit variance; constant columns become about zero."""
    from sklearn.preprocessing import StandardScaler

    features, _ = _with_squares(features, axis=0)
    return EmbeddingResult(StandardScaler().fit_transform(features))


def pca(features: np.ndarray, n_components: int = 10, whiten: bool = False) -> EmbeddingResult:
    """Project on the leading principal components.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Finite features.
    n_components : int, default=10
        Dimensions to keep, at most n and d.
    whiten : bool, default=False
        Scale the components to unit variance.

    Returns
    -------
    EmbeddingResult
        Its details hold ``explained_variance``, the share of the variance that is kept. It is NaN
        if all points are equal.
    """
    check_integer("PCA", "n_components", n_components, 1, min(features.shape))
    embedding, share = principal_components(features, n_components)
    if whiten:
        embedding, _ = _with_squares(embedding, axis=0)
        deviation = embedding.std(axis=0, ddof=1)
        embedding /= np.where(deviation > 0, deviation, 1.0)
    return EmbeddingResult(embedding, {"explained_variance": share})


def principal_components(features: np.ndarray, n_components: int) -> tuple[np.ndarray, float]:
    """Return the leading principal components and their share of the variance, bit-reproducibly.

    There are fewer components than ``n_components`` if the features (n, d) have fewer.
    """
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    n, d = features.shape
    solver = "covariance_eigh" if d <= n else "full"  # both exact, and neither needs (n, n)
    model = PCA(min(n_components, n, d), svd_solver=solver)
    scaled, exponent = _with_squares(features)
    with threadpool_limits(1):  # rounding may depend on how the work is split
        components = model.fit_transform(scaled)
    if exponent:
        components = np.ldexp(components, exponent)
    return components, float(model.explained_variance_ratio_.sum())


def _with_squares(features: np.ndarray, axis: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return features whose squares neither overflow nor vanish, and the exponents taken out.

    Very large and very small values, of each column or of all, are multiplied by a power of two,
    which is exact. Others stay as they are.
    """
    largest = np.maximum(features.max(axis=axis), -features.min(axis=axis))
    ordinary = (largest == 0) | ((largest > 1e-100) & (largest < 1e100))
    exponents = np.where(ordinary, 0, np.frexp(largest)[1])
    if exponents.any():
        features = np.ldexp(features, -exponents)
    return features, exponents


def frozen(features: np.ndarray, path: str | os.PathLike, sha256: str) -> EmbeddingResult:
    """Read an embedding from a file, so that someone else's run can be repeated exactly.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        The data set's features; only their number is used.
    path : path-like
        An npz with an array ``embedding`` (or ``features``, as this pipeline writes), or an npy.
    sha256 : str
        The file's hash in hexadecimal.

    Returns
    -------
    EmbeddingResult

    Raises
    ------
    DataError
        No such file, another hash, no such array, or not one finite row a point.
    """
    from fedmix.storage import sha256_of

    path = Path(path)
    if not path.is_file():
        raise DataError(f"frozen embedding: no file {path}; place it there or correct the path.")
    found = sha256_of(path)
    if found != sha256.lower():
        raise DataError(
            f"frozen embedding {path}: sha256 is {found}, expected {sha256}; "
            "get the file anew or correct the hash."
        )
    embedding = _read_embedding(path)
    if embedding.ndim != 2 or len(embedding) != len(features) or not np.isfinite(embedding).all():
        raise DataError(
            f"frozen embedding {path}: expected finite values of shape ({len(features)}, q), "
            f"got shape {embedding.shape}."
        )
    return EmbeddingResult(embedding)


def _read_embedding(path: Path) -> np.ndarray:
    from fedmix.storage import read_arrays

    if path.suffix == ".npy":
        try:
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        except (OSError, ValueError) as error:
            raise DataError(f"frozen embedding {path} is damaged ({error}).") from error
    arrays = read_arrays(path, remade=False)
    for name in ("embedding", "features"):
        if name in arrays:
            return np.asarray(arrays[name], dtype=np.float64)
    raise DataError(
        f"frozen embedding {path}: no array 'embedding' or 'features', only {sorted(arrays)}."
    )
