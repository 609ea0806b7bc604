"""The interface between a family of components and the EM-type methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedmix.checks import check_choice
from fedmix.clients import Clients, offsets_of
from fedmix.kernels.em import mixing_weights
from fedmix.kernels.responsibilities import BELOW, NO_FLOOR, ZEROS

FloatArray = NDArray[np.float64]

DENSITY_FLOORS = {None: NO_FLOOR, "zeros": ZEROS, "below": BELOW}


@dataclass(frozen=True)
class Sample:
    """Points in the layout of the kernels: one row per feature.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        The points of all clients, one column per point.
    offsets : ndarray of shape (K + 1,)
        Client k owns columns ``offsets[k]`` to ``offsets[k + 1]``.
    responses : ndarray of shape (n,)
        The responses; empty if there are none.
    """

    columns: FloatArray
    offsets: NDArray[np.int64]
    responses: FloatArray

    @classmethod
    def of(cls, clients: Clients) -> Sample:
        """Transpose the clients' points once."""
        responses = np.empty(0) if clients.responses is None else clients.responses
        return cls(np.ascontiguousarray(clients.points.T), clients.offsets, responses)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of points of each client, of shape (K,)."""
        return np.diff(self.offsets)

    def take(self, rows: list[NDArray[np.int64]]) -> Sample:
        """Keep the points at ``rows[k]`` (counted over all clients) of each client k."""
        offsets = offsets_of([len(r) for r in rows])
        chosen = np.concatenate(rows)
        responses = self.responses[chosen] if len(self.responses) else self.responses
        return Sample(np.ascontiguousarray(self.columns[:, chosen]), offsets, responses)


class Statistics(NamedTuple):
    """The result of one E-step.

    Parameters
    ----------
    sizes : ndarray of shape (K,)
        Number of points of each client.
    responsibilities : ndarray of shape (K, R)
        Sums of responsibilities.
    scores : ndarray of shape (K, R, d)
        Gradient of the expected complete log-likelihood (not divided by n_k) at the means of the
        E-step.
    log_likelihoods : ndarray of shape (K,), optional
        Log-likelihood of each client at the parameters of the E-step, if it was asked for.
    normal : ndarray of shape (K, R, d, d), optional
        Weighted normal matrices (upper triangles), for the M-step of a regression.
    """

    sizes: NDArray[np.int64]
    responsibilities: FloatArray
    scores: FloatArray
    log_likelihoods: FloatArray | None = None
    normal: FloatArray | None = None

    def mixing_weights(self, previous: FloatArray) -> FloatArray:
        """Return the M-step of the mixing weights, (K, R); empty clients keep theirs."""
        return mixing_weights(self.responsibilities, self.sizes, previous)

    def gradient(self) -> FloatArray:
        """Return the gradient of Q-hat, (K, R, d): scores over n_k; 0 for empty clients."""
        return self.scores / np.maximum(self.sizes, 1)[:, None, None]


class Family(ABC):
    """A family of component densities with one parameter vector ("mean") per component."""

    #: Name of the family in methods and configurations.
    name: ClassVar[str]
    #: Default initialisation strategy of :mod:`fedmix.initialization`.
    default_initialization: ClassVar[str]

    @abstractmethod
    def check(self, clients: Clients) -> None:
        """Raise a DataError if the clients' data do not fit the family."""

    @abstractmethod
    def log_density(
        self, points: FloatArray, responses: FloatArray | None, means: FloatArray
    ) -> FloatArray:
        """Return log p(x_i; theta_r) of points (n, d) under means (R, d), of shape (n, R)."""

    @abstractmethod
    def expectation(
        self,
        sample: Sample,
        weights: FloatArray,
        means: FloatArray,
        density_floor: str | None = None,
        for_gradient: bool = False,
        with_likelihood: bool = False,
    ) -> Statistics:
        """Do the E-step: return the statistics at ``weights`` (K, R) and ``means`` (K, R, d).

        With ``for_gradient``, statistics that only a full M-step needs are left out. The
        log-likelihoods are left out by default, because they take a third of the time.
        """

    @abstractmethod
    def maximise(
        self, statistics: Statistics, means: FloatArray, as_published: bool = False
    ) -> FloatArray:
        """Do the M-step: return the maximising means, (K, R, d), from the ``means`` of the E-step.

        A component without responsibility keeps its mean, and so does any direction that the data
        do not determine. With ``as_published`` the division is instead made safe as in the
        published code.
        """

    @abstractmethod
    def curvature(self, statistics: Statistics) -> FloatArray:
        """Return the largest curvature of Q-hat in each component's mean, of shape (K, R).

        The statistics must be those of a full M-step.
        """


def log_sum(log_joint: FloatArray) -> FloatArray:
    """Return log sum_r exp(log_joint) of an (n, R) array, of shape (n,)."""
    largest = log_joint.max(axis=1, initial=-np.inf)
    return largest + np.log(np.exp(log_joint - largest[:, None]).sum(axis=1))


def probabilities(log_joint: FloatArray) -> FloatArray:
    """Return exp(log_joint), (n, R), divided by its sums over r."""
    shares = np.exp(log_joint - log_sum(log_joint)[:, None])
    total = shares.sum(axis=1, keepdims=True)
    # Far from all components the logarithm is so large that it rounds the sum away.
    return np.where(np.abs(total - 1.0) > 1e-9, shares / total, shares)


def symmetric(upper: FloatArray) -> FloatArray:
    """Return the symmetric matrices (..., d, d) with the given upper triangles."""
    below = np.tri(upper.shape[-1], k=-1, dtype=bool)
    return np.where(below, upper.swapaxes(-2, -1), upper)


def floor_code(density_floor: str | None) -> int:
    """Return the kernels' code of a density floor.

    Raises
    ------
    ConfigurationError
        If it is not None, ``"zeros"`` or ``"below"``.
    """
    check_choice("fedmix", "density_floor", density_floor, DENSITY_FLOORS)
    return DENSITY_FLOORS[density_floor]
