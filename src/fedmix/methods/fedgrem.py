"""FedGrEM: gradient EM at the clients, penalised pooling at the server.

The server pools with a penalty on the distance to a common centre (Section B.1, equation (6)). For
each component it minimises, over nu_1 .. nu_K and their centre nu_bar,

    sum_k  n_k / 2 |nu_k - theta_k|^2 + sqrt(n_k) lambda |nu_k - nu_bar|.

For a given centre, nu_k is a group soft-threshold of theta_k at lambda / sqrt(n_k). Substituting
it leaves a Huber-type location problem for the centre, with weights n_k and thresholds
lambda / sqrt(n_k). The centre is optimal if the clients' pulls
n_k min(1, lambda / (sqrt(n_k) |theta_k - nu_bar|)) (theta_k - nu_bar) sum to zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedmix import families
from fedmix.clients import Clients
from fedmix.families import Sample, Statistics
from fedmix.kernels.em import limited_steps
from fedmix.kernels.huber import huber_centres, penalty_thresholds, shorten
from fedmix.methods.base import Constraints, register
from fedmix.methods.federated_mixture import FederatedMixture, FloatArray
from fedmix.selection import penalty_candidates, tune
from fedmix.streams import generator_of

_TOLERANCE = 1e-12  # of the centre


@register
class FedGrEM(FederatedMixture):
    """Federated gradient EM with penalised pooling.

    Parameters
    ----------
    step_scale : float, default=0.95
        The constant C_eta. The step of component r at client k is C_eta divided by the component's
        initial mixing weight.
    initial_penalty : float, default=1.0
        The start lambda[0] of the penalty path. The default is the simulations' value. The theory
        has C_1 sqrt(n) (Section 3.1). This is so large that the first round gives all clients the
        common means, and the clients separate again as the penalty falls. A client can thus leave a
        poor local optimum. For hundreds of points per client, 1 has almost no effect.
    penalty_decay : float, default=0.1
        The factor kappa_0 of the penalty path, below 1 in the theory. At 1 the penalty grows by the
        same amount in each round, and larger factors are not valid. The default is the paper's.
    penalty_scale : float or "held-out", default=2.0
        The constant C of the penalty path. The default is the paper's. "held-out" takes the value
        of :func:`fedmix.selection.penalty_candidates` with the largest held-out log-likelihood (one
        fold of five is held out), see :func:`fedmix.selection.choose`.
    central_steps : "exact" or int, default="exact"
        "exact" solves the central problem to a tolerance. An integer does that many passes of its
        alternating minimisation, starting from zero deviations (2 in the published code). With few
        passes contaminated clients that are far away move the centre (study ``beyond_outlier``).
    safe_step : bool or "curvature", default=True
        True limits the step to 1 / w[t], where w[t] is the component's current mixing weight. For
        Gaussians a longer step overshoots the M-step, and diverges beyond 2 / w[t]. For regressions
        this holds only on average over the covariates. "curvature" also limits the step to one over
        the largest eigenvalue of the component's normal matrix divided by n_k (for Gaussians this
        is w[t]).
    participation : float, default=1.0
        Share of the clients that take part in each round, drawn at random. The others keep their
        parameters. Below 1 the fit runs all rounds, whatever ``tol``, and warns if ``tol`` is
        positive.
    batch_size : int, optional
        Number of points drawn without replacement at each client in each round; by default all.
        With a number the fit runs all rounds, as with a smaller ``participation``.
    aggregate_weights : bool, default=False
        Whether to pool the mixing weights as well, by the same central update.
    **others
        See :class:`fedmix.methods.federated_mixture.FederatedMixture`.

    Attributes
    ----------
    penalty_ : float
        The penalty lambda of the last round.
    penalty_scale_ : float
        The constant C that was used.

    References
    ----------
    Tian, Weng and Feng (2024), Algorithm 1 and Section B.1. The parameters after ``safe_step`` are
    from Section D.

    Examples
    --------
    >>> import numpy as np
    >>> from fedmix import methods
    >>> rng = np.random.default_rng(0)
    >>> xs = [np.concatenate([rng.normal(-4, 1, (50, 2)), rng.normal(4, 1, (50, 2))])] * 3
    >>> fitted = methods.FedGrEM(n_components=2).fit(xs)
    >>> fitted.means_.shape
    (3, 2, 2)
    """

    tunes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "penalty_scale": {"criterion": "held_out", "n_splits": 1}
    }
    constraints: ClassVar[Constraints] = {
        "step_scale": ["number > 0"],
        "initial_penalty": ["number >= 0"],
        "penalty_decay": ["number >= 0 and <= 1"],
        "penalty_scale": ["number >= 0", {"held-out"}],
        "central_steps": ["integer >= 1", {"exact"}],
        "safe_step": ["boolean", {"curvature"}],
        "participation": ["number > 0 and <= 1"],
        "batch_size": ["integer >= 1", None],
        "aggregate_weights": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        family: str = "gaussian",
        step_scale: float = 0.95,
        initial_penalty: float = 1.0,
        penalty_decay: float = 0.1,
        penalty_scale: float | str = 2.0,
        central_steps: int | str = "exact",
        safe_step: bool | str = True,
        participation: float = 1.0,
        batch_size: int | None = None,
        aggregate_weights: bool = False,
        max_rounds: int = 1000,
        tol: float = 1e-4,
        init: tuple[FloatArray, FloatArray] | str | None = None,
        density_floor: str | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(n_components, family, max_rounds, tol, init, density_floor, random_state)
        self.step_scale = step_scale
        self.initial_penalty = initial_penalty
        self.penalty_decay = penalty_decay
        self.penalty_scale = penalty_scale
        self.central_steps = central_steps
        self.safe_step = safe_step
        self.participation = participation
        self.batch_size = batch_size
        self.aggregate_weights = aggregate_weights

    def candidates(self, name: str, clients: Clients) -> list[float]:
        """Return :func:`fedmix.selection.penalty_candidates`."""
        return penalty_candidates(clients, self.family)

    def _fit(self, clients: Clients) -> None:
        """Alternate between local gradient steps and central updates."""
        sample = self._start(clients)
        held_out = self.penalty_scale == "held-out"
        scale = tune(self, clients)["penalty_scale"] if held_out else self.penalty_scale
        self.penalty_scale_ = float(scale)
        self.penalty_ = float(self.initial_penalty)
        step_sizes = self._initial_step_sizes()
        rate = np.sqrt(clients.n_features + np.log(np.count_nonzero(clients.sizes)))
        generator = generator_of(self.random_state)
        for _ in self._em_rounds():
            active = self._draw_clients(len(clients), generator)
            batch = self._draw_points(sample, active, generator)
            statistics = self._expectation(batch, for_gradient=self.safe_step != "curvature")
            weights = statistics.mixing_weights(self.weights_)
            means = self._local_means(statistics, step_sizes)
            self._check_finite(weights, means)
            self.penalty_ = float(self.penalty_decay * self.penalty_ + self.penalty_scale_ * rate)
            self.weights_, self.means_ = self._central_update(weights, means, sample, active)
            per_client = means[0].size + (weights[0].size if self.aggregate_weights else 0)
            floats = np.count_nonzero(sample.sizes[active]) * per_client
            self._send(up=floats, down=floats)

    def _initial_step_sizes(self) -> FloatArray:
        """Return C_eta / w[0], (K, R), or 0 if w[0] is 0, because the component gets no points."""
        return np.divide(
            self.step_scale,
            self.weights_,
            out=np.zeros_like(self.weights_),
            where=self.weights_ > 0,
        )

    def _local_means(self, statistics: Statistics, step_sizes: FloatArray) -> FloatArray:
        """Take one gradient step at each client: the local update of Algorithm 1, (K, R, d)."""
        if self.safe_step:
            curvatures = statistics.mixing_weights(self.weights_)
            if self.safe_step == "curvature":
                largest = families.get(self.family).curvature(statistics)
                curvatures = np.maximum(curvatures, largest)
            step_sizes = limited_steps(step_sizes, curvatures)
        return self.means_ + step_sizes[..., None] * statistics.gradient()

    def _central_update(
        self, weights: FloatArray, means: FloatArray, sample: Sample, active: slice | np.ndarray
    ) -> tuple[FloatArray, FloatArray]:
        """Pool the active clients' means and, optionally, weights; the others keep theirs."""
        sizes = sample.sizes[active]
        pooled = self.means_.copy()
        pooled[active] = pool_towards_centre(
            means[active], sizes, self.penalty_, self.central_steps
        )
        if self.aggregate_weights:
            weights = weights.copy()
            weights[active] = pool_towards_centre(
                weights[active][:, None], sizes, self.penalty_, self.central_steps
            )[:, 0]
        return weights, pooled

    def _draw_clients(self, n_clients: int, generator: np.random.Generator) -> slice | np.ndarray:
        """Return the clients that take part in this round: all, or an array of their numbers."""
        if self.participation == 1:
            return slice(None)
        n_active = max(1, round(self.participation * n_clients))
        return np.sort(generator.choice(n_clients, n_active, replace=False))

    def _draw_points(
        self, sample: Sample, active: slice | np.ndarray, generator: np.random.Generator
    ) -> Sample:
        """Return this round's points: all points of the active clients, or a batch."""
        if self.participation == 1 and self.batch_size is None:
            return sample
        used = np.zeros_like(sample.sizes)
        used[active] = sample.sizes[active]
        rows = []
        for k, size in enumerate(used):
            own = np.arange(size)
            if self.batch_size is not None and self.batch_size < size:
                own = generator.choice(size, self.batch_size, replace=False)
            rows.append(sample.offsets[k] + own)
        return sample.take(rows)

    def _state(self) -> list[FloatArray]:
        return [*super()._state(), np.array(self.penalty_)]

    def _has_settled(self, before: list[FloatArray]) -> bool:
        draws = self.participation < 1 or self.batch_size is not None
        return not draws and super()._has_settled(before)


def pool_towards_centre(
    means: FloatArray,
    sizes: NDArray[np.int64],
    penalty: float,
    central_steps: int | str = "exact",
) -> FloatArray:
    """Return the pooled means nu_k, of shape (K, R, d), of the clients' local estimates.

    A client without points gets the centre. "exact" solves for the centre to a tolerance. An
    integer alternates that many times between the centre and the soft-threshold, starting from zero
    deviations.
    """
    if not sizes.any():
        return means
    thresholds = penalty_thresholds(penalty, sizes)
    if central_steps == "exact":
        centres = huber_centres(means, sizes.astype(np.float64), thresholds, _TOLERANCE)
        return centres + soft_threshold(means - centres, thresholds)
    deviations = np.zeros_like(means)
    share = (sizes / sizes.sum())[:, None, None]
    for _ in range(int(central_steps)):
        centres = (share * (means - deviations)).sum(axis=0)
        deviations = soft_threshold(means - centres, thresholds)
    return centres + deviations


def soft_threshold(deviations: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Shorten each deviation (K, R, d) by its client's threshold (K,), to no less than zero."""
    lengths = np.sqrt(np.square(deviations).sum(axis=2))
    return shorten(deviations, lengths, thresholds)
