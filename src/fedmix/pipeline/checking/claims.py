"""Claims and discrepancies, held against the studies that they speak of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fedmix.cells import predicates
from fedmix.configuration import Document, Place
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.pipeline.checking.conditions import condition_errors, value_errors
from fedmix.pipeline.checking.typed import problems
from fedmix.pipeline.checking.vocabulary import Vocabulary

# Of a discrepancy's readings: what is no condition on a setting.
_NO_SETTINGS = ("method", "metric")


def claim_errors(claim: Document, studies: Mapping[str, Vocabulary]) -> Iterator[str]:
    """Yield what a claim names that its study does not have, or its predicate does not take.

    Parameters
    ----------
    claim : Document
        An entry of ``claims.yaml``, which its schema has passed.
    studies : mapping of str to Vocabulary
        What can be named of each study.
    """
    content = claim.content
    if "study" not in content:
        return
    if content["study"] not in studies:
        hint = nearest_names(content["study"], studies)
        yield f"{claim.place('study')}: unknown study {content['study']!r}. {hint}"
        return
    study = studies[content["study"]]
    if "where" in content:
        yield from condition_errors(claim.part("where"), study.settings)
    try:
        declared = predicates.parameters_of(content["predicate"])
    except ConfigurationError as error:
        yield f"{claim.place('predicate')}: {error}"
        return
    given = content.get("parameters", {})
    found = list(problems(declared, given, study.context))
    for keys, message in found:
        yield f"{claim.place('parameters', *keys)}: {message}"
    if not found:
        yield from _value_errors(claim, given, study)


def _value_errors(claim: Document, given: Mapping[str, Any], study: Vocabulary) -> Iterator[str]:
    """Yield values of a setting, among a predicate's parameters, that no setting has."""
    if "column" in given:
        for key in ("at", "than"):
            place = claim.place("parameters", key)
            yield from value_errors(place, given["column"], given[key], study.settings)
    if given.get("targets"):
        place = claim.place("parameters", "targets")
        by = given.get("by", "dataset")
        yield from value_errors(place, by, list(given["targets"]), study.settings)


def discrepancy_errors(entry: Document, studies: Mapping[str, Vocabulary]) -> Iterator[str]:
    """Yield what a discrepancy's effects name that their study does not have."""
    for i, effect in enumerate(entry.content.get("effects", ())):
        part = entry.part("effects", i)
        if effect["study"] not in studies:
            hint = nearest_names(effect["study"], studies)
            yield f"{part.place('study')}: unknown study {effect['study']!r}. {hint}"
            continue
        yield from _effect_errors(part, studies[effect["study"]])


def _effect_errors(effect: Document, study: Vocabulary) -> Iterator[str]:
    content = effect.content
    switches = content.get("switch", [])
    for switch in [switches] if isinstance(switches, str) else switches:
        known = {*study.columns - {"variant", "setting"}, *study.parameters}
        yield from _name_errors(effect.place("switch"), "switch", switch, known)
    for side in ("from", "to"):
        reading = {**content, **content[side]}
        for kind in _NO_SETTINGS:
            if kind not in reading:
                yield f"{effect.place(side)}: neither it nor the effect names a {kind}"
                continue
            place = effect.place(side, kind) if kind in content[side] else effect.place(kind)
            yield from _name_errors(place, kind, reading[kind], study.context[kind])
        wanted = {**content.get("where", {}), **content[side]}
        where = {key: value for key, value in wanted.items() if key not in _NO_SETTINGS}
        yield from condition_errors(Document(where, effect.part(side).finders), study.settings)


def _name_errors(place: Place, kind: str, name: Any, known: Collection[str]) -> Iterator[str]:
    if name not in known:
        yield f"{place}: unknown {kind} {name!r}. {nearest_names(name, known)}"
