"""What a person chooses of the matrix: methods, metrics, their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from fedmix import methods as method_registry
from fedmix.cells.items import Item
from fedmix.configuration import raise_all
from fedmix.errors import nearest_names
from fedmix.methods.capabilities import obstacles
from fedmix.pipeline.plan import Study

_NOT_CHOSEN = "not chosen"


def with_methods(
    studies: Mapping[str, Study], compared: Iterable[str], chosen: Sequence[str] | None
) -> dict[str, Study]:
    """Return the studies, those that are compared with the chosen methods in the chosen order.

    Parameters
    ----------
    studies : mapping of str to Study
    compared : iterable of str
        The studies that compare all methods: those of the matrix.
    chosen : sequence of str, optional
        Names of methods; all without it.

    Raises
    ------
    ConfigurationError
        If no compared study has such a method, with the nearest names.
    """
    if chosen is None:
        return dict(studies)
    own = [studies[name] for name in compared if name in studies]
    known = dict.fromkeys(name for study in own for name in study.methods)
    raise_all(_unknown("method", chosen, known))
    kept = {
        study.name: replace(
            study, methods={m: study.methods[m] for m in chosen if m in study.methods}
        )
        for study in own
    }
    return {**studies, **kept}


def with_metrics(
    items: Mapping[str, Item], compared: Iterable[str], chosen: Sequence[str] | None
) -> dict[str, Item]:
    """Return the items, those of compared studies with the chosen metrics in the chosen order.

    An item that has none of them is left out; parameters and errors as of :func:`with_methods`.
    """
    if chosen is None:
        return dict(items)
    own = {name: item for name, item in items.items() if item.study in set(compared)}
    known = dict.fromkeys(measured(m) for item in own.values() for m in item.metrics)
    raise_all(_unknown("metric", chosen, known))
    kept = {name: _narrowed(item, chosen) for name, item in own.items()}
    whole = {**items, **kept}
    return {name: item for name, item in whole.items() if name not in own or item.metric}


def left_out(study: Study) -> dict[str, list[str]]:
    """Return the registered methods that a comparison does not run, by the reason.

    Parameters
    ----------
    study : Study
        Of methods that label the points of Gaussian data.
    """
    running = {method.estimator for method in study.methods.values()}
    reasons = {name: _NOT_CHOSEN for name in method_registry.index()} | obstacles()
    found: dict[str, list[str]] = {}
    for name in sorted(reasons.keys() - running):
        found.setdefault(reasons[name], []).append(name)
    return found


def measured(metric: str) -> str:
    """Return the metric that a derived one is made of: ``"ari"`` of ``"rank: ari"``."""
    return metric.rpartition(": ")[2]


def _narrowed(item: Item, chosen: Sequence[str]) -> Item:
    metrics = [m for name in chosen for m in item.metrics if measured(m) == name]
    rows = item.options.get("rows", [])
    if isinstance(rows, list):  # of a figure: its panels, one a metric
        rows = [row for name in chosen for row in rows if row.get("metric") == name]
    options = {**item.options, "rows": rows} if rows else item.options
    return item.model_copy(update={"metric": metrics, "options": options})


def _unknown(kind: str, names: Sequence[str], known: Iterable[str]) -> Iterator[str]:
    known = list(known)
    for name in names:
        if name not in known:
            nearest = nearest_names(name, known) if known else "This preset compares nothing."
            yield f"--config {kind}s: unknown {kind} {name!r}. {nearest}"
