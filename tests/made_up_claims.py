"""Claims on made-up scores, for tests of predicates and of verdicts."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from fedmix.cells.claims import evaluate_claims
from fedmix.cells.equivalence import judge
from fedmix.cells.evidence import Evidence
from fedmix.cells.frame import make_cells
from fedmix.cells.papers import read_papers
from fedmix.cells.predicates import Check, ask
from synthetic_results import PUBLISHED, RUN

ROOT = Path(__file__).parents[1]
ROLES = {"v": "authors", "i": "inferred", "w": "written", "trial": "diagnostic"}
LOWEST = {"metric": "error", "method": "A", "direction": "below", "than": "all"}


def frame(values: dict[str, np.ndarray], metric: str = "error", **columns) -> pd.DataFrame:
    """Return results of one setting, one array a method."""
    rows = [
        {"study": "s", "variant": "v", "setting": "a", "method": m, "replication": r, "value": x}
        for m, xs in values.items()
        for r, x in enumerate(xs)
    ]
    return pd.DataFrame(rows).assign(metric=metric, status="ok", round=pd.NA, **RUN, **columns)


def paper_folder(folder: Path, name: str, entries: list[dict]) -> dict:
    """Return one paper that has nothing but these claims, or discrepancies."""
    paper = folder / "config/papers/fedgem"
    paper.mkdir(parents=True)
    shutil.copy(ROOT / "config/papers/fedgem/about.yaml", paper)
    (paper / f"{name}.yaml").write_text(yaml.safe_dump(entries))
    return read_papers(folder / "config")


def answer(results: pd.DataFrame, predicate: str, said: dict | None = None, **parameters):
    """Return the row of one claim; ``said`` is what the registry says of it besides."""
    claim = {"id": "c", "paper": "p", "section": "1", "claim": "?", "study": "s", **(said or {})}
    claim |= {"predicate": predicate, "parameters": parameters}
    measured = judge(make_cells(results, pd.DataFrame(), [], PUBLISHED, "p", {}, ROLES))
    return evaluate_claims([claim], measured, results).iloc[0]


def checks(results: pd.DataFrame, predicate: str, **parameters) -> list[Check]:
    """Return what a predicate finds in results, in every setting."""
    evidence = Evidence(make_cells(results, pd.DataFrame(), [], PUBLISHED, "p", {}, ROLES), results)
    claim = {"predicate": predicate, "parameters": {"metric": "error", **parameters}}
    return ask(claim, evidence, evidence.places("s"))


def answers(results: pd.DataFrame, predicate: str, **parameters) -> list[str]:
    """Return a predicate's answer in every setting."""
    return [check.answer for check in checks(results, predicate, **parameters)]


def along(column: str, means: dict[float, dict[str, float]]) -> pd.DataFrame:
    """Return results of settings with these values, methods' means with hardly any noise."""
    noise = np.array([0.0, 1e-3, -1e-3])
    return pd.concat(
        [
            frame(
                {method: mean + noise for method, mean in own.items()},
                **{f"setting_{column}": float(value)},
            ).assign(setting=f"{column}{value}")
            for value, own in means.items()
        ]
    )


def by_round(paths: dict[str, list[float]]) -> pd.DataFrame:
    """Return results of one setting with these trajectories, in three replications alike."""
    longest = max(map(len, paths.values()))
    rounds = [
        frame({m: [path[t]] * 3 for m, path in paths.items()}).assign(round=float(t))
        for t in range(longest)
    ]
    return pd.concat([rounds[-1].assign(round=pd.NA), *rounds])


GOOD = {"A": [1.0, 1.1, 0.9], "B": [2.0, 2.1, 1.9]}
BAD = {"A": [3.0, 3.1, 2.9], "B": [2.0, 2.1, 1.9]}
NOISE = {"A": [1.0, 9.0, 2.0], "B": [2.0, 2.1, 1.9]}


def places(*kinds: dict, variant: str = "v") -> pd.DataFrame:
    """Return results of several settings, named in order."""
    return pd.concat(
        [frame(kind).assign(setting=f"s{i}", variant=variant) for i, kind in enumerate(kinds)]
    )
