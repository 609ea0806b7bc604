"""A round of each EM method against the machine's limit, measured in the same run on one core.

The limit is the time of the round's exponentials and multiply-adds alone, at the rates that this
core reaches when it does nothing else: exponentials of values in the first-level cache, and
multiply-adds of a matrix product. A round takes longer because these steps also load, store and
sum, and because of the server's part and Python, which the limit leaves out. Run it with
``NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/limits.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numba import njit

from em_round import milliseconds, problem
from fedmix import methods
from fedmix.kernels.responsibilities import exp_of_nonpositive

N_COVARIATE = 3  # covariate components of FedGMM
SIZES = {
    "simulation": {"n": 1_500, "d": 10, "n_components": 5, "n_clients": 10},
    "pen digits": {"n": 11_000, "d": 16, "n_components": 10, "n_clients": 20},
    "images": {"n": 56_000, "d": 10, "n_components": 10, "n_clients": 100},
}
GRADIENT = ("LocalGradientEM", "PooledGradientEM", "FedGrEM")
METHODS = {
    "gaussian": ("LocalEM", "PooledEM", "FedEM", "TGMM", *GRADIENT),
    "regression": ("LocalEM", "PooledEM", "FedEM", "FedGMM", *GRADIENT),
}


@njit
def exponentials(values, results, times):
    for _ in range(times):
        for i in range(len(values)):
            results[i] = exp_of_nonpositive(values[i])


def machine_rates() -> tuple[float, float]:
    """Return exponentials and multiply-adds per millisecond."""
    values, matrix = -np.linspace(0.0, 50.0, 256), np.ones((1024, 1024))
    results = np.empty_like(values)
    exp_time = milliseconds(lambda: exponentials(values, results, 10_000))
    product_time = milliseconds(lambda: matrix @ matrix, 5)
    return 10_000 * len(values) / exp_time, len(matrix) ** 3 / product_time


def operations(name: str, family: str, n: int, d: int, n_components: int) -> tuple[int, int]:
    """Return the exponentials and the multiply-adds of a round's E-step and statistics."""
    pairs, triangle = n * n_components, d * (d + 1) // 2
    residuals_and_scores = 2 * d * pairs
    if name == "FedGMM":  # whitened distances and scatters of the covariates, normal matrices
        covariates = n * N_COVARIATE * (2 * triangle + d)
        return N_COVARIATE * pairs, residuals_and_scores + covariates + pairs * triangle
    if family == "regression" and name not in GRADIENT:
        return pairs, residuals_and_scores + pairs * triangle
    return pairs, residuals_and_scores


def round_time(name: str, family: str, size: dict[str, int]) -> float:
    """Return milliseconds per round: the time of many rounds minus that of none."""
    clients, weights, means = problem(**size)
    rounds = max(10, 150_000 // size["n"])
    short_steps = {"step_scale": 0.01} if name == "FedGrEM" else {}  # so that no fit diverges
    fits = [
        methods.get(name)(
            size["n_components"],
            family=family,
            init=(weights, means),
            max_rounds=most,
            tol=0.0,
            **short_steps,
        )
        for most in (0, rounds)
    ]
    start, full = (milliseconds(lambda fit=fit: fit.fit(clients), 3) for fit in fits)
    return (full - start) / fits[1].n_rounds_


def ratios() -> Iterator[tuple[str, str, str, float, float]]:
    """Yield size, family, method, milliseconds per round and their limit."""
    exp_rate, add_rate = machine_rates()
    for title, size in SIZES.items():
        counted = {key: value for key, value in size.items() if key != "n_clients"}
        for family, names in METHODS.items():
            for name in names:
                n_exp, n_add = operations(name, family, **counted)
                limit = n_exp / exp_rate + n_add / add_rate
                yield title, family, name, round_time(name, family, size), limit


def main() -> None:
    warnings.simplefilter("ignore")  # of fits that end at their last round
    print(f"{'size':12s}{'family':12s}{'method':18s}{'ms a round':>11s}{'limit':>9s}{'ratio':>7s}")
    for title, family, name, taken, limit in ratios():
        print(f"{title:12s}{family:12s}{name:18s}{taken:11.3f}{limit:9.3f}{taken / limit:7.1f}")


if __name__ == "__main__":
    main()
