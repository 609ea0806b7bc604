"""Two-phase clustered federated learning for mixed regression (Su, Xu and Yang 2022)."""

from __future__ import annotations

from math import ceil, log
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.clients import Clients
from fedmix.errors import ConfigurationError, DataError
from fedmix.methods.base import Constraints, register
from fedmix.methods.clustered_regression import ClusteredRegression, starting_models
from fedmix.methods.moment_descent import (
    CrossMoment,
    PairSource,
    anchor_moment,
    covariance_bounds,
    group_anchors,
    group_centres,
    leading_subspace,
    orthogonal_iteration,
    power_iteration,
    separation,
)


@register
class TwoPhase(ClusteredRegression):
    """Federated moment descent on anchor clients, then iterative clustering with FedAvg or FedProx.

    Phase 1 needs no good start. A few anchor clients with enough points each move towards the model
    of their own cluster, along directions in a subspace that all clients estimate together. The
    anchors' groups give the models that Phase 2 refines on all clients.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    local : {"fedavg", "fedprox"}, default="fedavg"
        Local training in Phase 2: gradient steps, or the proximal solve.
    local_steps : int, default=5
        Number s of local gradient steps of FedAvg. The default is that of the paper's comparison.
    learning_rate : float, optional
        Step eta of Phase 2. The default is ``gamma / max_i ||X_i||^2 / n_i``, for which every
        client sends its largest curvature to the server, and receives the step.
    rounds : int, default=400
        Number T' of rounds of Phase 2. The default is the paper's.
    n_anchors : int, optional
        Number of anchor clients. The default is the paper's, ``ceil(3 k log k)``, and at least k.
    phase1_rounds : int, default=5
        Number T of rounds of Phase 1. The default is the paper's.
    subspace : {"svd", "orthogonal_iteration"}, default="svd"
        How the subspace and the anchors' directions are computed. "svd" uses a singular value
        decomposition for both, as in the paper's experiments. "orthogonal_iteration" uses the
        algorithms as stated: federated orthogonal iteration (Algorithm 3) and power iteration.
    subspace_rounds : int, optional
        Number T_1 of exchanges of the orthogonal iteration. The default is ``ceil(k log(N d))``
        (Theorem 1).
    fresh_clients : bool, default=False
        If True, each round of Phase 1 uses new data, as the algorithm states: clients that no other
        round uses, with two points each, and new points of the anchors. If False, each round uses
        all data, as in the paper's experiments.
    alpha, beta : float, optional
        Bounds on the eigenvalues of the features' second moment. By default they are estimated from
        the pooled, shrunk second moment.
    separation : float, optional
        Delta, the smallest distance between two models. By default the smallest distance between
        the centres of the anchors' groups in the current round.
    direction_sign : {"gradient", "as_found"}, default="gradient"
        The sign of an anchor's direction. A singular vector is known up to its sign, and the paper
        does not choose one. "gradient" takes the sign that agrees with the mean of the anchor's own
        projected gradients. "as_found" takes the vector as the decomposition returns it.
    linkage : {"average", "single"}, default="average"
        How the anchors are grouped, see :func:`~fedmix.methods.moment_descent.group_anchors`.
    epsilon : float, default=0.05
        An anchor stops when its residual error is below ``epsilon * separation``, times the power
        of two nearest to beta: the error has the unit of the squared features. This power is 1
        for the paper's features. The theory requires a small constant.
    min_anchor_points : int, optional
        Number of points that an anchor needs. The default is ``4 k``, two pairs of points for each
        dimension of the subspace. With ``fresh_clients`` an anchor needs two points for each
        round, so that the default is at least ``2 phase1_rounds`` and a smaller number is an error.
    init : array-like of shape (d,), optional
        Start of Phase 1. By default random, in the scale of the data.
    average : {"all", "cluster"}, default="all"
        What the server divides a model's summed local updates by in Phase 2: the points of all
        clients, as in the paper, or those of the clients that chose the model, as in
        :class:`~fedmix.methods.clustered_baselines.IFCA`. The latter needs fewer rounds.
    gamma : float, default=0.5
        Sets the default learning rate. Below 1, local gradient steps contract.
    tol : float, default=0.0
        Phase 2 stops when no model moves by more than this. With 0 it runs all rounds.
    random_state : int, default=0
        Seed of the choice of anchors and of every random start.

    Attributes
    ----------
    models_, labels_, history_, learning_rate_, gamma_
        See :class:`~fedmix.methods.clustered_regression.ClusteredRegression`. ``history_`` begins
        with Phase 1, where the models are the means of the anchors' final groups.
    anchors_ : ndarray of shape (n_anchors,)
        The anchor clients.
    anchor_labels_ : ndarray of shape (n_anchors,)
        The group of each anchor.
    n_rounds_ : int
        Number of rounds of both phases. The exchanges within the orthogonal iteration count only in
        ``communication_``.

    References
    ----------
    Su, Xu, Yang (2022), Global Convergence of Federated Learning for Mixed Regression, Phases 1
    and 2, Algorithm 3, Appendix C.

    Notes
    -----
    Without ``fresh_clients``, the moments use all pairs of different points of a client, with
    weights n_i / N as in Algorithm 3.
    """

    starts_from: ClassVar[str | None] = "model"
    constraints: ClassVar[Constraints] = {
        "n_anchors": ["integer >= 1", None],
        "phase1_rounds": ["integer >= 1"],
        "subspace": [{"svd", "orthogonal_iteration"}],
        "subspace_rounds": ["integer >= 1", None],
        "fresh_clients": ["boolean"],
        "alpha": ["number > 0", None],
        "beta": ["number > 0", None],
        "separation": ["number > 0", None],
        "direction_sign": [{"gradient", "as_found"}],
        "linkage": [{"average", "single"}],
        "epsilon": ["number >= 0"],
        "min_anchor_points": ["integer >= 2", None],
    }

    anchors_: NDArray
    anchor_labels_: NDArray

    def __init__(
        self,
        n_clusters: int | None = None,
        local: str = "fedavg",
        local_steps: int = 5,
        learning_rate: float | None = None,
        rounds: int = 400,
        n_anchors: int | None = None,
        phase1_rounds: int = 5,
        subspace: str = "svd",
        subspace_rounds: int | None = None,
        fresh_clients: bool = False,
        alpha: float | None = None,
        beta: float | None = None,
        separation: float | None = None,
        direction_sign: str = "gradient",
        linkage: str = "average",
        epsilon: float = 0.05,
        min_anchor_points: int | None = None,
        init: ArrayLike | None = None,
        average: str = "all",
        gamma: float = 0.5,
        tol: float = 0.0,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            n_clusters, local, local_steps, learning_rate, rounds, init, gamma, tol, random_state
        )
        self.n_anchors = n_anchors
        self.phase1_rounds = phase1_rounds
        self.subspace = subspace
        self.subspace_rounds = subspace_rounds
        self.fresh_clients = fresh_clients
        self.alpha = alpha
        self.beta = beta
        self.separation = separation
        self.direction_sign = direction_sign
        self.linkage = linkage
        self.epsilon = epsilon
        self.min_anchor_points = min_anchor_points
        self.average = average

    def _start(self, clients: Clients, rng: np.random.Generator) -> NDArray:
        """Run Phase 1."""
        theta = starting_models(self.init, (clients.n_features,), clients, rng)
        self.anchors_ = self._choose_anchors(clients, rng)
        sources = self._sources(clients, rng)
        alpha, beta = self._bounds(clients)
        trail = [np.tile(theta, (len(self.anchors_), 1))]
        for t, source in enumerate(sources):
            trail.append(self._descend(clients, source, trail[-1], alpha, beta, t, rng))
        self.anchor_labels_ = group_anchors(trail[-1], self.n_clusters, self.linkage)
        history = [group_centres(e, self.anchor_labels_, self.n_clusters) for e in trail]
        self._count_floats(clients, sources)
        return np.stack(history)

    def _descend(
        self,
        clients: Clients,
        source: PairSource,
        estimates: NDArray,
        alpha: float,
        beta: float,
        t: int,
        rng: np.random.Generator,
    ) -> NDArray:
        """Move every anchor's estimate (h, d) along its residual error (Steps 8 to 15).

        The error is a distance of models times the features' second moment. The threshold has the
        unit of this moment: the power of two nearest to beta, which is 1 for the paper's features.
        """
        k, unit = min(self.n_clusters, clients.n_features), 2.0 ** np.round(np.log2(beta))
        step, threshold = alpha / (2 * beta**2), unit * self.epsilon * self._separation(estimates)
        moved = estimates.copy()
        for h, anchor in enumerate(self.anchors_):
            moment = source.moment(estimates[h])
            basis = self._subspace(moment, k, clients, rng)
            points = self._anchor_points(clients, anchor, t)
            small, mean = anchor_moment(*points, estimates[h], basis, self.fresh_clients)
            direction, error = self._leading_direction(small, clients, rng)
            if error > threshold:
                turned = self.direction_sign == "gradient" and direction @ mean < 0
                sign = -1.0 if turned else 1.0
                moved[h] += sign * step * error * (basis @ direction)
        return moved

    def _choose_anchors(self, clients: Clients, rng: np.random.Generator) -> NDArray:
        k = self.n_clusters
        if self.n_anchors is not None and self.n_anchors < k:
            raise ConfigurationError(
                f"TwoPhase: expected n_anchors to be at least n_clusters = {k}, got "
                f"{self.n_anchors}. Each cluster needs its own anchor."
            )
        wanted = max(k, ceil(3 * k * log(k))) if self.n_anchors is None else self.n_anchors
        least = 2 * self.phase1_rounds if self.fresh_clients else 2
        if self.min_anchor_points is not None and self.min_anchor_points < least:
            raise ConfigurationError(
                f"TwoPhase: expected min_anchor_points to be at least 2 phase1_rounds = {least} "
                f"with fresh_clients, got {self.min_anchor_points}. Each round needs two new "
                "points of an anchor."
            )
        least = max(4 * k, least) if self.min_anchor_points is None else self.min_anchor_points
        eligible = np.flatnonzero(clients.sizes >= least)
        if len(eligible) < wanted:
            raise DataError(
                f"Phase 1 needs {wanted} anchor clients with at least {least} points each, but "
                f"only {len(eligible)} of {len(clients)} clients have that many. Lower n_anchors "
                f"(at least n_clusters = {k}) or min_anchor_points, or start from given models "
                "with IFCA(init)."
            )
        return np.sort(rng.choice(eligible, size=wanted, replace=False))

    def _bounds(self, clients: Clients) -> tuple[float, float]:
        """Return alpha and beta, given or estimated."""
        alpha, beta = self.alpha, self.beta
        if alpha is None or beta is None:
            estimated = covariance_bounds(clients)
            alpha = estimated[0] if alpha is None else alpha
            beta = estimated[1] if beta is None else beta
        return alpha, beta

    def _separation(self, estimates: NDArray) -> float:
        if self.separation is not None:
            return self.separation
        labels = group_anchors(estimates, self.n_clusters, self.linkage)
        return separation(group_centres(estimates, labels, self.n_clusters))

    def _sources(self, clients: Clients, rng: np.random.Generator) -> list[PairSource]:
        """Return the source of pairs that estimates the subspace in each round."""
        able = np.flatnonzero(clients.sizes >= 2)
        if not self.fresh_clients:
            if not len(able):
                raise DataError("Phase 1 needs clients with at least two points. There are none.")
            return [PairSource.gather(clients, able, fresh=False)] * self.phase1_rounds
        others = rng.permutation(np.setdiff1d(able, self.anchors_))
        m = len(others) // self.phase1_rounds
        if m == 0:
            raise DataError(
                f"{self.phase1_rounds} rounds on fresh clients need as many clients with two "
                f"points besides the anchors; there are {len(others)}. Set fresh_clients=False."
            )
        parts = (np.sort(others[t * m : (t + 1) * m]) for t in range(self.phase1_rounds))
        return [PairSource.gather(clients, part, fresh=True) for part in parts]

    def _subspace(
        self, moment: CrossMoment, k: int, clients: Clients, rng: np.random.Generator
    ) -> NDArray:
        """Return an orthonormal basis (d, k) of the subspace of the residual errors (Step 9)."""
        if self.subspace == "svd":
            return leading_subspace(moment.dense(), k)
        rounds = self._subspace_rounds(clients)
        return orthogonal_iteration(
            moment.times, moment.transposed_times, clients.n_features, k, rounds, rng
        )

    def _leading_direction(
        self, moment: NDArray, clients: Clients, rng: np.random.Generator
    ) -> tuple[NDArray, float]:
        """Return the direction (k,) and the size of an anchor's residual error (Step 11)."""
        if self.subspace == "svd":
            left, values, _ = np.linalg.svd(moment)
            return left[:, 0], float(np.sqrt(values[0]))
        rounds = 2 * ceil(log(max(2, clients.points.size)))  # T_2, twice the order of Theorem 1
        direction, value = power_iteration(moment, rounds, rng)
        return direction, float(np.sqrt(value))

    def _anchor_points(self, clients: Clients, anchor: int, t: int) -> tuple[NDArray, NDArray]:
        """Return an anchor's points for a round: all, or a part that no other round uses."""
        x, y = clients[anchor], clients.responses_of(anchor)
        if not self.fresh_clients:
            return x, y
        share = 2 * (len(x) // (2 * self.phase1_rounds))
        part = slice(t * share, (t + 1) * share)
        return x[part], y[part]

    def _subspace_rounds(self, clients: Clients) -> int:
        if self.subspace_rounds is not None:
            return self.subspace_rounds
        return ceil(self.n_clusters * log(max(2, clients.points.size)))

    def _count_floats(self, clients: Clients, sources: list[PairSource]) -> None:
        """Count the floats of Phase 1: models and subspaces down, moments and estimates up."""
        d, h = clients.n_features, len(self.anchors_)
        k = min(self.n_clusters, d)
        heard = sum(len(source.sizes) for source in sources) * h
        down = heard * d + self.phase1_rounds * h * k * d
        up = self.phase1_rounds * h * d
        if self.subspace == "svd":
            up += heard * d * d
        else:
            exchanges = 2 * ((self._subspace_rounds(clients) + 1) // 2)
            up, down = up + heard * exchanges * k * d, down + heard * exchanges * k * d
        if self.alpha is None or self.beta is None:
            up += int(np.count_nonzero(clients.sizes)) * d * (d + 1) // 2
        self._send(up=up, down=down)
