"""Write docs/speed.md and its picture: every comparison of speed, from one run.

Ratios within a run count, because seconds depend on the machine. It takes about half an
hour of one core and needs openTSNE (``pip install openTSNE``). Run it on one core:
``NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/compare.py``.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
from matplotlib import rcParams
from matplotlib.figure import Figure

import clients
from em_round import dirichlet_process, gaussian_mixture
from fedmix.revision import processor
from limits import ratios
from tsne import whole_embeddings

DOCS = Path(__file__).parents[1] / "docs"
TEXT = """# Speed

One run of `python benchmarks/compare.py` made this page, on one core of an {processor}. Ratios
count, because seconds depend on the machine.

![Other libraries and limits](speed.svg)

## Other libraries

A round is an E-step with its sums, of 56,000 points with 10 features, 10 components and one client.
The Dirichlet-process mixture has 20,000 points and 200 components. The t-SNEs embed 5,000 points in
two dimensions. Each library has its own defaults, and a smaller KL divergence is better.

{libraries}

## Limits

The table has the time of a round divided by that of its exponentials and products alone, at
the rates that this core reaches when it does nothing else (`benchmarks/limits.py`). This limit
leaves out loads, sums, the server's part and Python, so no round can reach it. The simulation has
1,500 points of 10 clients with 10 features and 5 components. The pen digits have 11,000 points of
20 clients with 16 features and 10 components, and the images 56,000 points of 100 clients with 10
features and 10 components.

{limits}

## Many clients

CPU time and peak of memory with 10 features and 10 components, each in a process of its own. The
start is aligned in one order of the clients, and the alignment has rows of its own. AFCL has at
least one seed per client, and every message has every seed, so the time of a round grows with the
cube of the number of clients. With 10,000 clients it runs as in FedGEM's program, which does not
train it ("AFCL (none)").

{many}
"""


def library_table() -> pd.DataFrame:
    """Return times of fedmix and of other libraries for the same task, with their ratio."""
    rows = []
    for task, other, (ours, theirs) in (
        ("round of a Gaussian mixture", "scikit-learn GaussianMixture", gaussian_mixture()),
        (
            "iteration of a Dirichlet-process mixture",
            "scikit-learn BayesianGaussianMixture",
            dirichlet_process(),
        ),
    ):
        rows.append((task, f"{ours:.2f} ms", other, f"{theirs:.2f} ms", theirs / ours))
    found = whole_embeddings()
    ours, own_kl = found.pop("fedmix")
    for name, (theirs, kl) in found.items():
        own, other = (f"{s:.1f} s, KL {x:.2f}" for s, x in ((ours, own_kl), (theirs, kl)))
        rows.append(("t-SNE", own, f"{name} t-SNE", other, theirs / ours))
    return pd.DataFrame(rows, columns=["task", "fedmix", "other", "its time", "ratio"])


def limit_table() -> pd.DataFrame:
    """Return the times of rounds divided by their limits: a row a method, a column a size."""
    rows = pd.DataFrame(ratios(), columns=["size", "family", "method", "time", "limit"])
    rows["ratio"] = rows["time"] / rows["limit"]
    sizes = rows["size"].unique()
    return rows.pivot(index=["family", "method"], columns="size", values="ratio")[sizes]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table whose first column is text."""
    lines = [f"| {' | '.join(header)} |", "|---" + "|---:" * (len(header) - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def draw(libraries: pd.DataFrame, limits: pd.DataFrame) -> None:
    """Draw the ratios to other libraries and to the limits."""
    rcParams["svg.hashsalt"] = "fedmix"
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.barh(libraries["other"], libraries["ratio"], color="#0072B2")
    left.bar_label(left.containers[0], fmt="%.1f", padding=3)
    left.invert_yaxis()
    left.set_xlabel("its time divided by fedmix's")
    left.margins(x=0.15)
    for size, marker in zip(limits, "os^", strict=True):
        names = [f"{method}, {family}" for family, method in limits.index]
        right.plot(limits[size], names, marker, label=size)
    right.axvline(1, color="black", lw=0.8)
    right.set_xlim(left=0)
    right.invert_yaxis()
    right.set_xlabel("time of a round divided by its limit")
    right.legend()
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "speed.svg", metadata={"Date": None})


def main() -> None:
    warnings.simplefilter("ignore")  # of fits that end at their last round
    libraries, limits = library_table(), limit_table()
    draw(libraries, limits)
    by_library = [[*row[:4], f"{row.ratio:.1f}"] for row in libraries.itertuples(index=False)]
    by_method = [
        [f"{method}, {family}", *(f"{ratio:.1f}" for ratio in row)]
        for (family, method), row in zip(limits.index, limits.to_numpy(), strict=True)
    ]
    text = TEXT.format(
        processor=processor(),
        libraries=markdown(list(libraries), by_library),
        limits=markdown(["method, family", *limits], by_method),
        many="\n".join(clients.lines()),
    )
    (DOCS / "speed.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
