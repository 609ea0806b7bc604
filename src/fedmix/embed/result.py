"""What every embedding returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class EmbeddingResult:
    """An embedding and how it came about.

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
