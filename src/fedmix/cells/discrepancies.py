"""Slips, contradictions and differences between text and code, with what each one changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

import pandas as pd

from fedmix.cells.effects import mean_effect, weighted_effect
from fedmix.cells.evidence import Evidence, Place
from fedmix.cells.papers import Paper

NOT_MEASURED = "not measured yet"
_TAKEN = ("id", "paper", "kind", "where", "what", "choice")


def measure_discrepancies(
    entries: Iterable[Mapping[str, Any]], cells: pd.DataFrame
) -> pd.DataFrame:
    """Return every entry with its ``effect``, a sentence with the difference that our runs show.

    ``entries`` are those of :func:`fedmix.cells.papers.read_discrepancies`. The effect is
    :data:`NOT_MEASURED` where a reading was not run, or the reason why there is none.
    """
    evidence = Evidence(cells)
    rows = []
    for entry in entries:
        measured = [_measure(spec, evidence) for spec in entry.get("effects", [])]
        effect = entry.get("changes") or "; ".join(filter(None, measured)) or NOT_MEASURED
        rows.append({key: entry[key] for key in _TAKEN} | {"effect": effect})
    return pd.DataFrame(rows, columns=[*_TAKEN, "effect"])


def to_markdown(measured: pd.DataFrame, papers: Mapping[str, Paper]) -> str:
    """Return what :func:`measure_discrepancies` found as the page ``docs/discrepancies.md``."""
    lines = [
        "# Discrepancies\n",
        "<!-- Generated from config/papers/*/discrepancies.yaml and the results: edit those. -->\n",
        "Slips, contradictions and differences between a paper's text and its code: where each one "
        "stands, what it changes, measured by runs of both readings, and which one this "
        "repository takes by default. After ± stands half of a 99 % interval.\n",
    ]
    for paper in papers.values():
        own = measured[measured["paper"] == paper.key]
        lines += [f"## {paper.title}\n"] if len(own) else []
        for entry in own.itertuples():
            lines += [f"### {entry.id}\n", f"*{entry.kind}; {entry.where}*\n", f"{entry.what}\n"]
            lines += [f"- What it changes: {entry.effect}", f"- Our choice: {entry.choice}\n"]
    return "\n".join(lines)


def _measure(spec: Mapping[str, Any], evidence: Evidence) -> str:
    """Return a sentence on the difference between two readings, or nothing if one was not run."""
    where = spec.get("where", {})
    before = _values(evidence, spec, {**where, **spec["from"]})
    after = _values(evidence, spec, {**where, **spec["to"]})
    pairs = [(before[key], after[key]) for key in before.keys() & after.keys()]
    if len(before) == len(after) == 1 and not _same_settings(spec):  # they belong together
        pairs = [(*before.values(), *after.values())]
    scale, unit = (100, " %") if spec.get("metric") == "misclustering" else (1, "")
    shared = [(a, b, a.index.intersection(b.index)) for a, b in pairs]
    paired = [(scale * a[both], scale * b[both]) for a, b, both in shared if len(both)]
    if not paired:
        return ""
    # One difference a replication and setting: the settings' means are averaged, their errors too.
    effects = [mean_effect(b - a) for a, b in paired]
    difference = weighted_effect([1 / len(effects)] * len(effects), effects)
    old, new = (fmean(pair[i].mean() for pair in paired) for i in (0, 1))
    settings = f" over {len(paired)} settings" if len(paired) > 1 else ""
    return f"{spec['label']}: {old:.3g}{unit} to {new:.3g}{unit}, change {difference}{settings}"


def _values(
    evidence: Evidence, spec: Mapping[str, Any], wanted: Mapping[str, Any]
) -> dict[tuple, pd.Series]:
    """Return the values of one reading by what stays the same in the other."""
    side = dict(wanted)
    method = side.pop("method", spec.get("method"))
    metric = side.pop("metric", spec.get("metric"))
    found = {}
    for place in evidence.places(spec["study"], side):
        values = evidence.values(place, method, metric)
        if len(values):
            found[_same_in_both(place, spec)] = values
    return found


def _same_in_both(place: Place, spec: Mapping[str, Any]) -> tuple:
    """Return what identifies a place apart from what the two readings vary.

    Readings that vary a setting's value are matched by the other values, all others by the id.
    """
    varied = spec["from"].keys() | spec["to"].keys()
    variant = "" if "variant" in varied else place.variant
    if _same_settings(spec):
        return (variant, place.setting)
    return (variant, *sorted((k, str(v)) for k, v in place.values.items() if k not in varied))


def _same_settings(spec: Mapping[str, Any]) -> bool:
    """Return whether both readings are of the same settings, because they vary no value of them."""
    return spec["from"].keys() | spec["to"].keys() <= {"variant", "metric", "method"}
