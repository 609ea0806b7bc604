"""Cost of an iteration of t-SNE: ratios and growth within one run.

Prints whole embeddings in two dimensions against scikit-learn and openTSNE, which has to be
installed (``pip install openTSNE``); the ratio to the gradient of scikit-learn's exact t-SNE on the
same points, the ratio of sampled to exact repulsion, the growth with n and d in pairs a second, the
cost of neighbours and affinities, and the gain by threads. All but the last are CPU times on one
core; run it as ``OMP_NUM_THREADS=1 python benchmarks/tsne.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

from fedmix.embed import tsne
from fedmix.embed.objective import Objective, joint_affinities, nearest_neighbors
from timing import best_seconds

PERPLEXITY, N_NEIGHBORS, N_SAMPLES = 30.0, 90, 4000
MNIST_SIZE = 70_000


def clusters(n: int, d: int = 50) -> np.ndarray:
    """Return n points around ten centres, about as clustered as images of digits."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(10, d))
    return centres[generator.integers(10, size=n)] + 0.5 * generator.normal(size=(n, d))


def graph(n: int) -> sparse.csr_array:
    """Return the affinities of ``clusters(n)``."""
    return joint_affinities(*nearest_neighbors(clusters(n), N_NEIGHBORS), PERPLEXITY)


def layout(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(2).normal(scale=10, size=(n, d)).astype(np.float32)


def iteration_time(
    affinities: sparse.csr_array, d: int, degrees: float = 1.0, n_samples: int | None = None
) -> float:
    """Return the CPU seconds of a gradient without the KL divergence."""
    n = affinities.shape[0]
    objective, embedding = Objective(affinities, degrees), layout(n, d)
    sample = None if n_samples is None else np.arange(n_samples)
    return best_seconds(lambda: objective(embedding, 1.0, sample, with_kl=False))


def against_scikit_learn(d: int = 10) -> None:
    from sklearn.manifold._t_sne import _kl_divergence

    print("seconds an iteration against scikit-learn's exact t-SNE (d = 10, its degrees = 9)")
    for n in (2000, 5000):
        embedding = layout(n, d).astype(np.float64).ravel()
        p = np.full(n * (n - 1) // 2, 1.0 / (n * (n - 1)))

        def reference(p=p, embedding=embedding, n=n):
            _kl_divergence(embedding, p, d - 1, n, d, compute_error=False)

        theirs = best_seconds(reference, 1)
        affinities = graph(n)
        same, one = iteration_time(affinities, d, d - 1), iteration_time(affinities, d)
        print(
            f"  n={n}: scikit-learn {theirs:.3f}, fedmix {same:.4f} (ratio {theirs / same:.0f}), "
            f"with one degree of freedom {one:.4f} (ratio {theirs / one:.0f})"
        )


def whole_embeddings(n: int = 5000) -> dict[str, tuple[float, float]]:
    """Return the seconds and the KL divergence of each library's embedding in two dimensions.

    All embed the same points, by their own defaults otherwise.
    """
    import openTSNE
    from sklearn.manifold import TSNE

    points = clusters(n)
    libraries: dict[str, Callable[[], np.ndarray]] = {
        "fedmix": lambda: tsne(points, 2),
        "scikit-learn": lambda: TSNE(n_jobs=1, random_state=0).fit_transform(points),
        "openTSNE": lambda: np.asarray(openTSNE.TSNE(n_jobs=1, random_state=0).fit(points)),
    }
    objective = Objective(graph(n))
    tsne(points[:200], 2, n_iter=10)  # compiles
    found = {}
    for name, embed in libraries.items():
        start = time.process_time()
        embedding = embed()
        seconds = time.process_time() - start
        found[name] = seconds, objective(np.ascontiguousarray(embedding, dtype=np.float32)).kl
    return found


def growth() -> None:
    print("growth with n (d = 10): exact, sampled with 4000 points")
    for n in (10_000, 20_000, 40_000, MNIST_SIZE):
        affinities = graph(n)
        exact = iteration_time(affinities, 10)
        sampled = iteration_time(affinities, 10, n_samples=N_SAMPLES)
        print(
            f"  n={n}: exact {exact:.3f} s ({n * n / exact / 1e9:.2f}e9 pairs/s), "
            f"sampled {sampled:.3f} s, ratio {exact / sampled:.1f}"
        )
    print("growth with d (n = 10,000), exact")
    affinities = graph(10_000)
    for d in (2, 5, 10, 20, 50):
        seconds = iteration_time(affinities, d)
        print(f"  d={d}: {seconds:.3f} s ({1e8 / seconds / 1e9:.2f}e9 pairs/s)")


def preparation() -> None:
    print("neighbours and affinities together (50 dimensions, 90 neighbours)")
    for n in (10_000, 20_000, MNIST_SIZE):
        seconds = best_seconds(lambda n=n: graph(n), 1, warm_up=False)
        print(f"  n={n}: {seconds:.1f} s")


def threads(n: int = 20_000) -> None:
    print("wall seconds of an exact iteration by threads (n = 20,000)")
    affinities, embedding = graph(n), layout(n, 10)
    alone = None
    for count in (1, 2):
        with ThreadPoolExecutor(count) as pool:
            objective = Objective(affinities, pool=pool)
            seconds = best_seconds(
                lambda run=objective: run(embedding, with_kl=False), clock=time.perf_counter
            )
        alone = alone or seconds
        print(f"  {count}: {seconds:.3f} s (gain {alone / seconds:.2f})")


if __name__ == "__main__":
    print("a whole embedding of 5000 points in two dimensions, with its KL divergence")
    for name, (seconds, kl) in whole_embeddings().items():
        print(f"  {name}: {seconds:.1f} s, KL {kl:.3f}")
    against_scikit_learn()
    growth()
    preparation()
    threads()
