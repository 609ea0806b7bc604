"""The main options of a run, from config.yaml and the command line, and what they choose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import Field, field_validator

from fedmix.cells.items import Item
from fedmix.configuration import Document, raise_all, read_document, validate
from fedmix.declarations import Declared, Keys, Names
from fedmix.errors import nearest_names
from fedmix.methods import index
from fedmix.methods.capabilities import obstacles
from fedmix.pipeline.plan import RUNTIME, Study

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
_NOT_CHOSEN = "not chosen"
_WORDS = ("true", "false", "null")  # never a name or a folder


class Options(Declared):
    """The main options, to edit or to override with --config key=value."""

    preset: str = Field(
        description="A file of config/presets. quick needs no network; paper has the published "
        "sizes."
    )
    mirror: str | None = Field(
        description="A folder with copies of the raw files, used before the network. "
        "FEDMIX_MIRROR does the same."
    )
    plugins: str | None = Field(
        description="A folder with your own methods, relative to where Snakemake works or to the "
        "repository. FEDMIX_PLUGINS does the same."
    )
    papers: Names | None = Field(
        min_length=1,
        description="Papers that `all`, its audit and its pages show, by their folders in "
        "config/papers and config/beyond; without it, all but those on request.",
    )
    replications: Count | None = Field(
        description="Replications of every study, instead of the preset's numbers or rule."
    )
    block: Count | None = Field(
        description="Replications per job; by default sized with config/costs.csv to last minutes."
    )
    replication_timeout: Seconds | None = Field(
        description="Seconds one replication of one method may take before it counts as timed out."
    )
    download_timeout: Seconds = Field(
        description="Seconds a server may stay silent before the next source is tried."
    )
    methods: Names | None = Field(
        description="Methods that the matrix compares, in this order; all without it."
    )
    metrics: Names | None = Field(
        description="Metrics in the tables and figures of the matrix, in this order; all "
        "without it."
    )
    partial: bool = Field(
        description="Make tables and figures from finished blocks, with n in every cell."
    )
    evidence: str | Literal[False] = Field(
        description="The folder of kept replications, relative to the repository. They are used "
        "instead of running them again; false runs everything."
    )

    @field_validator("replication_timeout")
    @classmethod
    def _shorter_than_its_job(cls, timeout: float | None) -> float | None:
        if timeout and timeout > RUNTIME * 60:
            raise ValueError(
                f"{timeout:g} s is more than the {RUNTIME} minutes of a job: a replication that "
                "takes this long would end its job at every attempt. Finished replications of a "
                "job that ran out of time are kept."
            )
        return timeout


def read_options(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the top-level configuration, checked.

    Parameters
    ----------
    folder : pathlib.Path
        The ``config`` folder.
    options : mapping
        ``config.yaml`` with the changes of the command line. Snakemake leaves some of them as
        text, such as the ``true`` of ``--config partial=true``.

    Raises
    ------
    ConfigurationError
        With each problem, and whether it is in the file or on the command line.
    """
    file = read_document(folder / "config.yaml", empty={})
    given = {key for key, value in options.items() if value != file.content.get(key)}
    values = {key: _value(key, own) if key in given else own for key, own in options.items()}

    def find(keys: Keys) -> str | None:
        return f"the command line (--config): {keys[0]}" if keys and keys[0] in given else None

    document = Document(values, (find, *file.finders))
    validate(document, Options)
    return values


def _value(key: str, given: Any) -> Any:
    """Return an option's value from the command line, which may be a text such as ``"7"``."""
    field = Options.model_fields.get(key)
    may_be_text = field is None or str in (field.annotation, *get_args(field.annotation))
    if not isinstance(given, str) or (may_be_text and given.lower() not in _WORDS):
        return given
    try:
        return yaml.safe_load(given)
    except yaml.YAMLError:
        return given


def with_methods(
    studies: Mapping[str, Study], compared: Collection[str], chosen: Sequence[str] | None
) -> dict[str, Study]:
    """Return the studies, with the chosen methods in the chosen order in those that compare.

    Parameters
    ----------
    studies : mapping of str to Study
    compared : collection of str
        The studies that compare all methods, which are those of the matrix.
    chosen : sequence of str, optional
        Names of methods; all by default.

    Raises
    ------
    ConfigurationError
        If no compared study has such a method, with the nearest names.
    """
    if chosen is None:
        return dict(studies)
    known = dict.fromkeys(method for name in compared for method in studies[name].methods)
    raise_all(_unknown("method", chosen, known))
    found = dict(studies)
    for name in compared:
        own = studies[name].methods
        found[name] = replace(studies[name], methods={m: own[m] for m in chosen if m in own})
    return found


def with_metrics(
    items: Mapping[str, Item], compared: Collection[str], chosen: Sequence[str] | None
) -> dict[str, Item]:
    """Return the items, with the chosen metrics in the chosen order in compared studies.

    An item without any of them is left out. Parameters and errors are as in :func:`with_methods`.
    """
    if chosen is None:
        return dict(items)
    own = {name: item for name, item in items.items() if item.study in compared}
    known = dict.fromkeys(measured(m) for item in own.values() for m in item.metrics)
    raise_all(_unknown("metric", chosen, known))
    whole = {**items, **{name: _narrowed(item, chosen) for name, item in own.items()}}
    return {name: item for name, item in whole.items() if name not in own or item.metric}


def not_chosen(papers: Collection[str], chosen: Sequence[str]) -> set[str]:
    """Return the papers that an option leaves out of the target ``all``.

    Raises
    ------
    ConfigurationError
        If there is no such paper, with the nearest names.
    """
    raise_all(_unknown("paper", chosen, papers))
    return {*papers} - {*chosen}


def left_out(study: Study) -> dict[str, list[str]]:
    """Return the registered methods that a comparison does not run, by reason.

    Parameters
    ----------
    study : Study
        A study of methods that label the points of Gaussian data.
    """
    running = {method.estimator for method in study.methods.values()}
    reasons = {name: _NOT_CHOSEN for name in index()} | obstacles()
    found: dict[str, list[str]] = {}
    for name in sorted(reasons.keys() - running):
        found.setdefault(reasons[name], []).append(name)
    return found


def measured(metric: str) -> str:
    """Return the metric behind a derived one: ``"ari"`` for ``"rank: ari"``."""
    return metric.rpartition(": ")[2]


def _narrowed(item: Item, chosen: Sequence[str]) -> Item:
    metrics = [m for name in chosen for m in item.metrics if measured(m) == name]
    rows = item.options.get("rows", [])
    if isinstance(rows, list):  # a figure's panels, one per metric
        rows = [row for name in chosen for row in rows if row.get("metric") == name]
    options = {**item.options, "rows": rows} if rows else item.options
    return item.model_copy(update={"metric": metrics, "options": options})


def _unknown(kind: str, names: Sequence[str], known: Iterable[str]) -> Iterator[str]:
    known = list(known)
    for name in names:
        if name not in known:
            nearest = nearest_names(name, known) if known else "This preset compares nothing."
            yield f"--config {kind}s: unknown {kind} {name!r}. {nearest}"
