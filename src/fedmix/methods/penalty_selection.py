"""Choosing FedGrEM's penalty without labels."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fedmix.clients import Clients
from fedmix.errors import DivergenceError
from fedmix.streams import seed_of

if TYPE_CHECKING:
    from fedmix.methods.fedgrem import FedGrEM

CANDIDATES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # times the scale of the data


def select_penalty(
    method: FedGrEM,
    clients: Clients,
    init: tuple[NDArray, NDArray] | str | None = None,
    candidates: Sequence[float] | None = None,
    held_out: float = 0.2,
) -> float:
    """Return the penalty scale whose fit gives held-out points the largest likelihood.

    Each client's points are split once at random; each candidate is fitted on one part. What counts
    is the median over clients of the gain in mean log-likelihood of their other part over the
    smallest candidate's: contaminated clients lose by any pooling, and must not decide.

    Parameters
    ----------
    method : FedGrEM
        The method to choose for; all its other parameters are kept.
    clients : Clients
        The training data.
    init : (weights, means) or str, optional
        Initial values of all fits; by default the method's. Values fitted to all points know the
        held-out ones; the name of a strategy starts from the other part alone.
    candidates : sequence of float, optional
        Penalty scales C; by default powers of two from 1/2 to 32, for Gaussian data times the
        typical client's standard deviation, as the means they tie together grow with it.
    held_out : float, default=0.2
        Share of each client's points that is held out, rounded down.

    Returns
    -------
    float
        The best candidate; the smallest of those that tie, and of all if nothing is held out.
    """
    if candidates is None:
        unit = _typical_deviation(clients) if method.family == "gaussian" else 1.0
        candidates = [unit * candidate for candidate in CANDIDATES]
    training, validation = _split(clients, held_out, seed_of(method.random_state))
    if validation is None:
        return float(min(candidates))
    likelihoods: dict[float, NDArray[np.float64]] = {}
    for scale in sorted(candidates):
        fitted = clone(method).set_params(penalty_scale=scale)
        fitted.init = method.init if init is None else init
        with suppress(DivergenceError):
            points = fitted.fit(training).score_samples(validation)
            likelihoods[scale] = np.array([own.mean() for own in points if own.size])
    if not likelihoods:
        return float(min(candidates))
    reference = likelihoods[min(likelihoods)]
    gains = {scale: np.median(own - reference) for scale, own in likelihoods.items()}
    return float(max(gains, key=gains.__getitem__))


def _typical_deviation(clients: Clients) -> float:
    """Return the median over clients of the standard deviation, in root mean square over columns.

    A median, for contaminated clients may lie anywhere. It is 1 where no client has two points
    that differ.
    """
    filled = np.flatnonzero(clients.sizes)
    deviations = np.array([np.sqrt(clients[int(k)].var(axis=0).mean()) for k in filled])
    varied = deviations[deviations > 0]
    return float(np.median(varied)) if varied.size else 1.0


def _split(clients: Clients, held_out: float, random_state: int) -> tuple[Clients, Clients | None]:
    """Split each client's points at random; the second part is None where it has no point."""
    parts: list[list[NDArray[np.int64]]] = [[], []]
    for k, size in enumerate(clients.sizes):
        order = np.random.default_rng([random_state, k]).permutation(size)
        n_held_out = int(held_out * size)
        parts[0].append(np.sort(order[n_held_out:]))
        parts[1].append(np.sort(order[:n_held_out]))
    if not sum(map(len, parts[1])):
        return clients, None
    return _rows(clients, parts[0]), _rows(clients, parts[1])


def _rows(clients: Clients, rows: list[NDArray[np.int64]]) -> Clients:
    responses = None
    if clients.responses is not None:
        responses = [clients.responses_of(k)[own] for k, own in enumerate(rows)]
    return Clients.from_arrays([clients[k][own] for k, own in enumerate(rows)], responses)
