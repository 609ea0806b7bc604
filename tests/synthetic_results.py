"""Made-up results in the pipeline's own shape, for the tests of the audit and the page.

Where a number is printed ours lies near it; how near depends on the variant, so that every verdict
occurs. Nothing here is a result.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from configured_studies import configured_studies
from fedmix.cells.frame import complete, make_cells
from fedmix.cells.items import Item, read_items
from fedmix.cells.papers import read_papers
from fedmix.cells.printed import PrintedNumber, PrintedTable

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "data" / "published"
VARIANTS = {
    "fedgrem_real": {"paper_like": 0.1, "strong_baselines": 1.6},
    "fedgrem_simulation": {"as_written": 1.3, "as_coded": 0.1},
    "fedgem_benchmark": {"as_coded": 0.1, "corrected": 0.6},
}
RUN = {"message": "", "rounds": 7, "converged": True, "floats_up": 10, "floats_down": 20}


@cache
def shipped_items() -> dict[str, Item]:
    return read_items(read_papers(ROOT / "config"))


def printed_numbers() -> list[tuple[Item, PrintedNumber]]:
    """Return every printed number with the item that it is held against."""
    return [
        (item, number)
        for item in shipped_items().values()
        if item.printed and item.judged
        for number in PrintedTable(item, PUBLISHED)
    ]


@cache
def results_and_timings(n: int = 12, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return tidy results and timings of all studies that the audit asks for."""
    rng = np.random.default_rng(seed)
    rows = [*_near_printed(rng, n), *_regression(rng, n), *_fedgem_figures(rng, n)]
    rows += _as_theory_has_it(rng, n)
    frame = pd.DataFrame(rows).assign(status="ok", **RUN)
    frame = pd.concat([frame, _failures()], ignore_index=True)
    frame["round"] = frame["round"].astype("Int64")
    timed = frame["metric"] == "seconds"
    timings = frame[timed].drop(columns=["metric", "round"]).rename(columns={"value": "seconds"})
    return frame[~timed].reset_index(drop=True), timings.assign(warm=True).reset_index(drop=True)


def cells_of(results: pd.DataFrame, timings: pd.DataFrame, **options) -> pd.DataFrame:
    """Return the frame of all studies, the printed numbers that were not run included."""
    items, studies = options.pop("items", shipped_items()), configured_studies()
    parts = [
        make_cells(
            own,
            timings[timings["study"] == name],
            [item for item in items.values() if item.study == name],
            PUBLISHED,
            paper=studies[name].paper,
            labels={method.name: method.label for method in studies[name].methods.values()},
            roles=studies[name].roles,
            **options,
        )
        for name, own in results.groupby("study", sort=False)
    ]
    empty = make_cells(results.iloc[:0], timings, [], PUBLISHED, paper="", labels={}, roles={})
    return complete(pd.concat([*parts, empty]) if parts else empty, items.values(), PUBLISHED)


@cache
def cells() -> pd.DataFrame:
    return cells_of(*results_and_timings())


def _near_printed(rng: np.random.Generator, n: int) -> Iterator[dict]:
    for item, number in printed_numbers():
        where = _where_printed(item, number)
        setting = {k: v for k, v in where.items() if k.startswith("setting_")}
        name = "-".join(f"{k.removeprefix('setting_')}{v}" for k, v in sorted(setting.items()))
        [metric] = item.metrics_of(where["method"])
        other = {"ari_pooled": "ari_per_client", "ari_per_client": "ari_pooled"}
        for variant, shift in VARIANTS[item.study].items():
            mean = (number.mean + shift * number.sd) * item.scale
            for r, value in enumerate(rng.normal(mean, number.sd * item.scale, n)):
                row = {"study": item.study, "variant": variant, "setting": name, **where}
                row |= {"replication": r, "round": None}
                yield row | {"metric": metric, "value": abs(value)}
                if metric in other:
                    yield row | {"metric": other[metric], "value": value + rng.normal(0.03, 0.01)}


def _where_printed(item: Item, number: PrintedNumber) -> dict:
    """Return our columns of a printed number: its setting and its method."""
    names = dict(number.names)
    if "step_scale" in names:
        method = f"FedGrEM-{names['step_scale']:.2f}"
        setting = {"setting_model": "gaussian", "setting_h": names["h"]}
        return setting | {"method": method, "method_step_scale": names["step_scale"]}
    setting = {"setting_dataset": names["dataset"]}
    if "contaminated_percent" in names:
        clients = 44 if names["dataset"] == "pendigits" else 100
        bad = round(names["contaminated_percent"] * clients / 100)
        setting |= {"setting_n_clients": clients, "setting_n_contaminated": bad}
    methods = configured_studies()[item.study].methods.values()
    printed = {m.name: m.label.removesuffix(" (central)") for m in methods}
    [method] = [name for name, label in printed.items() if names["method"] in (name, label)]
    return setting | {"method": method}


def _regression(rng: np.random.Generator, n: int) -> Iterator[dict]:
    final = {"TwoPhase-FedAvg-s1": 0.1, "TwoPhase-FedAvg-s5": 0.1, "TwoPhase-FedAvg-s10": 0.1}
    final |= {"TwoPhase-FedAvg-s20": 0.102, "TwoPhase-FedProx": 0.1, "OracleClustering": 0.099}
    final |= {"FedAvg": 1.5, "IFCA": 0.9, "OneShotClustering": 0.11}
    rates = {"TwoPhase-FedAvg-s1": 0.05, "TwoPhase-FedAvg-s20": 0.2}
    rounds = np.arange(61)
    for setting in ("C1", "C2", "C3"):
        for method, error in final.items():
            rate = rates.get(method, 0.1)
            for r in range(n):
                path = error + np.exp(-rounds * np.where(rounds < 6, 0.4, rate)) * 2
                path = path * np.exp(rng.normal(0, 0.02))
                row = {"study": "mixed_regression", "variant": "as_written", "setting": setting}
                row |= {"setting_case": setting, "method": method, "replication": r}
                row |= {"metric": "model_error"}
                yield row | {"round": None, "value": path[-1]}
                for t in rounds[::5]:
                    yield row | {"round": int(t), "value": path[t]}


def _as_theory_has_it(rng: np.random.Generator, n: int) -> Iterator[dict]:
    """Yield errors by FedGrEM's corollary, and labels that are correct where it predicts so."""
    study = configured_studies()["beyond_rates"]
    for setting in study.settings.values():
        named = {f"setting_{k}": v for k, v in setting.values.items() if np.isscalar(v)}
        for method in study.methods_of(setting):
            row = {"study": study.name, "variant": setting.variant, "setting": setting.name}
            row |= {**named, "method": method}
            promised = float(setting.values["start_error"] <= 0.2)
            scores = {"means_error": _error(method, setting.values), "theory_holds": 1.0}
            scores |= {"aligned": promised, "theorem_c2": promised, "theorem_c4": 0.0}
            for r in range(n):
                for metric, value in scores.items():
                    noise = np.exp(rng.normal(0, 0.02)) if metric == "means_error" else 1.0
                    row |= {"replication": r, "metric": metric}
                    yield row | {"round": None, "value": value * noise}
                for t in range(setting.values.get("traced_rounds", -1) + 1):
                    value = scores["means_error"] + 2 * 0.3**t
                    yield row | {"round": t, "metric": "means_error", "value": value}


def _error(method: str, setting: dict) -> float:
    d, n, k = (setting[name] for name in ("n_features", "n_points", "n_clients"))
    if setting["axis"] == "privacy":
        return 0.1 / setting["rho"]
    if method in ("LocalEM", "FedGEM", "Start"):
        return np.sqrt(d / n)
    bias = setting["n_contaminated"] / k + min(setting["h"], np.sqrt(d / n))
    return np.sqrt(d / (n * k) + bias**2)


def _fedgem_figures(rng: np.random.Generator, n: int) -> Iterator[dict]:
    for imbalance in ("nominal", "client", "cluster"):
        for r_min in (1, 2, 4, 6, 8):
            setting = {"setting_imbalance": imbalance, "setting_r_min": r_min}
            yield from _scores("fedgem_sensitivity", setting, rng, n, 0.3 + 0.08 * r_min, 11.0)
        for v in (0.1, 1, 10, 100):
            setting = {"setting_imbalance": imbalance, "setting_v": v}
            yield from _scores("fedgem_radius", setting, rng, n, 0.9 - 0.2 * (v > 10), 25 / (1 + v))
    for axis in ("d", "n_clients"):
        for value in (5, 25, 65):
            for method, seconds in {"FedGEM": 3.0, "AFCL": 1.0, "FedKMeans": 0.1}.items():
                growth = value / 5 if axis == "n_clients" and method == "AFCL" else 1.0
                for r in range(n):
                    row = {"study": "fedgem_scalability", "variant": "as_coded"}
                    row |= {"setting_axis": axis, f"setting_{axis}": value}
                    row |= {"setting": f"{axis}{value}", "method": method}
                    row |= {"replication": r, "round": None}
                    yield row | {"metric": "seconds", "value": seconds * growth * rng.uniform(1, 2)}
                    yield row | {"metric": "ari_pooled", "value": rng.uniform(0.4, 0.5)}


def _scores(
    study: str, setting: dict, rng: np.random.Generator, n: int, ari: float, clusters: float
) -> Iterator[dict]:
    name = "-".join(f"{k.removeprefix('setting_')}{v}" for k, v in setting.items())
    for method, gain in {"FedGEM": 0.02, "CentralGMM": 0.0}.items():
        for r in range(n):
            row = {"study": study, "variant": "as_coded", "setting": name, **setting}
            row |= {"method": method, "replication": r, "round": None}
            for metric in ("ari_per_client", "ari_pooled", "silhouette_per_client"):
                yield row | {"metric": metric, "value": ari + gain + rng.normal(0, 0.01)}
            yield row | {"metric": "n_clusters", "value": clusters + rng.normal(0, 0.5)}


def _failures() -> pd.DataFrame:
    """Two diverged replications of FedGrEM with too large a step."""
    row = {"study": "fedgrem_simulation", "variant": "as_coded", "setting": "h0.0-modelgaussian"}
    row |= {"setting_model": "gaussian", "setting_h": 0.0, "method": "FedGrEM-1.35"}
    row |= {"method_step_scale": 1.35, "metric": "", "round": None, "value": np.nan, **RUN}
    row |= {"status": "diverged", "message": "DivergenceError: round 12"}
    return pd.DataFrame([row | {"replication": r} for r in (900, 901)])


def of_item(frame: pd.DataFrame, item: str) -> pd.DataFrame:
    """Return the cells of an item."""
    return frame[frame["item"] == item]
