"""Embeddings: from raw features to the few dimensions in which mixtures are fitted."""

from fedmix.embed.base import EmbeddingResult
from fedmix.embed.registry import EMBEDDINGS, embed
from fedmix.embed.tsne import Progress, tsne

__all__ = ["EMBEDDINGS", "EmbeddingResult", "Progress", "embed", "tsne"]
