"""Predicates by name: each checks one kind of claim on our results.

A predicate is called once per variant, with all results (``evidence``) and the ``places``
(settings) that the claim is about. It yields a check for each place, or for each group of places
that it compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, create_model

from fedmix.cells.effects import Replications, Score
from fedmix.cells.evidence import FLOATS
from fedmix.errors import ConfigurationError, nearest_names

if TYPE_CHECKING:
    from fedmix.cells.effects import Finding
    from fedmix.cells.evidence import Evidence, Place

    Predicate = Callable[..., Iterator["Check"]]

_MODULES = ("comparisons", "trends")
_REGISTRY: dict[str, Predicate] = {}
#: Predicates on what happens round by round.
BY_ROUND = frozenset({"falls_by_round", "slows_after"})
#: Predicates on one method beside numbers: another method of whom the same is true is no chance.
ALONE = frozenset({"between", "fails"})


@dataclass(frozen=True)
class Check:
    """What a predicate found at one place."""

    variant: str
    #: The id of a setting, or the name of a group of settings.
    place: str
    #: Whether the claim holds there, beyond Monte-Carlo noise: "yes", "no" or "unclear".
    answer: str
    #: The numbers behind it.
    detail: str
    #: How far the effect lies on the claimed side of its bound, in the effect's own unit, and the
    #: ends of its 99 % interval. Of several effects, the one that decides.
    margin: float
    low: float
    high: float
    #: Replications behind it.
    n: int


def check(at: Place, place: str, finding: Finding, detail: str) -> Check:
    """Return the check of a finding, named ``place``; ``at`` is any place of the variant."""
    mean, half, n = finding.margin.mean, finding.margin.half_width, finding.margin.n
    return Check(at.variant, place, finding.answer, detail, mean, mean - half, mean + half, n)


def listed(places: Iterable[str]) -> str:
    """Return names of settings as text; those that differ in their last number stand together.

    Examples
    --------
    >>> listed(["mnist-contaminated0", "mnist-contaminated8", "frog_a"])
    'mnist-contaminated0/8, frog_a'
    """
    numbers: dict[str, list[str]] = {}
    for place in places:
        found = re.fullmatch(r"(.*?)(\d+(?:\.\d+)?)", place)
        stem, number = found.groups() if found else (place, "")
        numbers.setdefault(stem, []).append(number)
    return ", ".join(stem + "/".join(own) for stem, own in numbers.items())


def in_words(name: str, parameters: Mapping[str, Any]) -> str:
    """Return a predicate's summary line and its parameters, as a text."""
    summary = (get(name).__doc__ or "").strip().splitlines()[0].replace("``", "")
    given = ", ".join(f"{key} {_listed(value)}" for key, value in parameters.items())
    return f"{summary} With {given}."


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return " | ".join(map(str, value)) if isinstance(value, list) else str(value)


def predicate(function: Predicate) -> Predicate:
    """Register a predicate under its function's name."""
    _REGISTRY[function.__name__] = function
    return function


def names() -> list[str]:
    """Return the names of all predicates."""
    _load()
    return sorted(_REGISTRY)


def get(name: str) -> Predicate:
    """Return a predicate, or raise a ConfigurationError if there is none of this name."""
    _load()
    if name not in _REGISTRY:
        raise ConfigurationError(f"unknown predicate {name!r}. {nearest_names(name, _REGISTRY)}")
    return _REGISTRY[name]


@cache
def parameters_of(name: str) -> type[BaseModel]:
    """Return the model of a predicate's parameters, made from its signature.

    Validation needs a context with the keys ``method``, ``metric`` and ``setting``. Each has the
    known names of its kind, and the model rejects any other name.
    """
    function = get(name)
    hints = get_type_hints(function, localns={"Evidence": Any, "Place": Any}, include_extras=True)
    taken = list(signature(function).parameters.values())[2:]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in taken
    }
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return create_model(name, __config__=config, **fields)


def nearest_known(name: str, known: Iterable[str]) -> str:
    """Return the hint of `nearest_names`, with metrics of metrics only for a name like theirs.

    Examples
    --------
    >>> nearest_known("arii", ["ari", "rank: ari"])
    "Did you mean 'ari'? Valid: ari."
    """
    known = list(known)
    simple = [one for one in known if ": " not in str(one)]
    return nearest_names(name, known if ": " in name else simple or known)


def _known(kind: str) -> AfterValidator:
    def check(value: Any, info: ValidationInfo) -> Any:
        known = info.context[kind]
        for name in [value] if isinstance(value, str) else value:
            if name not in known and (kind, value) != ("method", "all"):
                raise ValueError(f"unknown {kind} {name!r}. {nearest_known(name, known)}")
        return value

    return AfterValidator(check)


#: Types of parameters: a method; several, or "all"; a metric; a column of the setting.
MethodName = Annotated[str, _known("method")]
MethodNames = Annotated[str | list[str], _known("method")]
MetricName = Annotated[str, _known("metric")]
Column = Annotated[str, _known("setting")]
Share = Annotated[float, Field(ge=0)]
Part = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Round = Annotated[int, Field(ge=0)]


def methods_at(evidence: Evidence, place: Place, chosen: str | list[str]) -> list[str]:
    """Return the chosen methods that were run at a place; ``"all"`` chooses every method."""
    present = evidence.methods(place)
    if chosen == "all":
        return present
    return [m for m in ([chosen] if isinstance(chosen, str) else chosen) if m in present]


def score_of(
    evidence: Evidence, place: Place, method: str, metric: str, rounds_to: float | None
) -> Score | None:
    """Return the final score, or the first round at or below ``rounds_to`` times the last score.

    It is None if there is no score, or no round.
    """
    if rounds_to is None:
        return evidence.score(place, method, metric)
    path = evidence.path(place, method, metric)
    if path.empty:
        return None
    below = path.le(rounds_to * path.iloc[:, -1], axis=0)
    return Replications.of(below.idxmax(axis=1).astype(float))


def places_of(
    claim: Mapping[str, Any], evidence: Evidence, where: Mapping[str, Any]
) -> list[Place]:
    """Return the places of a claim's study that have the values in ``where``."""
    return evidence.places(claim["study"], where) if "study" in claim else []


def methods_named(claim: Mapping[str, Any]) -> set[str]:
    """Return the methods that a claim's predicate compares; "all" stands for every method."""
    names = ("method", "than", "to", "first", "middle", "last", "relative_to")
    given = (claim.get("parameters", {}).get(name) for name in names)
    return {one for each in given for one in (each if isinstance(each, list) else [each])}


def metrics_named(claim: Mapping[str, Any]) -> set[str]:
    """Return the metrics that a claim's predicate looks at, and the parts of a sum of metrics."""
    given = claim.get("parameters", {})
    named = {given[name] for name in ("metric", "than_metric", "condition") if name in given}
    return named | {f"{FLOATS}_up", f"{FLOATS}_down"} if FLOATS in named else named


def ask(claim: Mapping[str, Any], evidence: Evidence, places: list[Place]) -> list[Check]:
    """Return the checks of a claim's predicate at the places of one variant."""
    if not places:
        return []
    return list(get(claim["predicate"])(evidence, places, **claim.get("parameters", {})))


def needed(claim: Mapping[str, Any], n: int) -> int:
    """Return in how many of ``n`` settings a claim must hold, by its extent."""
    return {"all": n, "most": n // 2 + 1, "several": min(n, 2)}[claim.get("extent", "all")]


def _load() -> None:
    for module in _MODULES:
        import_module(f"fedmix.cells.{module}")
