"""Check claims and discrepancies against the studies that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedmix.cells import predicates
from fedmix.configuration import Document
from fedmix.declarations import problems
from fedmix.errors import ConfigurationError
from fedmix.pipeline.checking import Vocabulary, condition_errors, unknown, value_errors

# Keys of a discrepancy's readings that are not conditions on a setting.
_NO_SETTINGS = ("method", "metric")


def claim_errors(claim: Document, studies: Mapping[str, Vocabulary]) -> Iterator[str]:
    """Yield the names in a claim that its study does not have or its predicate does not accept.

    Parameters
    ----------
    claim : Document
        An entry of ``claims.yaml``, which has been validated.
    studies : mapping of str to Vocabulary
        The known names of each study.
    """
    content = claim.content
    if "study" not in content:
        return
    if content["study"] not in studies:
        yield from unknown(claim.place("study"), "study", content["study"], studies)
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
    """Yield values among a predicate's parameters that no setting has."""
    if "column" in given:
        for key in ("at", "than"):
            place = claim.place("parameters", key)
            yield from value_errors(place, given["column"], given[key], study.settings)
    if given.get("targets"):
        place = claim.place("parameters", "targets")
        yield from value_errors(place, "dataset", list(given["targets"]), study.settings)
    if claim.content["predicate"] == "between" and not {"low", "high"} & set(given):
        yield f"{claim.place('parameters')}: neither low nor high is given; give at least one"


def discrepancy_errors(entry: Document, studies: Mapping[str, Vocabulary]) -> Iterator[str]:
    """Yield the names in a discrepancy's effects that their study does not have."""
    for i, effect in enumerate(entry.content.get("effects", ())):
        part = entry.part("effects", i)
        if effect["study"] not in studies:
            yield from unknown(part.place("study"), "study", effect["study"], studies)
            continue
        yield from _effect_errors(part, studies[effect["study"]])


def _effect_errors(effect: Document, study: Vocabulary) -> Iterator[str]:
    content = effect.content
    if content["from"] == content["to"]:
        yield f"{effect.place('to')}: the same as `from`, so there is no effect. Change one of them"
    switches = content.get("switch", [])
    for switch in [switches] if isinstance(switches, str) else switches:
        known = {*study.columns - {"variant", "setting"}, *study.parameters}
        yield from unknown(effect.place("switch"), "switch", switch, known)
    for side in ("from", "to"):
        reading = {**content, **content[side]}
        for kind in _NO_SETTINGS:
            if kind not in reading:
                yield f"{effect.place(side)}: a {kind} is missing, here and in the effect"
                continue
            place = effect.place(side, kind) if kind in content[side] else effect.place(kind)
            yield from unknown(place, kind, reading[kind], study.context[kind])
        wanted = {**content.get("where", {}), **content[side]}
        where = {key: value for key, value in wanted.items() if key not in _NO_SETTINGS}
        yield from condition_errors(Document(where, effect.part(side).finders), study.settings)
