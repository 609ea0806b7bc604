"""Rates that the papers' theorems predict, and whether the theorems' conditions hold.

Source: Su, Xu and Yang (2022), Section 4.2 and Theorem 2. The theorem's absolute constants are not
known. They are all 1 here, so rates and floors can be compared between settings but their absolute
values have no meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.checks import check_choice


@dataclass(frozen=True)
class Theorem2:
    """The quantities of Theorem 2 for a setting.

    Parameters
    ----------
    gamma : float
        ``eta max_i ||X_i||^2 / n_i``; the theorem requires it to be below 1.
    kappa : float
        Stability of local training, at least 1.
    rho : float
        Share of the points in the smallest cluster.
    chi2 : float
        Imbalance of the clients' sizes.
    clustering_error : float
        First part of nu: the expected share of points in clients with a wrong label.
    deviation : float
        Second part of nu: a bound on the deviation from that share, uniform over all models.
    rate : float
        ``s eta rho / kappa``: the rate at which the distance to the truth contracts per round.
    """

    gamma: float
    kappa: float
    rho: float
    chi2: float
    clustering_error: float
    deviation: float
    rate: float

    @property
    def nu(self) -> float:
        """The clustering error in each round, equation (10)."""
        return self.clustering_error + self.deviation

    @property
    def holds(self) -> bool:
        """Whether ``nu log(e / nu) <= rho / kappa``, the theorem's condition with constants 1.

        The left side is 0 in the limit nu = 0, which is reached with one model.
        """
        if self.nu == 0:
            return True
        return self.nu < 1 and self.nu * np.log(np.e / self.nu) <= self.rho / self.kappa


def theorem2(
    sizes: ArrayLike,
    labels: ArrayLike,
    models: ArrayLike,
    noise: float,
    learning_rate: float,
    gamma: float,
    local: str = "fedavg",
    local_steps: int = 5,
) -> Theorem2:
    """Return the quantities of Theorem 2 for clients of some sizes (M,) and true labels (M,).

    ``models`` are the true ones, of shape (k, d), ``noise`` is sigma, ``learning_rate`` eta, and
    ``gamma`` is ``eta max_i ||X_i||^2 / n_i``. ``local`` is "fedavg", with s = ``local_steps``, or
    "fedprox", which always has one step.
    """
    sizes, labels, models = np.asarray(sizes), np.asarray(labels), np.asarray(models)
    n_clusters, n_features = models.shape
    steps = local_steps if local == "fedavg" else 1
    kappa = stability(gamma, local, local_steps)
    in_cluster = np.bincount(labels, weights=sizes, minlength=n_clusters)
    rho = float(in_cluster.min() / sizes.sum())
    chi2 = size_imbalance(sizes)
    wrong = _wrong_label_bound(sizes, models, noise)
    spread = n_features * n_clusters * np.log(n_clusters) / len(sizes) * (chi2 + 1)
    return Theorem2(
        gamma=gamma,
        kappa=kappa,
        rho=rho,
        chi2=chi2,
        clustering_error=float(sizes @ wrong / sizes.sum()),
        deviation=float(np.sqrt(spread)),
        rate=steps * learning_rate * rho / kappa,
    )


def stability(gamma: float, local: str, local_steps: int) -> float:
    """Return kappa: ``gamma s / (1 - (1 - gamma)^s)`` for FedAvg, ``1 + gamma`` for FedProx.

    At gamma = 0 it is 1, the limit, for both.
    """
    check_choice("stability", "local", local, ("fedavg", "fedprox"))
    if local == "fedprox":
        return 1.0 + gamma
    if gamma == 0:
        return 1.0
    return gamma * local_steps / (1.0 - (1.0 - gamma) ** local_steps)


def size_imbalance(sizes: ArrayLike) -> float:
    """Return ``chi^2(n) = M sum_i (n_i / N - 1 / M)^2``; 0 if all clients have the same size."""
    sizes = np.asarray(sizes, dtype=np.float64)
    return float(np.mean((sizes / sizes.mean() - 1.0) ** 2))


def observed_rate(errors: ArrayLike) -> float:
    """Return the rate r of ``(1 - r)^t`` at which a trajectory contracts towards its last value.

    ``errors`` are distances to the truth after each round. The rate is fitted to the excess over
    the last value, in the rounds where the excess is between one hundredth and one half of the
    first excess. It is NaN if there are fewer than three such rounds.
    """
    errors = np.asarray(errors, dtype=np.float64)
    excess = errors - errors[-1]
    used = np.flatnonzero((excess < 0.5 * excess[0]) & (excess > 0.01 * excess[0]))
    if len(used) < 3:
        return float("nan")
    return float(-np.expm1(np.polyfit(used, np.log(excess[used]), 1)[0]))


def _wrong_label_bound(sizes: NDArray, models: NDArray, noise: float) -> NDArray:
    """Return ``p_e(n_i) = 4 k exp(-n_i min(1, Delta^2 / sigma^2)^2)``; it can exceed 1."""
    from scipy.spatial.distance import pdist

    if len(models) == 1:
        return np.zeros(len(sizes))
    separation = pdist(models).min()
    ratio = 1.0 if noise == 0 else min(1.0, (separation / noise) ** 2)
    return 4 * len(models) * np.exp(-sizes * ratio**2)


def assumption_holds(
    n_points: int, n_clients: int, n_features: int, n_components: int, separation: float
) -> bool:
    """Return whether Assumption 3.7 of FedGrEM holds, with all constants 1.

    The constants are unknown. The result therefore shows which of two settings is further inside
    the assumption, not whether a setting satisfies it. Only parts (iii), signal strength, and (iv),
    sample size, are checked. The simulation must satisfy the others. The arguments are n, K, d, R
    and Delta.

    References
    ----------
    Tian, Weng and Feng (2024), Assumption 3.7.
    """
    wanted = n_components**4 * (n_features + np.log(n_components * n_clients)) / separation**2
    return bool(separation >= np.log(n_components) and n_points >= wanted)


def alignment_conditions(
    separation: float, h: float, start_error: float, n_clients: int, n_contaminated: int
) -> tuple[bool, bool]:
    """Return whether Theorems C.2 and C.4 of FedGrEM guarantee aligned labels.

    They have no unknown constants. Theorem C.2 is about the exhaustive and C.4 about the stepwise
    search, which takes the clients in a given order. All good clients are assumed to come first.
    Both are False if half of the clients or more are contaminated.

    Parameters
    ----------
    separation : float
        Delta: the smallest distance between two true means of one client.
    h : float
        Heterogeneity: the largest distance between a good client's mean and the common centre.
    start_error : float
        Largest distance between a good client's initial mean and its true mean.
    n_clients, n_contaminated : int
        K, and the number of contaminated clients.

    References
    ----------
    Tian, Weng and Feng (2024), Assumptions C.1 and C.3.
    """
    share, good = n_contaminated / n_clients, n_clients - n_contaminated
    if share >= 0.5:
        return False, False
    exhaustive = (2 + 2 * share) / (1 - share) * (h + 2 * start_error)
    stepwise = (good + n_contaminated) / (good - n_contaminated) * (2 * h + 6 * start_error)
    return separation > exhaustive, separation > stepwise
