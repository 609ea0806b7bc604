"""Differential privacy of the maximisers that FedGEM's clients send (Section B.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_number
from fedmix.errors import ConfigurationError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class GaussianMechanism:
    """Gaussian noise that makes one round's maximisers (rho, mu)-differentially private.

    The guarantee is per round and covers the maximisers. FedGEM therefore takes the radii ``exact``
    and ``half`` from the noisy maximisers, which gives nothing more away; ``theorem4`` also depends
    on the data themselves, whose protection the paper leaves open.

    Parameters
    ----------
    rho, mu : float
        Privacy parameters (often written epsilon and delta), rho > 0 and 0 < mu < 1.
    B_x : float
        Bound on the norm of a point; longer points are shortened to it (Assumption 7).
    B_gamma : float
        Lower bound on a component's sum of responsibilities.

    References
    ----------
    Ibrahim, Gebraeel, Xie (2026), Assumption 7, Definition 4 and Theorem 9.
    """

    rho: float
    mu: float
    B_x: float
    B_gamma: float

    @classmethod
    def of(cls, privacy: Mapping[str, float] | None) -> GaussianMechanism | None:
        """Return the mechanism described by ``privacy``, checked.

        Raises
        ------
        ConfigurationError
            If a parameter is missing, unknown or out of range.
        """
        if privacy is None:
            return None
        try:
            mechanism = cls(**privacy)
        except TypeError as error:
            raise ConfigurationError(
                f"privacy: expected the keys rho, mu, B_x and B_gamma; got {privacy!r}."
            ) from error
        mechanism._validate()
        return mechanism

    def noise_scale(self, n_components: int) -> float:
        """Return the noise's standard deviation at a client with K_g components (Theorem 9)."""
        sensitivity = 3 * self.B_x / self.B_gamma + 2 * self.B_x / self.B_gamma**2
        return float(
            np.sqrt(n_components) * sensitivity * np.sqrt(2 * np.log(1.25 / self.mu)) / self.rho
        )

    def clip(self, points: FloatArray) -> FloatArray:
        """Shorten the points of shape (n, d) that are longer than B_x to that length."""
        norms = np.linalg.norm(points, axis=1, keepdims=True)
        return points * (self.B_x / np.maximum(norms, self.B_x))

    def perturb(
        self, maximisers: FloatArray, n_components: NDArray[np.int64], rng: np.random.Generator
    ) -> FloatArray:
        """Add noise to the maximisers of shape (C, d) of clients with ``n_components`` each."""
        scales = np.repeat([self.noise_scale(k) for k in n_components], n_components)
        return maximisers + scales[:, None] * rng.standard_normal(maximisers.shape)

    def _validate(self) -> None:
        for name in ("rho", "B_x", "B_gamma"):
            check_number("privacy", name, getattr(self, name), above=0)
        check_number("privacy", "mu", self.mu, above=0, below=1)
