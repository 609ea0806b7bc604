"""Tables and figures that a person asks for by name, and the numbers that they show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationInfo, WrapValidator, model_validator
from pydantic.json_schema import SkipJsonSchema

from fedmix.cells.papers import Paper, part_document
from fedmix.configuration import Document, checked, raise_all
from fedmix.declarations import Arithmetic, Declared, Like, Template
from fedmix.errors import ConfigurationError, nearest_names


class ByMethod(Declared):
    """A metric by method, and that of all others."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str]

    default: str


Metric = str | ByMethod
Direction = Literal["highest", "lowest", "none"]


class PrintedColumn(Declared):
    """A printed column that has other names for our values."""

    column: str
    names: dict[Any, Any] = Field(description="Our value -> the printed one.")


class Printed(Declared):
    """Where a paper's numbers stand, see :mod:`fedmix.cells.printed`."""

    file: str = Field(description="Of the paper's folder in data/published.")
    where: dict[str, Any] = Field({}, description="Values that a row must have, by printed column.")
    columns: dict[str, str | PrintedColumn] = Field(
        description="Printed column -> our column, with other names for our values where they "
        "differ."
    )
    mean: str = Field(description="The printed column of means.")
    sd: str = Field(description="The printed column of standard deviations.")
    replications: int = Field(description="Behind a printed mean, as the paper says.")
    best: Direction
    partition_draws: str = Field(
        "",
        description="The study that repeats it with other partition draws where the paper and this "
        "study drew once for all replications; the variance between draws counts on both sides.",
    )
    stand_in: dict[str, dict[Any, Any]] = Field(
        {},
        description="In a preset without the paper's data: printed column -> our value -> the "
        "printed one whose place it takes. What stands in is never called reproduced.",
    )


class CondensedRow(Declared):
    """A row of a condensed table."""

    row: str
    where: dict[str, Any] = Field({}, description="The cells that it is made of.")
    along: str
    exponent: float
    above_zero: bool = False
    condition: str = Field("", description="Metric that is 1 where a theorem's condition holds.")


class Condensed(Declared):
    """What a table says of many cells together, see :mod:`fedmix.cells.condensed`."""

    kind: Literal["slopes", "advice"]
    metric: str
    alone: str = Field("", description="Metric of the same method's fit without exchange.")
    harmed: str = Field("", description="Metric of the share of clients that lose.")
    rows: list[CondensedRow] = Field([], description="Of slopes.")


class TableOptions(Declared):
    """How a table is laid out."""

    rows: str = Field("", description="What the rows are, as the table's corner says it.")
    names: dict[Any, str] = Field(
        {}, description="A row or column as its template gives it -> its name for people."
    )
    show: dict[str, Literal["mean", "median", "quartiles"]] = Field(
        {}, description="Metric -> what is shown of it instead of mean and standard deviation."
    )
    condensed: Condensed | None = Field(
        None, description="What the table says of many cells together."
    )
    metrics: dict[str, str] = Field(
        {}, description="Metric -> its name for people, where a table shows several."
    )
    difference: str = Field(
        "",
        description="A metric of the table that is itself a paired difference, such as a gain; the "
        "table then says the smallest one that it could have seen.",
    )
    left_out: bool = Field(
        False,
        description="Whether methods that cannot run on such data are named, with the reason.",
    )


class FigureOptions(Declared):
    """How a whole figure, a row or a column of its panels is drawn."""

    rows: str | Annotated[list[FigureOptions], Field(min_length=1)] = Field(
        "",
        description="What sets these panels apart, or a column of the frame whose values take one "
        "each.",
    )
    columns: str | Annotated[list[FigureOptions], Field(min_length=1)] = Field(
        "", description="As rows."
    )
    where: dict[str, Any] = Field(
        {}, description="Values that a cell must have, by the frame's columns."
    )
    methods: list[str] = Field([], description="The methods to draw; all of the study by default.")
    series: str = Field("method", description="The column whose values take a line each.")
    metric: Metric = Field("", description="A metric, or `default` and the methods with another.")
    statistic: Literal["mean", "share", "median"] = Field(
        "mean",
        description="Means with standard deviations, shares with standard errors, or medians with "
        "quartiles.",
    )
    x: Arithmetic = Field(
        "", description="A column of the frame, or arithmetic of columns and metrics."
    )
    same_data: dict[str, str] = Field(
        {},
        description="Of ranks; data set -> the one whose points it shares, so that both count "
        "once.",
    )
    rank: str = Field(
        "", description="Of ranks; the metric that ranks the methods by the panel's metric."
    )
    left_out: bool = Field(
        False, description="Of ranks; whether methods that did not run are named, with the reason."
    )
    even: bool = Field(False, description="Whether the values of x are drawn evenly spaced.")
    along: str = Field("", description="The column whose values are the names beside the points.")
    level: str | float = Field(
        "", description="A column whose value a dotted line marks on the y axis, or a number."
    )
    mark: float = Field(
        0, description="A round, or another value on the x axis, that a dotted line marks."
    )
    exponent: float = Field(0, description="Of a power of x that is drawn for comparison.")
    names: dict[Any, str] = Field({}, description="Value of the frame -> its name for people.")
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    xscale: Literal["linear", "log"] = "linear"
    yscale: Literal["linear", "log"] = "linear"


def _own_or_borrowed(value: Any, validate: Callable[[Any], Any], info: ValidationInfo) -> Any:
    """Return an item's printed numbers, its own or those of the item that it names."""
    if isinstance(value, str):
        known = (info.context or {}).get("printed", {})
        if value not in known:
            hint = nearest_names(value, known)
            raise ValueError(f"no item {value!r} has printed numbers. {hint}")
        return known[value]
    return validate(value) if value else value


class Item(Declared):
    """A table or a figure.

    ``name`` and ``paper`` say what it is and which folder has it. ``judged`` is False for an item
    that shows another item's printed numbers beside another metric.
    """

    name: SkipJsonSchema[str]
    kind: SkipJsonSchema[Literal["table", "figure"]]
    paper: SkipJsonSchema[str]
    judged: SkipJsonSchema[bool] = True
    title: str
    caption: str = Field(
        description="What is shown, what the paper says of it, and what bands or bars are."
    )
    study: str = Field(description="The study whose results it shows.")
    where: dict[str, Any] = Field(
        {},
        description="Values that a setting must have to take part (a list means any of them).",
    )
    metric: Annotated[Any, Like(Metric | list[Metric])] = Field(
        description="What it shows: a metric, or one by method with a `default`, or a list of "
        "these. seconds, rounds, floats_up and floats_down are metrics, and so are those that "
        "src/fedmix/cells/summary.py makes."
    )
    methods: list[str] = Field([], description="The methods shown; all of the study by default.")
    row: Template = Field(
        "",
        description="Where a number stands: the frame's columns, and printed ones, may be named in "
        "braces.",
    )
    column: Template = Field("", description="As row.")
    unit: str = Field("", description="Of the numbers shown.")
    scale: float = Field(1.0, gt=0, description="Number shown x scale = number measured.")
    digits: int | None = Field(
        None,
        ge=0,
        le=15,
        description="Decimals shown; in print they bound the rounding error.",
    )
    printed: Annotated[
        dict[str, Any],
        Like(Printed),
        WrapValidator(_own_or_borrowed, json_schema_input_type=str | Printed),
    ] = Field(
        {},
        description="The paper's numbers, or the item whose printed numbers stand beside this "
        "one's.",
    )
    best: Direction = Field(
        "none",
        description="What is best of its metrics and stands in bold; printed numbers say it "
        "themselves.",
    )
    builder: str = ""
    options: dict[str, Any] = Field({}, description="How it is laid out.")

    @property
    def partition_draws(self) -> str:
        """The study that repeats it with other partition draws; empty if there is none."""
        return self.printed.get("partition_draws", "") if self.judged else ""

    @property
    def metrics(self) -> list[str]:
        """Every metric that it shows of some method."""
        named = (m.values() if isinstance(m, Mapping) else [m] for m in _as_list(self.metric))
        return list(dict.fromkeys(name for names in named for name in names))

    def metrics_of(self, method: str) -> list[str]:
        """Return the metrics that it shows of a method; none if it leaves the method out."""
        if self.methods and method not in self.methods:
            return []
        chosen = (
            m.get(method, m["default"]) if isinstance(m, Mapping) else m
            for m in _as_list(self.metric)
        )
        return list(dict.fromkeys(chosen))

    @property
    def direction(self) -> str:
        """What is best: ``"highest"``, ``"lowest"`` or ``"none"``."""
        return self.printed.get("best", self.best)

    @property
    def columns_named(self) -> list[str]:
        """The columns that its templates name, which a cell must have to be shown."""
        template = self.row + self.column
        return [name for _, name, _, _ in Formatter().parse(template) if name]


class Table(Item):
    """A table: where its numbers stand, and how they are shown."""

    kind: SkipJsonSchema[Literal["table"]] = "table"
    builder: SkipJsonSchema[str] = ""
    row: Template = Field(
        description="Where a number stands; columns of the frame of cells, and printed ones, may "
        "be named in braces."
    )
    column: Template = Field(description="As row.")
    options: Annotated[dict[str, Any], Like(TableOptions)] = Field(
        {}, description="How it is laid out."
    )

    @model_validator(mode="after")
    def _with_the_digits_of_the_print(self) -> Self:
        if self.printed and self.digits is None:
            raise ValueError("lacks digits, which printed numbers need")
        return self


class Figure(Item):
    """A figure: what it draws of the frame of cells, and how."""

    kind: SkipJsonSchema[Literal["figure"]] = "figure"
    digits: SkipJsonSchema[None] = None
    best: SkipJsonSchema[Literal["none"]] = "none"
    builder: Literal["lines", "points", "maps", "trajectories", "exchange", "ranks"] = Field(
        description="A module of fedmix.views.figures."
    )
    options: Annotated[dict[str, Any], Like(FigureOptions)]


#: File of a paper's folder -> what an entry of it declares.
KINDS: dict[str, type[Item]] = {"tables": Table, "figures": Figure}


@dataclass(frozen=True)
class ItemEntry:
    """What the configuration says of an item, with a preset's changes.

    Parameters
    ----------
    paper : Paper
    kind : type of Item
        One of :data:`KINDS`.
    document : Document
        What the paper's file, and a preset, says of it.
    """

    paper: Paper
    kind: type[Item]
    document: Document


def item_entries(
    papers: Mapping[str, Paper], changes: Mapping[str, Document] | None = None
) -> dict[str, ItemEntry]:
    """Return what is said of every paper's tables and figures, by name.

    Parameters
    ----------
    papers : mapping of str to Paper
        Of :func:`fedmix.cells.papers.read_papers`.
    changes : mapping, optional
        What a preset changes, by the item's name.

    Raises
    ------
    ConfigurationError
        If a file is no mapping, two items share a name, or an unknown item is changed.
    """
    entries: dict[str, ItemEntry] = {}
    for paper in papers.values():
        for file, kind in KINDS.items():
            whole = part_document(paper, file, dict[str, dict]) or Document({}, ())
            for name in whole.content:
                if name in entries:
                    raise ConfigurationError(f"{whole.place(name)}: {name!r} occurs twice")
                entries[name] = ItemEntry(paper, kind, whole.part(name))
    for name, change in (changes or {}).items():
        if name not in entries:
            raise ConfigurationError(
                f"{change.place()}: unknown item {name!r}. {nearest_names(name, entries)}"
            )
        entries[name] = replace(entries[name], document=entries[name].document.under(change))
    return entries


def read_items(
    papers: Mapping[str, Paper], changes: Mapping[str, Document] | None = None
) -> dict[str, Item]:
    """Return every paper's tables and figures by name; parameters as of :func:`item_entries`."""
    return items_of(item_entries(papers, changes))


def items_of(
    entries: Mapping[str, ItemEntry], names: Iterable[str] | None = None
) -> dict[str, Item]:
    """Return the items that entries declare.

    Parameters
    ----------
    entries : mapping of str to ItemEntry
        Of :func:`item_entries`.
    names : iterable of str, optional
        The items that are wanted; all by default.

    Raises
    ------
    ConfigurationError
        Listing all that is wrong in them.
    """
    said = {name: entry.document.content.get("printed") for name, entry in entries.items()}
    context = {"printed": {name: own for name, own in said.items() if isinstance(own, Mapping)}}
    found, wrong = {}, []
    for name in entries if names is None else names:
        entry = entries[name]
        added = {"name": name, "paper": entry.paper.key, "judged": not isinstance(said[name], str)}
        found[name], errors = checked(entry.document, entry.kind, context, **added)
        wrong += errors
    raise_all(wrong)
    return found


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]
