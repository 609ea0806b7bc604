"""Variational autoencoder embeddings of images, on PyTorch."""

from __future__ import annotations

import numpy as np

from fedmix.embed.result import EmbeddingResult
from fedmix.errors import MissingExtraError


def vae(features: np.ndarray, n_components: int = 64, random_state: int = 0) -> EmbeddingResult:
    """Embed images by the mean vectors of a variational autoencoder."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "VAE embeddings need PyTorch: pip install 'fedmix[vae]' (or pip install torch)."
        ) from error
    raise NotImplementedError
