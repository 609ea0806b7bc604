"""Print FedGEM's time: full MNIST size, growth with G, N_g, K and d, pairwise against KD-tree.

Ratios within one run are what counts; seconds depend on the machine. Run on one core:
``NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/fedgem.py``.
"""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np

from fedmix import Clients
from fedmix.methods.fedgem import FedGEM
from fedmix.methods.fedgem_server import Server
from fedmix.simulate.isotropic_clusters import simulate_clusters
from timing import best_seconds

BASE = {"n_clients": 20, "client_sizes": 1000, "n_clusters": 10, "n_features": 15}
GROWTH = {
    "n_clients": (20, 40, 80),
    "client_sizes": (1000, 2000, 4000),
    "n_clusters": (10, 20, 40),
    "n_features": (15, 30, 60),
}


def mnist_size() -> None:
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(10, 10))
    labels = rng.integers(10, size=70_000)
    points = centres[labels] + rng.normal(size=(70_000, 10))
    clients = Clients(points, np.linspace(0, 70_000, 101).astype(int))
    sizes = rng.integers(2, 9, size=100)
    model = FedGEM(sizes, max_rounds=10, random_state=0)
    print(f"70,000 x 10 points, G=100, 10 rounds: {best_seconds(lambda: model.fit(clients)):.3f} s")
    tracemalloc.start()
    model.fit(clients)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"  peak memory beside the data: {peak / points.nbytes:.2f} times the data")


def growth() -> None:
    for name, values in GROWTH.items():
        times = []
        for value in values:
            drawn = simulate_clusters(
                np.random.default_rng(0), separation=2.0, n_test=20, **{**BASE, name: value}
            )
            model = FedGEM(drawn.n_components, max_rounds=10, random_state=0)
            times.append(best_seconds(lambda m=model, d=drawn: m.fit(d.train)))
        ratios = ", ".join(f"{v}: {t / times[0]:.2f}" for v, t in zip(values, times, strict=True))
        print(f"growth with {name} (first {times[0]:.3f} s): {ratios}")


def servers() -> None:
    rng = np.random.default_rng(0)
    for n_clients in (100, 1_000, 10_000):
        n = 10 * n_clients
        places = rng.uniform(0, 100, size=(n // 20, 10))
        centres = places[rng.integers(len(places), size=n)] + 0.01 * rng.normal(size=(n, 10))
        components = (centres, np.full(n, 0.05**2), np.repeat(np.arange(n_clients), 10))
        pairwise, kdtree = (
            best_seconds(partial(Server(search).merge, *components), 1)
            for search in ("pairwise", "kdtree")
        )
        print(
            f"{n} components: pairwise {pairwise:.3f} s, KD-tree {kdtree:.3f} s, "
            f"ratio {pairwise / kdtree:.1f}"
        )


if __name__ == "__main__":
    mnist_size()
    growth()
    servers()
