"""A made-up search: its space, printed numbers and runs."""

from pathlib import Path

import pandas as pd

from fedmix.cells.items import Item
from fedmix.cells.papers import read_papers
from fedmix.cells.protocols.choices import Choice
from fedmix.cells.protocols.score import printed_cells
from fedmix.cells.protocols.space import Claim, Column, Draw, Optimizer, Space, Table, read_searches
from fedmix.configuration import read_yaml
from fedmix.pipeline.request import read_request

ROOT = Path(__file__).parents[1]
METHODS = ("LocalEM", "FedEM", "FedGrEM")
CLAIM = Claim(method="FedGrEM")
ITEM = Item(
    name="one",
    kind="table",
    paper="fedgrem",
    title="One",
    caption="",
    study="fedgrem_real",
    metric="misclustering",
    scale=0.01,
)
SETTING = {
    "dataset": "d",
    "embedding": "raw",
    "partition": "uniform",
    "n_clients": 6,
    "n_components": 3,
    "train_fraction": 0.8,
    "initialization": "ward",
    "contamination": "gaussian",
}
PRINTED = pd.DataFrame(
    [(n, m, mean, 0.01) for n in (0, 2) for m, mean in zip(METHODS, (0.3, 0.2, 0.1), strict=True)],
    columns=["n_contaminated", "method", "mean", "sd"],
)


def choice(name, values, **where):
    values = {v: {"weight": w} for v, w in values.items()}
    return Choice(name=name, silent="", values=values, **where)


def column(name):
    return Column(name=name, estimator=name, label=name, parameters={"tol": 1e-4})


def space(tables=("one",), drawn=64):
    choices = [
        choice("scaling", {"none": 3.0, "global": 1.0}, setting="scaling"),
        choice("penalty", {"1": 1.0, "2": 1.0}, methods={"FedGrEM": "penalty_scale"}),
        choice("rounds", {"20": 1.0, "100": 1.0, "1000": 2.0}, methods={"FedEM": "max_rounds"}),
    ]
    return Space(
        name="fedgrem",
        paper="fedgrem",
        experiment="real_clustering",
        study="fedgrem_real",
        row="n_contaminated",
        claim=CLAIM,
        methods={m: column(m) for m in METHODS},
        tables={t: Table(name=t, title=f"table {t}", setting=SETTING, rows=[0, 2]) for t in tables},
        choices={c.name: c for c in choices},
        draw=Draw(protocols=drawn, replications=3, block=16),
        search=Optimizer(trials=120, replications=4, confirmed=2, seeds=1, judged=3),
        in_all=False,
        presets={},
    )


def runs_of(offsets, rows=(0, 2), replications=3, table="one"):
    """Return runs that lie given numbers of printed sd above the published value, one each."""
    return pd.DataFrame(
        [
            (table, name, n, r, method, mean + offset * sd + 1e-4 * (r - (replications - 1) / 2))
            for name, offset in offsets.items()
            for n, method, mean, sd in PRINTED.itertuples(index=False)
            if n in rows
            for r in range(replications)
        ],
        columns=["table", "protocol", "n_contaminated", "replication", "method", "value"],
    )


def search_of(name, preset):
    """A search of the repository's own."""
    return read_searches(read_papers(ROOT / "config"), preset)[name]


def printed_of(own, preset, config=ROOT / "config", published=ROOT / "data" / "published"):
    options = {**read_yaml(ROOT / "config" / "config.yaml"), "preset": preset}
    return printed_cells(own, read_request(config, options).items, published)
