"""Cost of two-phase mixed regression: ratios within one run, at the paper's sizes.

A round of Phase 2 against two references on the same data, the growth of a round and of Phase 1
with the numbers of clients M, features d, clusters k and local steps s, and one replication of
setting C.2 with all nine methods. Run it on one core:
``NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/mixed_regression.py``.
"""

from __future__ import annotations

import numpy as np

from fedmix import Clients, methods
from fedmix.simulate.mixed_regression import draw_clients, draw_truth
from timing import best_seconds

ETA = 0.01
BASE = {"m": 1000, "n": 10, "d": 100, "k": 3, "s": 5}


def simulated(m: int, n: int, d: int, k: int) -> tuple[Clients, np.ndarray]:
    truth = draw_truth(np.random.default_rng(0), [n] * m, n_clusters=k, n_features=d)
    return draw_clients(np.random.default_rng(1), truth), truth.models


def round_seconds(m: int, n: int, d: int, k: int, s: int) -> float:
    """Return the seconds per round: the time of 200 rounds minus that of none."""
    clients, models = simulated(m, n, d, k)

    def fit(rounds: int) -> float:
        method = methods.OracleClustering(models, "fedavg", s, ETA, rounds)
        return best_seconds(lambda: method.fit(clients), 3)

    return (fit(200) - fit(0)) / 200


def literal_round(clients: Clients, models: np.ndarray, s: int) -> np.ndarray:
    """Run a round with a loop over clients and gradient steps."""
    total = np.zeros_like(models)
    for i, x in enumerate(clients):
        y, local = clients.responses_of(i), models.copy()
        label = np.argmin(((x @ models.T - y[:, None]) ** 2).sum(axis=0))
        for _ in range(s):
            local[label] -= ETA / len(x) * (x.T @ (x @ local[label] - y))
        total += len(x) / clients.n_points * local
    return total


def phase1_seconds(m: int, n: int, d: int, k: int, s: int, subspace: str = "svd") -> float:
    clients, _ = simulated(m, max(n, 4 * k), d, k)
    method = methods.TwoPhase(k, local_steps=s, rounds=0, subspace=subspace)
    return best_seconds(lambda: method.fit(clients), 3)


def replication_seconds() -> float:
    truth = draw_truth(np.random.default_rng(0), [10] * 900 + [50] * 20)
    clients = draw_clients(np.random.default_rng(1), truth)
    chosen = [methods.TwoPhase(3, local_steps=s) for s in (1, 5, 10, 20)]
    chosen += [methods.TwoPhase(3, local="fedprox"), methods.FedAvg(), methods.IFCA(3)]
    chosen += [methods.OneShotClustering(3), methods.OracleClustering(truth.models)]
    return best_seconds(lambda: [method.fit(clients) for method in chosen], 1, warm_up=False)


def main() -> None:
    """Print the table."""
    clients, models = simulated(BASE["m"], BASE["n"], BASE["d"], BASE["k"])
    methods.OracleClustering(models, rounds=1).fit(clients)  # compile
    ours = round_seconds(**BASE)
    literal = best_seconds(lambda: literal_round(clients, models, BASE["s"]), 3)
    passes = best_seconds(lambda: (clients.points @ models.T).T @ clients.points, 3)
    print(f"a round at {BASE}: {1e3 * ours:.2f} ms")
    print(f"  a loop over clients takes {literal / ours:.0f} times as long,")
    print(f"  the two matrix products that any round needs {passes / ours:.1f} times")
    base1 = phase1_seconds(**BASE)
    print(f"Phase 1 (svd): {base1:.2f} s")
    iteration = phase1_seconds(**BASE, subspace="orthogonal_iteration")
    print(f"  with orthogonal iteration {iteration / base1:.1f} times as long")
    print("twice as many   round   Phase 1")
    for name, meaning in {"m": "clients", "d": "features", "k": "clusters", "s": "steps"}.items():
        larger = {**BASE, name: 2 * BASE[name]}
        growth = round_seconds(**larger) / ours, phase1_seconds(**larger) / base1
        print(f"{meaning:14s}  x{growth[0]:.1f}    x{growth[1]:.1f}")
    print(f"a replication of C.2 with all nine methods: {replication_seconds():.1f} s")


if __name__ == "__main__":
    main()
