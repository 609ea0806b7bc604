"""Cost of a round of the EM family: ratios and growth within one run, on one core.

Prints milliseconds of an E-step with its statistics at the size of the image studies (56,000
points in 10 dimensions, 10 components, 100 clients) for both families; the ratio to one iteration
of scikit-learn's spherical ``GaussianMixture`` and to NumPy client by client on the same data; the
growth with n, R, d and K; and an iteration of the Dirichlet-process mixture beside
scikit-learn's. ``limits.py`` times a round of each method. Run it on one core:
``NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/em_round.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from fedmix import Clients, families
from fedmix.families import Sample
from fedmix.methods.variational import fit_in_blocks
from timing import best_seconds

N_POINTS, N_FEATURES, N_COMPONENTS, N_CLIENTS = 56_000, 10, 10, 100


def milliseconds(function: Callable[[], object], repeats: int = 15) -> float:
    return 1000 * best_seconds(function, repeats)


def problem(n=N_POINTS, d=N_FEATURES, n_components=N_COMPONENTS, n_clients=N_CLIENTS):
    """Return clients with responses, and mixing weights and means near their components."""
    generator = np.random.default_rng(0)
    centres = generator.normal(scale=3.0, size=(n_components, d))
    points = centres[generator.integers(n_components, size=n)] + generator.normal(size=(n, d))
    offsets = np.linspace(0, n, n_clients + 1).astype(int)
    weights = generator.dirichlet(np.full(n_components, 5.0), n_clients)
    means = centres + 0.3 * generator.normal(size=(n_clients, n_components, d))
    return Clients(points, offsets, points.sum(axis=1)), weights, means


def e_step_time(
    family: str, for_gradient: bool = False, floor: str | None = None, **sizes
) -> float:
    clients, weights, means = problem(**sizes)
    sample = Sample.of(clients)
    kind = families.get(family)
    return milliseconds(lambda: kind.expectation(sample, weights, means, floor, for_gradient))


def numpy_by_client(clients: Clients, weights: np.ndarray, means: np.ndarray) -> None:
    """Do one E-step and its statistics in plain NumPy, with matrix products."""
    for k, x in enumerate(clients):
        log_joint = x @ means[k].T - 0.5 * np.square(means[k]).sum(axis=1) + np.log(weights[k])
        log_joint -= log_joint.max(axis=1, keepdims=True)
        responsibilities = np.exp(log_joint)
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        _ = responsibilities.sum(axis=0), responsibilities.T @ x


def sklearn_iteration(points: np.ndarray, means: np.ndarray) -> float:
    """Return milliseconds per iteration of GaussianMixture: long run minus short run."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    def fit(iterations: int) -> GaussianMixture:
        return GaussianMixture(
            len(means),
            covariance_type="spherical",
            max_iter=iterations,
            tol=0.0,
            means_init=means,
            init_params="random_from_data",
        ).fit(points)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return (milliseconds(lambda: fit(11), 3) - milliseconds(lambda: fit(1), 3)) / 10


def dirichlet_process_iteration(fit: Callable, points: np.ndarray, n_components: int) -> float:
    """Return milliseconds per iteration of a spherical Dirichlet-process mixture."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    def run(iterations: int) -> None:
        model = BayesianGaussianMixture(
            n_components=n_components,
            covariance_type="spherical",
            weight_concentration_prior_type="dirichlet_process",
            max_iter=iterations,
            tol=0.0,
            init_params="random_from_data",
            random_state=0,
        )
        fit(model, points)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return (milliseconds(lambda: run(6), 3) - milliseconds(lambda: run(1), 3)) / 5


def print_references() -> None:
    clients, weights, means = problem()
    ours = e_step_time("gaussian")
    print(f"E-step, n={N_POINTS}, d={N_FEATURES}, R={N_COMPONENTS}, K={N_CLIENTS}")
    print(f"  gaussian                      {ours:8.2f} ms")
    print(f"  gaussian, published floor     {e_step_time('gaussian', floor='zeros'):8.2f} ms")
    print(f"  regression, for a gradient    {e_step_time('regression', True):8.2f} ms")
    print(f"  regression, for an M-step     {e_step_time('regression'):8.2f} ms")
    by_client = milliseconds(lambda: numpy_by_client(clients, weights, means))
    print(f"  NumPy by client               {by_client:8.2f} ms = {by_client / ours:.1f} x ours")
    pooled, theirs = gaussian_mixture()
    print(f"  scikit-learn GaussianMixture  {theirs:8.2f} ms = {theirs / pooled:.1f} x ours (K=1)")
    ours, theirs = dirichlet_process()
    print(f"Dirichlet-process mixture, n=20000, d={N_FEATURES}, K=200, an iteration")
    print(f"  ours                                  {ours:8.2f} ms")
    print(f"  scikit-learn BayesianGaussianMixture  {theirs:8.2f} ms = {theirs / ours:.1f} x ours")


def print_growth() -> None:
    print("\nGrowth of the gaussian E-step (time over time at half the size)")
    grids = {
        "n": [28_000, 56_000, 112_000, 224_000],
        "n_components": [5, 10, 20, 40],
        "d": [5, 10, 20, 40],
        "n_clients": [50, 100, 200, 400],
    }
    for name, values in grids.items():
        times = [e_step_time("gaussian", **{name: value}) for value in values]
        steps = [f"{values[0]}: {times[0]:.2f} ms"]
        steps += [
            f"{value}: {now:.2f} ms (x{now / before:.2f})"
            for value, now, before in zip(values[1:], times[1:], times, strict=False)
        ]
        print(f"  {name:13s} " + ", ".join(steps))


def dirichlet_process(n: int = 20_000, n_components: int = 200) -> tuple[float, float]:
    """Return milliseconds per iteration of a Dirichlet-process mixture, ours and scikit-learn's."""
    points = problem(n=n)[0].points
    ours = dirichlet_process_iteration(fit_in_blocks, points, n_components)
    return ours, dirichlet_process_iteration(lambda model, x: model.fit(x), points, n_components)


def gaussian_mixture() -> tuple[float, float]:
    """Return milliseconds per round of a Gaussian mixture, ours and scikit-learn's."""
    clients, _, means = problem()
    ours = e_step_time("gaussian", n_clients=1)
    return ours, sklearn_iteration(clients.points, means[0])


if __name__ == "__main__":
    print_references()
    print_growth()
