"""Tables and figures, which a person asks for by name, and the numbers that they show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    """Metrics by method; ``default`` is the metric of all other methods."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str]

    default: str


Metric = str | ByMethod
Direction = Literal["highest", "lowest", "none"]
#: Which value is best -> what values are multiplied by, so that the lowest is best.
SIGN = {"lowest": 1.0, "highest": -1.0}
Row = Annotated[
    Template,
    Field(description="The row of a number. Braces hold columns of the frame, or printed columns."),
]
Column = Annotated[Template, Field(description="The column of a number, like `row`.")]


class PrintedColumn(Declared):
    """A column of ours for which the paper has other names for the values."""

    column: str
    names: dict[Any, Any] = Field(description="Our value -> the printed value.")


class Printed(Declared):
    """Where a paper's published values are, see :mod:`fedmix.cells.printed`."""

    file: str = Field(description="File in the paper's folder of data/published.")
    where: dict[str, Any] = Field({}, description="Printed column -> the value a row must have.")
    columns: dict[str, str | PrintedColumn] = Field(
        min_length=1,
        description="Printed column -> our column, with the published names of our values if they "
        "differ.",
    )
    mean: str = Field(description="The printed column of means.")
    sd: str = Field(description="The printed column of standard deviations.")
    replications: int = Field(ge=2, description="Replications per published mean, as reported.")
    best: Direction
    other_draws: str = Field(
        "",
        description="The study that repeats the item with other draws, such as other t-SNEs. It is "
        "for an item whose paper and study both used one draw for all replications: the variance "
        "between draws then counts on both sides.",
    )
    stand_in: dict[str, dict[Any, Any]] = Field(
        {},
        description="Where the paper's data are not at hand: printed column -> our value -> the "
        "printed value that it stands in for. A stand-in never counts as reproduced.",
    )


class CondensedRow(Declared):
    """A row of a condensed table."""

    row: str
    where: dict[str, Any] = Field({}, description="Values that its cells must have.")
    along: str
    exponent: float
    above_zero: bool = False
    condition: str = Field("", description="Metric that is 1 where a theorem's condition holds.")


class Condensed(Declared):
    """What a table concludes from many cells, see :mod:`fedmix.cells.condensed`."""

    kind: Literal["slopes", "advice"]
    metric: str
    alone: str = Field("", description="Metric: the error of the same method without exchange.")
    harmed: str = Field("", description="Metric: the share of clients that lose.")
    rows: list[CondensedRow] = Field([], description="Rows of a table of slopes.")


class TableOptions(Declared):
    """How a table is laid out."""

    rows: str = Field("", description="What the rows are; the table's corner shows it.")
    names: dict[Any, str] = Field(
        {}, description="Row or column, as its template makes it -> the name that is shown."
    )
    show: dict[str, Literal["mean", "median", "quartiles"]] = Field(
        {}, description="Metric -> what is shown of it instead of mean and standard deviation."
    )
    condensed: Condensed | None = Field(
        None, description="What the table concludes from many cells."
    )
    metrics: dict[str, str] = Field(
        {}, description="Metric -> the name that is shown, for a table with several metrics."
    )
    difference: str = Field(
        "",
        description="A metric of the table that is itself a paired difference, such as a gain. The "
        "table then reports the smallest difference that is visible.",
    )
    left_out: bool = Field(
        False,
        description="Whether to name the methods that cannot run on such data, with the reason.",
    )
    leaderboard: str = Field(
        "",
        description="A metric: the rows are methods, ordered by their mean rank over data sets, "
        "and a note names those that a test cannot distinguish.",
    )
    same_data: dict[str, str] = Field(
        {}, description="For a leaderboard: data set -> one with the same points; both count once."
    )


class FigureOptions(Declared):
    """How a figure is drawn, or a row or a column of its panels."""

    rows: str | Annotated[list[FigureOptions], Field(min_length=1)] = Field(
        "",
        description="The options of each row of panels, or a column of the frame with one row of "
        "panels per value.",
    )
    columns: str | Annotated[list[FigureOptions], Field(min_length=1)] = Field(
        "", description="Like `rows`, for columns of panels."
    )
    where: dict[str, Any] = Field(
        {}, description="Column of the frame -> the value that a cell must have."
    )
    methods: list[str] = Field([], description="Methods to draw; all of the study by default.")
    series: str = Field("method", description="The column that has one line per value.")
    metric: Metric = Field("", description="A metric, or metrics by method with a `default`.")
    statistic: Literal["mean", "share", "median"] = Field(
        "mean",
        description="Means with standard deviations, shares with standard errors, or medians with "
        "quartiles.",
    )
    x: Arithmetic = Field("", description="A column, or arithmetic of columns and metrics.")
    same_data: dict[str, str] = Field(
        {},
        description="For ranks: data set -> the data set with the same points; they count once.",
    )
    rank: str = Field(
        "", description="For ranks: the metric that is the rank by the panel's metric."
    )
    left_out: bool = Field(False, description="For ranks: name methods that did not run, and why.")
    even: bool = Field(False, description="Whether to space the values of x evenly.")
    along: str = Field("", description="The column whose values name the points.")
    level: str | float = Field(
        "",
        description="What a dotted line marks on the y axis: a number, a column that has one, or a "
        "method, whose mean it is.",
    )
    mark: float = Field(0, description="A round, or another x value, that a dotted line marks.")
    exponent: float = Field(0, description="Exponent of a power of x to draw for comparison.")
    names: dict[Any, str] = Field({}, description="Value of the frame -> the name that is shown.")
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    xscale: Literal["linear", "log"] = "linear"
    yscale: Literal["linear", "log"] = "linear"


def _own_or_borrowed(value: Any, validate: Callable[[Any], Any], info: ValidationInfo) -> Any:
    """Return where an item's published values are: its own, or those of the item that it names."""
    if isinstance(value, str):
        known = (info.context or {}).get("printed", {})
        if value not in known:
            hint = nearest_names(value, known)
            raise ValueError(f"no item {value!r} has printed numbers. {hint}")
        return known[value]
    return validate(value) if value else value


class Item(Declared):
    """A table or a figure.

    ``paper`` is the key of the folder that declares it. ``judged`` is False for an item that shows
    another item's published values beside a metric of its own.
    """

    name: SkipJsonSchema[str]
    kind: SkipJsonSchema[Literal["table", "figure"]]
    paper: SkipJsonSchema[str]
    judged: SkipJsonSchema[bool] = True
    title: str
    caption: str = Field(
        description="What is shown, what the paper says about it, and what bands or bars mean."
    )
    study: str = Field(description="The study whose results it shows.")
    where: dict[str, Any] = Field(
        {},
        description="Name -> the value that a setting must have, or a list of such values.",
    )
    metric: Annotated[Any, Like(Metric | list[Metric])] = Field(
        description="What it shows: a metric, metrics by method with a `default`, or a list of "
        "these, without published values. Metrics are those of the experiment, seconds, rounds, "
        "floats_up, floats_down, and those that src/fedmix/cells/measured.py derives."
    )
    methods: list[str] = Field([], description="Methods to show; all of the study by default.")
    row: Row = ""
    column: Column = ""
    unit: str = Field("", description="Unit of the numbers shown.")
    scale: float = Field(1.0, gt=0, description="Number shown x scale = number measured.")
    digits: int | None = Field(
        None,
        ge=0,
        le=15,
        description="Decimals to show. Those of published values bound their rounding error.",
    )
    printed: Annotated[
        dict[str, Any],
        Like(Printed),
        WrapValidator(_own_or_borrowed, json_schema_input_type=str | Printed),
    ] = Field(
        {},
        description="Where the published values are, or the item whose published values this item "
        "shows beside its own.",
    )
    best: Direction = Field(
        "none",
        description="Which value is best and shown in bold; `printed` says it if there is one.",
    )
    builder: str = ""
    options: dict[str, Any] = Field({}, description="How it is laid out.")

    @model_validator(mode="after")
    def _with_digits(self) -> Self:
        shown = self.judged or self.kind == "table"  # other figures show those of a table
        if self.printed and shown and self.digits is None:
            raise ValueError("lacks digits, which printed numbers need")
        return self

    @model_validator(mode="after")
    def _with_one_metric_beside_published_values(self) -> Self:
        if self.printed and len(self._metrics_by_method) > 1:
            raise ValueError(
                "metric: expected one metric beside published values, got a list. Give each metric "
                "an item of its own"
            )
        return self

    @property
    def other_draws(self) -> str:
        """The study that repeats the item with other draws; empty if there is none."""
        return self.printed.get("other_draws", "") if self.judged else ""

    @property
    def _metrics_by_method(self) -> list[Mapping[str, str]]:
        """Each metric that it shows, by method, with a ``default``."""
        shown = self.metric if isinstance(self.metric, list | tuple) else [self.metric]
        return [m if isinstance(m, Mapping) else {"default": m} for m in shown]

    @property
    def metrics(self) -> list[str]:
        """Every metric that the item shows of at least one method."""
        return list(dict.fromkeys(name for m in self._metrics_by_method for name in m.values()))

    def metrics_of(self, method: str) -> list[str]:
        """Return the metrics that the item shows of a method; none if it leaves the method out."""
        if self.methods and method not in self.methods:
            return []
        return list(dict.fromkeys(m.get(method, m["default"]) for m in self._metrics_by_method))

    @property
    def direction(self) -> str:
        """Which value is best: ``"highest"``, ``"lowest"`` or ``"none"``."""
        return self.printed.get("best", self.best)

    @property
    def columns_named(self) -> list[str]:
        """The columns in its templates; the item shows only cells that have them all."""
        template = self.row + self.column
        return [name for _, name, _, _ in Formatter().parse(template) if name]

    def place_of(self, known: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the row and the column of a cell; None if it lacks a column of the templates."""
        if any(name not in known for name in self.columns_named):
            return None
        return self.row.format(**known), self.column.format(**known)


class Table(Item):
    """A table: the place of its numbers, and how they are shown."""

    kind: SkipJsonSchema[Literal["table"]] = "table"
    builder: SkipJsonSchema[str] = ""
    row: Row
    column: Column
    options: Annotated[dict[str, Any], Like(TableOptions)] = Field(
        {}, description="How it is laid out."
    )


class Figure(Item):
    """A figure: what it draws from the frame of cells, and how."""

    kind: SkipJsonSchema[Literal["figure"]] = "figure"
    best: SkipJsonSchema[Literal["none"]] = "none"
    builder: Literal["lines", "points", "maps", "trajectories", "exchange", "ranks"] = Field(
        description="What draws it, see fedmix.views.figures.build."
    )
    options: Annotated[dict[str, Any], Like(FigureOptions)]


#: Builders of figures that need results round by round, which the frame of cells does not hold.
BY_ROUND = ("trajectories", "exchange")
#: File of a paper's folder -> what an entry of it declares.
KINDS: dict[str, type[Item]] = {"tables": Table, "figures": Figure}


@dataclass(frozen=True)
class ItemEntry:
    """The entry of an item in a paper's file, with a preset's changes; ``kind`` is of `KINDS`."""

    paper: Paper
    kind: type[Item]
    document: Document


def item_entries(
    papers: Mapping[str, Paper], changes: Mapping[str, Document] | None = None
) -> dict[str, ItemEntry]:
    """Return the entries of every paper's tables and figures, by name.

    ``changes`` maps the name of an item to what a preset changes in it.
    """
    entries: dict[str, ItemEntry] = {}
    for paper in papers.values():
        for file, kind in KINDS.items():
            whole = part_document(paper, file, dict[str, dict]) or Document({}, ())
            for name in whole.content:
                if name in entries:
                    other = entries[name].document.place()
                    raise ConfigurationError(f"{whole.place(name)} is also in {other}. Rename one.")
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
    """Return every paper's tables and figures by name; see :func:`item_entries`."""
    return items_of(item_entries(papers, changes))


def items_of(
    entries: Mapping[str, ItemEntry], names: Iterable[str] | None = None
) -> dict[str, Item]:
    """Return the items that some entries of :func:`item_entries` declare, by default all.

    The ConfigurationError lists all errors in them.
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
