"""Variational autoencoder embeddings, an optional extra on PyTorch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedmix.checks import check_choice, check_integer, check_number
from fedmix.embed.base import EmbeddingResult, check_features
from fedmix.errors import ConfigurationError, DataError, DivergenceError, MissingExtraError

# Keras's default, for FedGEM's program is written in it.
_ADAM_EPSILON = 1e-7


@dataclass(frozen=True)
class EpochProgress:
    """Where the training of an autoencoder stands.

    Attributes
    ----------
    epoch, epochs : int
        Epochs done, and in all.
    loss : float
        Mean loss of a point in this epoch.
    seconds_left : float
        Time to the end at the pace so far.
    """

    epoch: int
    epochs: int
    loss: float
    seconds_left: float

    def __str__(self) -> str:
        return (
            f"VAE epoch {self.epoch} of {self.epochs}: loss {self.loss:.2f}, "
            f"{self.seconds_left:.0f} s left"
        )


def vae(
    features: np.ndarray,
    n_components: int = 64,
    epochs: int = 30,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    n_training: int | None = None,
    layout: str = "auto",
    device: str = "cpu",
    random_state: int = 0,
    callback: Callable[[EpochProgress], None] | None = None,
) -> EmbeddingResult:
    """Embed points by the mean vectors of a variational autoencoder.

    Parameters
    ----------
    features : array-like of shape (n, d)
        Images in rows (square, grey, not negative), or any other vectors.
    n_components : int, default=64
        Latent dimensions; the FedGEM paper has 64, and 16 for EMNIST.
    epochs : int, default=30
        Passes over the data.
    batch_size : int, default=256
        Points a step.
    learning_rate : float, default=1e-3
        Of Adam.
    n_training : int, optional
        Points, from the front, that are trained on; all are embedded. All by default; FedGEM's
        program holds the last tenth of the training images back.
    layout : {"auto", "images", "vectors"}, default="auto"
        ``"images"``: convolutions; pixels are scaled to at most 1. ``"vectors"``: dense layers;
        every row is scaled to lie between 0 and 1. Either way values are reconstructed as
        probabilities, with the cross-entropy as error. ``"auto"`` takes images where d is the
        square of a multiple of 4 and no value is negative.
    device : str, default="cpu"
        PyTorch's name of the device; only ``"cpu"`` repeats bit for bit.
    random_state : int, default=0
        Seed of the weights, the order of the points and the latent noise.
    callback : callable, optional
        Called with an :class:`EpochProgress` after every epoch.

    Returns
    -------
    EmbeddingResult
        Its details hold ``loss``, the mean loss of a point in the last epoch.

    Raises
    ------
    MissingExtraError
        PyTorch is not installed.
    ConfigurationError
        A parameter out of its range, or ``layout="images"`` for features that are none.
    DataError
        Features that are not finite.
    DivergenceError
        The loss left the finite numbers.

    Notes
    -----
    One CPU thread does the work, for PyTorch's sums depend on how they are split.

    References
    ----------
    Kingma and Welling, Auto-encoding variational Bayes, ICLR 2014. Loss, training and layers are
    those of the public program of FedGEM (Ibrahim, Gebraeel and Xie, 2026), which uses TensorFlow:
    its random numbers are others.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            "VAE embeddings need PyTorch, which is not installed: pip install 'fedmix[vae]'."
        ) from error
    from fedmix.embed.vae_network import DenseVAE, ImageVAE, encode, train_epoch

    features = check_features(features, min_points=2)
    check_integer("VAE", "n_components", n_components, 1)
    check_integer("VAE", "epochs", epochs, 1)
    check_integer("VAE", "batch_size", batch_size, 1)
    check_number("VAE", "learning_rate", learning_rate, above=0)
    n_training = len(features) if n_training is None else n_training
    check_integer("VAE", "n_training", n_training, 1)
    if n_training > len(features):
        raise ConfigurationError(
            f"VAE: n_training is {n_training}, but there are {len(features)} points."
        )
    as_images = _are_images(features, layout)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(random_state)
            points = torch.from_numpy(_scaled(features, as_images))
            network = ImageVAE if as_images else DenseVAE
            model = network(features.shape[1], n_components)
            model = model.to(device, memory_format=torch.channels_last)  # faster convolutions
            optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, eps=_ADAM_EPSILON)
            began = time.perf_counter()
            for epoch in range(1, epochs + 1):
                loss = train_epoch(model, optimizer, points[:n_training], batch_size)
                if not math.isfinite(loss):
                    raise DivergenceError(
                        f"VAE: the loss left the finite numbers in epoch {epoch} of {epochs}; "
                        "lower learning_rate."
                    )
                if callback is not None:
                    pace = (time.perf_counter() - began) / epoch
                    callback(EpochProgress(epoch, epochs, loss, pace * (epochs - epoch)))
            embedding = encode(model, points, batch_size)
    finally:
        torch.set_num_threads(threads)
    return EmbeddingResult(embedding.astype(np.float64), {"loss": loss})


def _are_images(features: np.ndarray, layout: str) -> bool:
    """Return whether the features are to be taken for square images."""
    check_choice("VAE", "layout", layout, ("auto", "images", "vectors"))
    side = math.isqrt(features.shape[1])
    possible = side * side == features.shape[1] and side % 4 == 0 and bool((features >= 0).all())
    if layout == "images" and not possible:
        raise ConfigurationError(
            "layout 'images': expected square images with sides a multiple of 4 and no negative "
            f"values, got {features.shape[1]} columns, least value {features.min():g}; "
            "use layout 'vectors'."
        )
    return possible and layout != "vectors"


def _scaled(features: np.ndarray, as_images: bool) -> np.ndarray:
    """Return pixels scaled to at most 1, or rows scaled to [0, 1], in single precision."""
    if as_images:
        brightest = features.max()
        if brightest == 0:
            raise DataError("VAE: all images are black; there is nothing to embed.")
        return (features / brightest).astype(np.float32)
    low, high = features.min(axis=1, keepdims=True), features.max(axis=1, keepdims=True)
    return ((features - low) / np.where(high > low, high - low, 1)).astype(np.float32)
