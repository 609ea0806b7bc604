"""The networks of the VAE embeddings and their training; imports PyTorch."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_HIDDEN = 128
_WIDE = 256


class VariationalAutoencoder(nn.Module):
    """What both networks share: a Gaussian latent code and the bound on the log-likelihood.

    The encoder leads from points (b, d) to hidden units (b, 128), the decoder from codes (b,
    n_components) to log odds (b, d) of values between 0 and 1. Weights start as in the public
    program of FedGEM (Glorot's uniform draws, no bias).
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, n_components: int) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.mean = nn.Linear(_HIDDEN, n_components)
        self.log_variance = nn.Linear(_HIDDEN, n_components)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)

    def loss(self, points: Tensor) -> Tensor:
        """Return cross-entropy plus KL divergence, summed over coordinates and points."""
        hidden = self.encoder(points)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(log_variance / 2)
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
        decoded = self.decoder(code)
        errors = functional.binary_cross_entropy_with_logits(decoded, points, reduction="sum")
        return errors + divergence


class ImageVAE(VariationalAutoencoder):
    """Two 3x3 convolutions of stride 2 (32, then 64 channels), and back straight from the code.

    An image is square, with a side that is a multiple of 4. The decoder has three transposed
    convolutions: 64 and 32 channels with stride 2, and one channel with stride 1. Steps of stride 2
    pad and crop the right and the lower edge, as TensorFlow's padding ``"same"`` does.
    """

    def __init__(self, n_pixels: int, n_components: int) -> None:
        side = math.isqrt(n_pixels)
        small = (64, side // 4, side // 4)
        pad, crop = nn.ZeroPad2d((0, 1, 0, 1)), nn.ZeroPad2d((0, -1, 0, -1))
        encoder = nn.Sequential(
            nn.Unflatten(1, (1, side, side)),
            pad,
            nn.Conv2d(1, 32, 3, stride=2),
            nn.ReLU(),
            pad,
            nn.Conv2d(32, 64, 3, stride=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(math.prod(small), _HIDDEN),
            nn.ReLU(),
        )
        decoder = nn.Sequential(
            nn.Linear(n_components, math.prod(small)),
            nn.ReLU(),
            nn.Unflatten(1, small),
            nn.ConvTranspose2d(64, 64, 3, stride=2),
            crop,
            nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 3, stride=2),
            crop,
            nn.ReLU(),
            nn.ConvTranspose2d(32, 1, 3, padding=1),
            nn.Flatten(),
        )
        super().__init__(encoder, decoder, n_components)


class DenseVAE(VariationalAutoencoder):
    """Layers of 256 and 128 units on either side, for vectors that are not images."""

    def __init__(self, n_features: int, n_components: int) -> None:
        encoder = nn.Sequential(
            nn.Linear(n_features, _WIDE), nn.ReLU(), nn.Linear(_WIDE, _HIDDEN), nn.ReLU()
        )
        decoder = nn.Sequential(
            nn.Linear(n_components, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _WIDE),
            nn.ReLU(),
            nn.Linear(_WIDE, n_features),
        )
        super().__init__(encoder, decoder, n_components)


def train_epoch(
    model: VariationalAutoencoder,
    optimizer: torch.optim.Optimizer,
    points: Tensor,
    batch_size: int,
) -> float:
    """Pass once over the points (n, d) in random order; return the mean loss of a point.

    Steps follow the gradient of a batch's mean loss.
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
