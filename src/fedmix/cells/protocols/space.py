"""What a paper leaves open; each file in the paper's folder ``protocols`` declares one search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from fedmix.cells.papers import Paper, read_checked
from fedmix.cells.protocols.choices import Choice
from fedmix.configuration import Document, Place, raise_all, read_document, validate
from fedmix.declarations import Declared, Named, Unique
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import index as registered_methods

if TYPE_CHECKING:
    import pandas as pd

    from fedmix.protocols import Protocol

#: The target for which all tables share one protocol.
COMMON = "common"

#: The files of a target that claims are tested on, see :mod:`fedmix.cells.protocols.kept`.
KEPT = ("protocols.csv", "runs.parquet")

#: Kinds of protocols that test a claim: drawn at random, or near the published values.
DRAWN, NEAR = "drawn", "near"

#: Kinds of runs beside the drawn ones: of the optimiser, of its last stage, of the best protocol of
#: each seed, which rank them, and of these on fresh replications.
TRIED, CONFIRMED, COMPARED, JUDGED = "tried", "confirmed", "compared", "judged"

#: Trials of the optimiser that screen protocols; the others are tried or confirmed.
SCREENED = "screened"

#: Replications from here on judge protocols; those before chose them.
FRESH = 1000

#: Starts of a search, the parts of its trials that each one screens, those of the last stage, and
#: all parts, with equally many trials. Each start has one part after its screening, and the best
#: start those that remain.
STARTS, SCREENING, LAST, PARTS = 5, 3, 2, 26


class Column(Declared):
    """A column of the tables: an entry of `config/methods.yaml`, or a variation of one."""

    name: SkipJsonSchema[str]
    estimator: SkipJsonSchema[str] = ""
    label: SkipJsonSchema[str] = ""
    method: str = Field("", description="The entry that it varies.")
    parameters: dict[str, Any] = Field({}, description="Parameters that no choice changes.")
    kind: str = Field(
        "", description="A control permutes the columns of one kind; all by default are of one."
    )

    @property
    def source(self) -> str:
        """The entry of ``config/methods.yaml`` that it uses, as it is or varied."""
        return self.method or self.name


class Claim(Declared):
    """What the tables show in every row: a method lies below the others, or above them."""

    method: str
    direction: Literal["below", "above"] = Field(
        "below", description="`below` if low values are good, `above` if high values are."
    )
    than: list[str] = Field(
        [],
        min_length=1,
        description="The methods that it is compared with; all others by default.",
    )
    baseline: str = Field(
        "", description="A method whose difference from it the search looks at as well."
    )

    @property
    def sign(self) -> int:
        """1 where lower is better, otherwise -1."""
        return 1 if self.direction == "below" else -1


class Draw(Declared):
    """Protocols drawn by the weights, on all rows: they say in how many a claim holds."""

    protocols: int = Field(ge=2, description="Number of protocols.")
    replications: int = Field(ge=2)
    block: int = Field(ge=1, description="Number of protocols per job.")

    def blocks(self) -> list[str]:
        """Return each job's range of protocols, such as ``"0-63"``, with the last one included."""
        n = self.protocols
        return [f"{a}-{min(a + self.block, n) - 1}" for a in range(0, n, self.block)]


class Optimizer(Declared):
    """The optimiser, which looks for the protocol that gives some rows of a table."""

    trials: int = Field(ge=PARTS, description="Number of protocols that it tries, from each seed.")
    replications: int = Field(
        ge=1, description="Number of replications that it sees; a trial ends early if it is poor."
    )
    confirmed: int = Field(
        ge=1,
        description="Number of further replications, of the same rows, for the last stage; as many "
        "of all rows then rank the best of each seed.",
    )
    contrast_weight: float = Field(
        1.0,
        gt=0,
        allow_inf_nan=False,
        description="How often a contrast of the claim's method counts in the objective, beside a "
        "value of the table.",
    )
    seeds: int = Field(ge=1, description="Number of searches, each from its own seed.")
    judged: int = Field(
        ge=2, description="Number of fresh replications, of all rows, that judge the best of each."
    )


class Table(Declared):
    """A published table, or its part on one data set, and how it was run as far as is reported."""

    name: SkipJsonSchema[str]
    title: str
    item: str = Field(
        default_factory=lambda table: table["name"],
        description="The entry of tables.yaml that shows it; by default the entry of this name.",
    )
    setting: dict[str, Any] = Field(description="The values of our setting.")
    rows: Annotated[list[Any], Unique] = Field(
        min_length=1, description="The values of `row`, in the published order."
    )
    seen: list[Any] | None = Field(
        None,
        min_length=1,
        description="The rows that the optimiser sees; every other one by default.",
    )
    drawn: int | None = Field(
        None, ge=2, description="Replications of its drawn protocols; those of `draw` by default."
    )
    first_trial: dict[str, str] = Field(
        {},
        description="Choice -> value of a protocol that was found in another way. The first start "
        "of each seed of the optimiser tries it in full.",
    )
    search: Optimizer | None = Field(
        None, description="How it is searched; as `search` of the space says by default."
    )


class Space(Declared):
    """What a paper leaves open, as choices with values, and how it is searched."""

    name: SkipJsonSchema[str]
    paper: SkipJsonSchema[str]
    experiment: SkipJsonSchema[str] = ""
    study: str = Field(
        description="The paper's study that the tables show. Its experiment runs every protocol."
    )
    row: str = Field(
        description="The setting whose values are the rows of the tables; their columns are "
        "methods."
    )
    claim: Claim
    constants: dict[str, Any] = Field(
        {}, description="Values of the setting that all tables share."
    )
    tables: Annotated[dict[str, Table], Named] = Field(
        min_length=1,
        description="A published table, or a part of one -> how it was run, as far as the paper "
        "reports it.",
    )
    only_tables: list[str] = Field(
        [], min_length=1, description="The tables to search for; all by default."
    )
    methods: Annotated[dict[str, Column], Named] = Field(
        min_length=2, description="The tables' columns."
    )
    choices: Annotated[dict[str, Choice], Named] = Field(
        min_length=1, description="The choices that the paper leaves open."
    )
    draw: Draw
    search: Optimizer
    common: Optimizer | None = Field(
        None,
        description="How one protocol of all tables is searched; by default as the table with the "
        "fewest trials.",
    )
    in_all: bool = Field(
        description="Whether `all` runs the search and the page shows it; if not, only `protocols` "
        "runs it."
    )
    presets: dict[str, dict[str, Any]] = Field(
        description="Preset -> what it changes. A preset that is not listed has no search."
    )

    @model_validator(mode="after")
    def _has_the_values_of_first_trials(self) -> Self:
        for name, text in (pair for t in self.tables.values() for pair in t.first_trial.items()):
            if name in self.choices:
                self.choices[name].tried(text)
        return self

    @property
    def targets(self) -> dict[str, list[str]]:
        """The tables of each target: each table alone, then all with one common protocol."""
        alone = {name: [name] for name in self.tables}
        return alone | ({COMMON: list(self.tables)} if len(alone) > 1 else {})

    def choices_of(self, table: str) -> list[Choice]:
        """Return the choices that a table depends on."""
        return [choice for choice in self.choices.values() if choice.concerns(table)]

    def data(self, table: str) -> list[tuple[str, str]]:
        """Return the pairs of a data set and an embedding that a table's protocols need."""
        values = {name: [value] for name, value in self.tables[table].setting.items()}
        for choice in self.choices_of(table):
            if choice.setting:
                values[choice.setting] = [v for value in choice.values for v in value.examples]
        return list(product(values.get("dataset", ()), values.get("embedding", ())))

    def filled_by(self, choice: Choice) -> dict[str, str]:
        """Return the methods that a choice changes, with the parameter that it fills in."""
        return {
            name: choice.methods[key]
            for name, method in self.methods.items()
            for key in (method.source, name)
            if key in choice.methods
        }

    def searched_rows(self, table: str) -> list[Any]:
        """Return the rows that the optimiser sees. The others are held out."""
        own = self.tables[table]
        return own.seen or own.rows[::2]

    def first_trial(self, tables: Collection[str]) -> dict[str, str | float]:
        """Return the optimiser's parameters of a table's first trial; none for several tables."""
        if len(tables) > 1:
            return {}
        [table] = tables
        own = self.tables[table].first_trial
        return {name: self.choices[name].tried(text) for name, text in own.items()}

    def search_of(self, tables: Collection[str]) -> Optimizer:
        """Return how a table, or all of them together, is searched."""
        if self.common and len(tables) > 1:
            return self.common
        searches = [self.tables[table].search or self.search for table in tables]
        return min(searches, key=lambda search: search.trials)

    def drawn_cells(self, table: str) -> list[tuple[Any, int]]:
        """Return the rows and replications that drawn protocols run."""
        own = self.tables[table]
        return list(product(own.rows, range(own.drawn or self.draw.replications)))

    def cells(self, kind: str, tables: Collection[str]) -> dict[str, list[tuple[Any, int]]]:
        """Return the rows and replications of a kind of runs that are not drawn, by table.

        The optimiser sees some of the rows, and each further kind runs on other replications.
        """
        search = self.search_of(tables)
        seen, chose = search.replications, search.replications + search.confirmed
        numbers = {
            TRIED: range(seen),
            CONFIRMED: range(seen, chose),
            COMPARED: range(chose, chose + search.confirmed),
            JUDGED: range(FRESH, FRESH + search.judged),
        }[kind]
        some = kind in (TRIED, CONFIRMED)
        rows = {t: self.searched_rows(t) if some else self.tables[t].rows for t in tables}
        return {table: list(product(own, numbers)) for table, own in rows.items()}

    def in_categories(self, protocols: pd.DataFrame) -> pd.DataFrame:
        """Return protocols with the part of a range in place of a number; empty ones stay so."""
        return protocols.assign(
            **{
                name: [choice.meant(t).category(t) if t else "" for t in protocols[name]]
                for name, choice in self.choices.items()
            }
        )

    def without_idle(self, protocols: pd.DataFrame, tables: Collection[str]) -> pd.DataFrame:
        """Return protocols with empty choices where none of the tables depends on the choice."""
        idle = [name for name, choice in self.choices.items() if not choice.concerns(*tables)]
        return protocols.assign(**dict.fromkeys(idle, ""))

    def for_running(self, table: str) -> Space:
        """Return the part that drawn runs depend on; a change elsewhere reruns none of them."""
        choices, plain = {}, {"weight": 1.0, "natural": True, "reported": False}
        for choice in self.choices_of(table):
            values = {value.name: value.model_copy(update=plain) for value in choice.values}
            choices[choice.name] = choice.model_copy(update={"silent": "", "by_name": values})
        searched = {"title": "", "search": None, "seen": None, "first_trial": {}}
        own = self.tables[table].model_copy(update=searched)
        rest = {"claim": Claim(method=""), "search": None, "common": None, "in_all": False}
        rest |= {"constants": {}, "only_tables": [], "presets": {}}
        return self.model_copy(update={"tables": {table: own}, "choices": choices, **rest})

    def protocol(self, table: str, chosen: Mapping[str, Any]) -> Protocol:
        """Return a protocol of a table from a row of the design: its name, and choices' texts."""
        from fedmix.experiments.base import Method  # compiled code that a plan does not need
        from fedmix.protocols import Protocol

        setting: dict[str, Any] = {}
        parameters = {name: dict(method.parameters) for name, method in self.methods.items()}
        for choice in self.choices_of(table):
            text = chosen[choice.name]
            value = choice.meant(text).value(text)
            if choice.setting:
                setting[choice.setting] = value
            for method, parameter in self.filled_by(choice).items():
                parameters[method][parameter] = value
        methods = [Method(m.name, m.estimator, parameters[m.name]) for m in self.methods.values()]
        return Protocol(chosen["protocol"], setting, methods)


def read_searches(papers: Mapping[str, Paper], preset: str) -> dict[str, Space]:
    """Return the searches that a preset runs, by name.

    A wrong file is an error that lists all that is wrong, and so are two files of one name.
    """
    found: dict[str, Space] = {}
    for paper in papers.values():
        for name, whole in search_documents(paper).items():
            if name in found:
                raise ConfigurationError(
                    f"{whole.place()}: there is another search of this name, of {found[name].paper}"
                )
            if preset in whole.content["presets"]:
                found[name] = space_of(name, paper, whole.under(whole.part("presets", preset)))
    return found


def search_documents(paper: Paper) -> dict[str, Document]:
    """Return the files of a paper's searches by name, checked without a preset's changes."""
    return {
        path.stem: read_checked(path, Space, name=path.stem, paper=paper.key)
        for path in sorted((paper.folder / "protocols").glob("*.yaml"))
    }


def space_of(name: str, paper: Paper, document: Document) -> Space:
    """Return the space that a search's document declares; see :func:`read_searches`."""
    space: Space = validate(document, Space, name=name, paper=paper.key)
    entries = read_document(paper.folder.parents[1] / "methods.yaml").content
    known = {name: {"estimator": name, "label": name} for name in registered_methods()} | entries
    studies = {path.stem: path for path in paper.folder.glob("studies/*.yaml")}
    raise_all(
        f"{place}: {message.format(name)}. {nearest_names(name, there)}"
        for place, message, names, there in _names(space, document, known, studies)
        for name in names
        if name not in there
    )
    tables = {
        name: table.model_copy(update={"setting": {**space.constants, **table.setting}})
        for name, table in space.tables.items()
        if name in (space.only_tables or space.tables)
    }
    methods = {name: _column(column, known) for name, column in space.methods.items()}
    experiment = read_document(studies[space.study]).content["experiment"]
    return space.model_copy(update={"experiment": experiment, "tables": tables, "methods": methods})


def _column(column: Column, known: Mapping[str, Any]) -> Column:
    base = known[column.source]
    changes = {
        "estimator": base["estimator"],
        "label": base["label"] if column.source == column.name else column.name,
        "parameters": {**base.get("parameters", {}), **column.parameters},
    }
    return column.model_copy(update=changes)


def _names(
    space: Space, document: Document, known: Mapping[str, Any], studies: Iterable[str]
) -> Iterator[tuple[Place, str, Iterable[str], Iterable[str]]]:
    """Yield names in a space: where they stand, the message of an unknown one, and those known."""
    place, claim, methods = document.place, space.claim, space.methods
    yield place("study"), "the paper has no study {!r}", [space.study], studies
    for name, column in methods.items():
        yield place("methods", name), "unknown method {!r}", [column.source], known
    yield place("only_tables"), "unknown table {!r}", space.only_tables, space.tables
    for name, table in space.tables.items():
        at, rows = place("tables", name), list(map(str, table.rows))
        yield at, "seen: the table has no row {!r}", map(str, table.seen or ()), rows
        yield at, "first_trial: unknown choice {!r}", table.first_trial, space.choices
    compared = (claim.method, *claim.than, *filter(None, [claim.baseline]))
    yield place("claim"), "{!r} is not run", compared, methods
    run = {*methods, *(column.source for column in methods.values())}
    for name, choice in space.choices.items():
        at = place("choices", name)
        yield at, "unknown table {!r}", choice.tables or (), space.tables
        yield at, "method {!r} is not run", choice.methods, run
