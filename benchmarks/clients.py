"""Time and memory of a few rounds against the number of clients and of points.

Prints CPU seconds and the peak of memory of each method, with 10 features and 10 components. Every
fit runs in a process of its own. The EM family gets its start aligned in one order of the clients,
and the alignment has a row of its own. AFCL has at least one seed per client, and every message
has every seed, so a round of its own algorithm grows with the cube of the number of clients: 10,000
are left out. Run it on one core:
``NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/clients.py``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fedmix import Clients, align, methods

N_FEATURES, N_COMPONENTS = 10, 10
N_CLIENTS, N_POINTS = (100, 1_000, 10_000), (100_000, 1_000_000)
ROUNDS = 5
LIMIT = 600  # seconds a fit may take
NAMES = ["alignment", "FedGrEM", "FedEM", "FedGEM", "KFED", "AFCL (none)", "AFCL"]
LEFT_OUT = {("AFCL", 10_000)}


def problem(n_clients: int, n_points: int) -> tuple[Clients, np.ndarray, np.ndarray]:
    """Return clients, and mixing weights and means near their components."""
    generator = np.random.default_rng(0)
    centres = generator.normal(scale=3.0, size=(N_COMPONENTS, N_FEATURES))
    points = centres[generator.integers(N_COMPONENTS, size=n_points)]
    points += generator.normal(size=points.shape)
    offsets = np.linspace(0, n_points, n_clients + 1).astype(int)
    weights = np.full((n_clients, N_COMPONENTS), 1 / N_COMPONENTS)
    means = centres + 0.3 * generator.normal(size=(n_clients, N_COMPONENTS, N_FEATURES))
    return Clients(points, offsets), weights, means


def fit(name: str, n_clients: int, n_points: int) -> None:
    """Fit one method, and print its CPU seconds and the peak of memory in MB."""
    clients, weights, means = problem(n_clients, n_points)
    own = dict(max_rounds=ROUNDS, random_state=0)
    runs = {
        "alignment": lambda: align(means, n_orders=1),
        "FedGrEM": lambda: methods.FedGrEM(N_COMPONENTS, init=(weights, means), **own).fit(clients),
        "FedEM": lambda: methods.FedEM(N_COMPONENTS, init=(weights, means), **own).fit(clients),
        "FedGEM": lambda: methods.FedGEM(N_COMPONENTS, init=list(means), **own).fit(clients),
        "KFED": lambda: methods.KFED(N_COMPONENTS, n_init=1, random_state=0).fit(clients),
        "AFCL (none)": lambda: methods.AFCL(1, training="none", random_state=0).fit(clients),
        "AFCL": lambda: methods.AFCL(1, **own).fit(clients),
    }
    start = time.process_time()
    runs[name]()
    seconds = time.process_time() - start
    print(f"{seconds:.1f} s, {peak_of_memory():.0f} MB")


def peak_of_memory() -> float:
    """Return the peak of this process in MB; ``getrusage`` would count that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measured(name: str, n_clients: int, n_points: int) -> str:
    """Return what :func:`fit` prints in a process of its own, or why it printed nothing."""
    command = [sys.executable, __file__, name, str(n_clients), str(n_points)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"more than {LIMIT} s"
    return done.stdout.strip() or f"failed: {done.stderr.strip().splitlines()[-1:]}"


def lines() -> Iterator[str]:
    """Yield a Markdown table, with a row for each method and number of points."""
    header = " | ".join(f"{n_clients:,} clients" for n_clients in N_CLIENTS)
    yield f"| five rounds of | points | {header} |"
    yield "|---|---:|" + "---:|" * len(N_CLIENTS)
    for name in NAMES:
        for n_points in N_POINTS:
            own = [
                "not run" if (name, n_clients) in LEFT_OUT else measured(name, n_clients, n_points)
                for n_clients in N_CLIENTS
            ]
            yield f"| {name} | {n_points:,} | {' | '.join(own)} |"


def main() -> None:
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fit(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
