"""Embeddings: from raw features to the few dimensions in which mixtures are fitted."""

from fedmix.embed.base import EmbeddingResult
from fedmix.embed.descent import Progress
from fedmix.embed.registry import EMBEDDINGS, embed
from fedmix.embed.tsne import tsne

__all__ = ["EMBEDDINGS", "EmbeddingResult", "Progress", "embed", "tsne"]
