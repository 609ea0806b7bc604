"""The interface of all embeddings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedmix.errors import DataError


@dataclass(frozen=True)
class EmbeddingResult:
    """An embedding and a description of its computation.

    Attributes
    ----------
    embedding : ndarray of float64, shape (n, q)
        Row i embeds point i.
    details : dict
        Plain values, fit for JSON: what the method measured (t-SNE: kl, n_iter, n_samples, ...)
        and, from :func:`fedmix.embed.embed`, kind, seed and parameters.
    """

    embedding: np.ndarray
    details: dict[str, Any] = field(default_factory=dict)


def check_features(features: np.ndarray, min_points: int = 1) -> np.ndarray:
    """Return finite features (n, d) as float64, copied only if necessary, or raise DataError."""
    try:
        features = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"features: expected an array of numbers ({error}).") from error
    if features.ndim != 2 or features.shape[1] == 0:
        raise DataError(f"features: expected shape (n, d) with d >= 1, got {features.shape}.")
    if len(features) < min_points:
        raise DataError(f"features: expected at least {min_points} points, got {len(features)}.")
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise DataError(
            f"features: {features[row, column]} at row {row}, column {column}; "
            "expected finite numbers. Drop or impute such values first."
        )
    return features
