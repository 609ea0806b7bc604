"""Single edits of every configuration file: each gives another plan or a clear error, none is lost.

The files are read once and edited in memory; a file's edits are drawn by a seed of its own.
"""

import copy
import random
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from fedmix import configuration
from fedmix.cells import items
from fedmix.cells.papers import read_claims, read_discrepancies
from fedmix.cells.protocols.space import read_searches
from fedmix.errors import ConfigurationError
from fedmix.pipeline.configured import read_configuration, read_options

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "config"
FILES = sorted(path for path in CONFIG.rglob("*.yaml"))
SEARCHES = ("quick", "paper")  # presets with a search for protocols
EDITS = 1  # of every file and kind
read_from_disk = configuration.read_yaml


def number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def misspelt(text):
    """Swap two letters in the middle of a word, or double its last."""
    half = len(text) // 2
    swapped = text[: half - 1] + text[half : half + 1] + text[half - 1 : half] + text[half + 1 :]
    return swapped if len(text) > 2 and swapped != text else text + (text[-1:] or "x")


# Kind of edit -> what it makes of a value that it is meant for; None where it is not.
VALUES = {
    "misspelt value": lambda v: misspelt(v) if isinstance(v, str) else None,
    "unicode": lambda v: f"{v}\u200bé" if isinstance(v, str) else None,
    "other type": lambda v: {"a": v} if not isinstance(v, dict) else [*v.values()],
    "text for a number": lambda v: f"{v} " if number(v) else None,
    "number for a text": lambda v: 7 if isinstance(v, str) else None,
    "negative": lambda v: -v - 1 if number(v) else None,
    "huge": lambda v: 10**12 if number(v) else None,
    "not a number": lambda v: float("nan") if number(v) else None,
    "fraction": lambda v: v + 0.5 if isinstance(v, int) and number(v) else None,
    "list for a scalar": lambda v: None if isinstance(v, dict | list) else [v],
    "empty list": lambda v: [] if isinstance(v, list) else None,
    "null": lambda v: NULL,
    "absurd width": lambda v: v.replace("}", ":2000000000}", 1) if isinstance(v, str) else None,
}
NULL = object()
KEYS = ("misspelt key", "missing key", "further key", "missing entry")


@cache
def documents():
    return {path: read_from_disk(path) for path in FILES}


def nodes(document, keys=()):
    """Yield the keys of every value below a document's root."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in pairs:
        yield (*keys, key)
        if isinstance(value, dict | list):
            yield from nodes(value, (*keys, key))


def at(document, keys):
    for key in keys:
        document = document[key]
    return document


def edited(document, keys, kind):
    """Return a copy with one edit, or None where this kind makes no sense."""
    *parents, last = keys
    parent, value = at(document, parents), at(document, keys)
    if kind in VALUES:
        new = VALUES[kind](value)
        if new is None or (value is None and kind == "null"):
            return None
        new = None if new is NULL else new
        if repr(new) == repr(value):
            return None
    elif kind == "missing entry":
        if isinstance(parent, dict):
            return None
    elif not isinstance(parent, dict) or not isinstance(last, str):
        return None
    changed = copy.deepcopy(document)
    parent = at(changed, parents)
    if kind in VALUES:
        parent[last] = new
    elif kind in ("missing key", "missing entry"):
        del parent[last]
    elif kind == "further key":
        parent["surplus"] = 1
    else:
        items = [(misspelt(k) if k == last else k, v) for k, v in parent.items()]
        parent.clear()
        parent.update(items)
    return changed


def edits(path):
    """Yield kind, keys and changed document of a sample of single edits."""
    document = documents()[path]
    if document is None:
        return  # a preset that is nothing but its name
    generator = random.Random(str(path.relative_to(ROOT)))
    everywhere = list(nodes(document))
    for kind in (*VALUES, *KEYS):
        generator.shuffle(everywhere)
        found = ((kind, keys, edited(document, keys, kind)) for keys in everywhere)
        yield from islice((edit for edit in found if edit[2] is not None), EDITS)


@pytest.fixture
def plan(monkeypatch):
    """Return a function that plans with some documents replaced by others."""
    replaced = {}

    def read(path):
        path = Path(path)
        known = {**documents(), **replaced}
        return known[path]

    monkeypatch.setattr(configuration, "read_yaml", read)

    def plan_with(**changes):
        replaced.clear()
        replaced.update({CONFIG / name: document for name, document in changes.items()})
        return fingerprint()

    return plan_with


def fingerprint():
    """Return everything that a run or its page depends on, as text."""
    found = read_configuration(CONFIG)
    return repr(
        [
            found.papers,
            found.datasets,
            found.published,
            found.presets,
            [items.read_items(found.papers, preset.items) for preset in found.changes.values()],
            [(sorted(own.on_request), own.replications) for own in found.changes.values()],
            read_claims(found.papers),
            read_discrepancies(found.papers),
            [read_searches(found.papers, preset) for preset in SEARCHES],
            read_options(CONFIG, configuration.read_yaml(CONFIG / "config.yaml")),
        ]
    )


@cache
def unchanged():
    return fingerprint()


def outcome(plan, name, document, expected):
    try:
        found = plan(**{name: document})
    except ConfigurationError as error:
        return "told" if str(error).count(":") else f"told badly: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "another plan" if found != expected else "ignored"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIG)))
def test_no_edit_is_ignored_and_every_error_is_clear(plan, path):
    expected, wrong = unchanged(), []
    name = str(path.relative_to(CONFIG))
    for kind, keys, document in edits(path):
        result = outcome(plan, name, document, expected)
        if result not in ("told", "another plan"):
            wrong.append(f"{kind} at {keys}: {result}")
    assert not wrong, "\n".join(wrong)


def renamed(keys, document):
    """Return a copy in which one key is misspelt."""
    return edited(document, keys, "misspelt key")


def given(value):
    """Return a function that puts a value into a copy."""

    def put(keys, document):
        changed = copy.deepcopy(document)
        at(changed, keys[:-1])[keys[-1]] = value
        return changed

    return put


def with_surplus(keys, document):
    return edited(document, (*keys, "value"), "further key")


def too_wide(keys, document):
    return edited(document, keys, "absurd width")


def of_a_choice(keys, value):
    return "choices" in keys and "values" in keys and number(value)


def of_a_search(keys, value):
    return isinstance(value, dict) and "value" in value


# What was accepted or ignored once: files, where in them, and the edit.
KNOWN = {
    "a key beside value": ("protocols/*", of_a_search, with_surplus),
    "units": ("protocols/*", lambda keys, value: keys[-1] == "units", renamed),
    "tol": ("*", lambda keys, value: keys[-1] == "tol", renamed),
    "a method's look": ("*", lambda keys, value: keys[-2:-1] == ("looks",), renamed),
    "a variant": ("about.yaml", lambda keys, value: keys[:-1] == ("variants",), renamed),
    "digits": ("*", lambda keys, value: keys[-1] == "digits", given(200)),
    "a row's template": ("tables.yaml", lambda keys, value: "{" in str(value), too_wide),
    "a text in a choice": ("protocols/*", of_a_choice, given("abc")),
    "a negative choice": ("protocols/*", of_a_choice, given(-5)),
    "an empty choice": ("protocols/*", of_a_choice, given(None)),
    "no number in a choice": ("protocols/*", of_a_choice, given(float("nan"))),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_what_was_once_ignored_is_told(plan, kind):
    files, fits, edit = KNOWN[kind]
    edits = (
        (path, edit(keys, document))
        for path, document in documents().items()
        if document is not None and path.match(files)
        for keys in nodes(document)
        if fits(keys, at(document, keys))
    )
    found = [
        outcome(plan, str(path.relative_to(CONFIG)), document, unchanged())
        for path, document in islice((e for e in edits if e[1] is not None), 3)
    ]
    assert found == ["told"] * len(found)
    assert found


def test_the_edits_are_many():
    assert sum(1 for path in FILES for _ in edits(path)) > 300


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_key_given_twice_and_a_tab_are_told_with_the_line(path, tmp_path):
    lines = path.read_text().splitlines()
    keys = [i for i, line in enumerate(lines) if line.strip() and line[0] not in "# -{}"]
    if not keys:
        return  # a preset that is nothing but its name
    line = lines[keys[0]]
    for wrong in (f"{line.split(':')[0]}: 1", "\ta: 1"):
        edited = tmp_path / path.name
        edited.write_text("\n".join([*lines[: keys[0]], wrong, *lines[keys[0] :]]))
        with pytest.raises(ConfigurationError, match=rf"{path.name}(.|\n)*line \d+"):
            read_from_disk(edited)
