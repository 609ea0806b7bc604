"""The networks of the VAE embeddings and their training; imports PyTorch."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_HIDDEN = 128


class VariationalAutoencoder(nn.Module):
    """What both networks share: a Gaussian latent code and the bound on the log-likelihood.

    Parameters
    ----------
    encoder : torch.nn.Module
        From points (b, d) to hidden units (b, 128).
    decoder : torch.nn.Module
        From codes (b, n_components) to reconstructions (b, d).
    n_components : int
        Latent dimensions.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, n_components: int) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.mean = nn.Linear(_HIDDEN, n_components)
        self.log_variance = nn.Linear(_HIDDEN, n_components)

    def loss(self, points: Tensor) -> Tensor:
        """Return reconstruction error plus KL divergence, summed over coordinates and points."""
        hidden = self.encoder(points)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(log_variance / 2)
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
        return self.reconstruction_error(self.decoder(code), points) + divergence

    def reconstruction_error(self, decoded: Tensor, points: Tensor) -> Tensor:
        """Return the negative log-likelihood of the points, up to a constant."""
        raise NotImplementedError


class ImageVAE(VariationalAutoencoder):
    """Two 3x3 convolutions of stride 2 (32, then 64 channels) and their mirror image.

    Parameters
    ----------
    n_pixels : int
        Pixels of a square image whose side is a multiple of 4.
    n_components : int
        Latent dimensions.
    """

    def __init__(self, n_pixels: int, n_components: int) -> None:
        side = math.isqrt(n_pixels)
        small = (64, side // 4, side // 4)
        encoder = nn.Sequential(
            nn.Unflatten(1, (1, side, side)),
            nn.Conv2d(1, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(math.prod(small), _HIDDEN),
            nn.ReLU(),
        )
        decoder = nn.Sequential(
            nn.Linear(n_components, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, math.prod(small)),
            nn.ReLU(),
            nn.Unflatten(1, small),
            nn.ConvTranspose2d(64, 32, 3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 1, 3, stride=2, padding=1, output_padding=1),
            nn.Flatten(),
        )
        super().__init__(encoder, decoder, n_components)

    def reconstruction_error(self, decoded: Tensor, points: Tensor) -> Tensor:
        """Return the Bernoulli cross-entropy of the pixels; ``decoded`` are log odds."""
        return functional.binary_cross_entropy_with_logits(decoded, points, reduction="sum")


class DenseVAE(VariationalAutoencoder):
    """One hidden layer on either side, for vectors that are no images.

    Parameters
    ----------
    n_features : int
        Dimensions of the vectors.
    n_components : int
        Latent dimensions.
    """

    def __init__(self, n_features: int, n_components: int) -> None:
        encoder = nn.Sequential(nn.Linear(n_features, _HIDDEN), nn.ReLU())
        decoder = nn.Sequential(
            nn.Linear(n_components, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, n_features)
        )
        super().__init__(encoder, decoder, n_components)

    def reconstruction_error(self, decoded: Tensor, points: Tensor) -> Tensor:
        """Return half the squared error: a Gaussian of unit variance."""
        return (decoded - points).square().sum() / 2


def train_epoch(
    model: VariationalAutoencoder,
    optimizer: torch.optim.Optimizer,
    points: Tensor,
    batch_size: int,
) -> float:
    """Pass once over the points in random order.

    Parameters
    ----------
    model : VariationalAutoencoder
        Changed in place.
    optimizer : torch.optim.Optimizer
        Of the model's parameters.
    points : Tensor of shape (n, d)
        All points.
    batch_size : int
        Points a step; steps follow the gradient of a batch's mean loss.

    Returns
    -------
    float
        Mean loss of a point.
    """
    device = next(model.parameters()).device
    total = 0.0
    for batch in torch.randperm(len(points)).split(batch_size):
        optimizer.zero_grad()
        loss = model.loss(points[batch].to(device))
        (loss / len(batch)).backward()
        optimizer.step()
        total += loss.item()
    return total / len(points)


def encode(model: VariationalAutoencoder, points: Tensor, batch_size: int) -> np.ndarray:
    """Return the latent mean vectors of all points, shape (n, n_components)."""
    device = next(model.parameters()).device
    with torch.no_grad():
        codes = [
            model.mean(model.encoder(batch.to(device))).cpu() for batch in points.split(batch_size)
        ]
    return torch.cat(codes).numpy()
