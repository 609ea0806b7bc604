"""What a paper leaves open; each file in the paper's folder ``protocols`` declares one search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from fedmix.cells.papers import Paper
from fedmix.configuration import Document, raise_all, read_document, validate
from fedmix.declarations import Declared, Named, Unique
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import index as registered_methods

if TYPE_CHECKING:
    from fedmix.protocols import Protocol

#: The target for which all tables share one protocol.
COMMON = "common"

#: Kinds of protocols that test a claim: drawn at random, or near the published values.
DRAWN, NEAR = "drawn", "near"


class Value(Declared):
    """One value of a choice, with a weight that says how natural it is."""

    name: SkipJsonSchema[str]
    given: Any = Field(None, alias="value", description="The value itself; the name by default.")
    units: list[str] = Field(
        [],
        min_length=1,
        description="Units of the experiment that multiply the number.",
    )
    weight: float = Field(gt=0, description="How natural the value is.")

    @property
    def value(self) -> Any:
        """The value itself: what the file gives, else the name; with its units if it has any."""
        value = self.given if "given" in self.model_fields_set else self.name
        return {"value": value, "units": self.units} if self.units else value


class Choice(Declared):
    """One choice that the paper leaves open: a value of the setting, or parameters of methods."""

    name: SkipJsonSchema[str]
    silent: str = Field(description="Where the paper is silent or vague.")
    by_name: Annotated[dict[str, Value], Named] = Field(alias="values", min_length=1)
    setting: str = Field("", description="The value of the setting that the choice fills in.")
    methods: dict[str, str] = Field(
        {},
        description="Method, or the entry that methods vary -> the parameter that the choice fills "
        "in.",
    )
    tables: list[str] | None = Field(
        None, description="The tables that depend on the choice; all by default."
    )

    @model_validator(mode="after")
    def _fills_one(self) -> Self:
        if bool(self.setting) == bool(self.methods):
            raise ValueError("expected either setting or methods: what the choice fills")
        return self

    @property
    def values(self) -> list[Value]:
        """The values, in the order of the file."""
        return list(self.by_name.values())

    def concerns(self, table: str) -> bool:
        """Return whether a table depends on the choice."""
        return self.tables is None or table in self.tables

    def value(self, name: str) -> Any:
        """Return the value of this name."""
        return self.by_name[name].value


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


class Column(Declared):
    """A column of the tables: an entry of `config/methods.yaml`, or a variation of one."""

    name: SkipJsonSchema[str]
    estimator: SkipJsonSchema[str] = ""
    label: SkipJsonSchema[str] = ""
    method: str = Field("", description="The entry that it varies.")
    parameters: dict[str, Any] = Field({}, description="Parameters that no choice changes.")

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

    @property
    def sign(self) -> int:
        """1 where lower is better, otherwise -1."""
        return 1 if self.direction == "below" else -1


class Rung(Declared):
    """One stage of successive halving."""

    protocols: int = Field(
        ge=2, description="Number of protocols that the rung keeps; the first rung draws them."
    )
    replications: int = Field(ge=2)
    block: int = Field(ge=1, description="Number of protocols per job.")
    variations: int = Field(
        0,
        ge=0,
        description="Number of variations of the nearest protocols that the rung adds.",
    )
    rows: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Number of rows to run of each table, from its first row; all by default."
    )

    def blocks(self) -> list[str]:
        """Return each job's range of protocols, such as ``"0-63"``, with the last one included."""
        n = self.protocols + self.variations
        return [f"{a}-{min(a + self.block, n) - 1}" for a in range(0, n, self.block)]


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
    rungs: list[Rung] = Field(
        min_length=2,
        description="Successive halving: fewer and fewer protocols on more and more replications.",
    )
    in_all: bool = Field(
        description="Whether `all` runs the search and the page shows it; if not, only `protocols` "
        "runs it."
    )
    presets: dict[str, dict[str, Any]] = Field(
        description="Preset -> what it changes. A preset that is not listed has no search."
    )

    @property
    def targets(self) -> dict[str, list[str]]:
        """The tables of each target: each table alone, then all with one common protocol."""
        alone = {name: [name] for name in self.tables}
        return alone | ({COMMON: list(self.tables)} if len(alone) > 1 else {})

    def sources(self, target: str) -> list[str]:
        """Return the targets whose runs count for a target: itself, and the common one."""
        return [target, *({COMMON} & {*self.targets} - {target})]

    def choices_of(self, table: str) -> list[Choice]:
        """Return the choices that a table depends on."""
        return [choice for choice in self.choices.values() if choice.concerns(table)]

    def data(self, table: str) -> list[tuple[str, str]]:
        """Return the pairs of a data set and an embedding that a table's protocols need."""
        values = {name: [value] for name, value in self.tables[table].setting.items()}
        for choice in self.choices_of(table):
            if choice.setting:
                values[choice.setting] = [value.value for value in choice.values]
        return list(product(values.get("dataset", ()), values.get("embedding", ())))

    def filled_by(self, choice: Choice) -> dict[str, str]:
        """Return the methods that a choice changes, with the parameter that it fills in."""
        found = {}
        for name, method in self.methods.items():
            for key in (method.source, name):
                if key in choice.methods:
                    found[name] = choice.methods[key]
        return found

    def cells(self, table: str, rung: int) -> list[tuple[Any, int]]:
        """Return the pairs of row and replication that a rung runs and no earlier rung has run."""
        done = {cell for earlier in range(rung) for cell in self.grid(table, earlier)}
        return [cell for cell in self.grid(table, rung) if cell not in done]

    def grid(self, table: str, rung: int) -> list[tuple[Any, int]]:
        """Return all pairs of row and replication of a rung."""
        rows = self.tables[table].rows[: self.rungs[rung].rows]
        return [(n, r) for r in range(self.rungs[rung].replications) for n in rows]

    def for_running(self, table: str) -> Space:
        """Return the part that a table's runs depend on; a change elsewhere reruns none of them."""
        choices = {choice.name: _for_running(choice) for choice in self.choices_of(table)}
        own = self.tables[table].model_copy(update={"title": "", "rows": []})
        rest = {"claim": Claim(method=""), "rungs": [], "in_all": False}
        rest |= {"constants": {}, "only_tables": [], "presets": {}}
        return self.model_copy(update={"tables": {table: own}, "choices": choices, **rest})

    def protocol(self, table: str, chosen: Mapping[str, Any]) -> Protocol:
        """Return a protocol of a table.

        Parameters
        ----------
        table : str
        chosen : mapping
            A row of the design: the name under ``protocol``, and a value's name under each choice.
        """
        from fedmix.experiments.base import Method  # compiled code that a plan does not need
        from fedmix.protocols import Protocol

        setting: dict[str, Any] = {}
        parameters = {name: dict(method.parameters) for name, method in self.methods.items()}
        for choice in self.choices_of(table):
            value = choice.value(chosen[choice.name])
            if choice.setting:
                setting[choice.setting] = value
            for method, parameter in self.filled_by(choice).items():
                parameters[method][parameter] = value
        methods = [Method(m.name, m.estimator, parameters[m.name]) for m in self.methods.values()]
        return Protocol(chosen["protocol"], setting, methods)


def _for_running(choice: Choice) -> Choice:
    values = {
        name: value.model_copy(update={"weight": 1.0}) for name, value in choice.by_name.items()
    }
    return choice.model_copy(update={"silent": "", "by_name": values})


def read_searches(papers: Mapping[str, Paper], preset: str) -> dict[str, Space]:
    """Return the searches that a preset runs, by name.

    Raises
    ------
    ConfigurationError
        If a file is wrong (the message lists all errors), or two files have the same name.
    """
    found: dict[str, Space] = {}
    for paper in papers.values():
        for name, whole in search_documents(paper).items():
            if name in found:
                raise ConfigurationError(
                    f"{whole.place()}: there is another search of this name, of {found[name].paper}"
                )
            if preset in whole.content["presets"]:
                found[name] = space_of(name, paper, in_preset(whole, preset))
    return found


def search_documents(paper: Paper) -> dict[str, Document]:
    """Return the files of a paper's searches by name, checked without a preset's changes."""
    paths = sorted((paper.folder / "protocols").glob("*.yaml"))
    documents = {path.stem: read_document(path, empty={}) for path in paths}
    for name, document in documents.items():
        validate(document, Space, name=name, paper=paper.key)
    return documents


def in_preset(whole: Document, preset: str) -> Document:
    """Return a search's document with the changes of one of its presets."""
    return whole.under(whole.part("presets", preset))


def space_of(name: str, paper: Paper, document: Document) -> Space:
    """Return the space that a search's document declares; see :func:`read_searches`."""
    space: Space = validate(document, Space, name=name, paper=paper.key)
    entries = read_document(paper.folder.parents[1] / "methods.yaml").content
    known = {name: {"estimator": name, "label": name} for name in registered_methods()} | entries
    studies = {path.stem: path for path in paper.folder.glob("studies/*.yaml")}
    raise_all(_errors(space, document, known, studies))
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


def _errors(
    space: Space, document: Document, known: Mapping[str, Any], studies: Iterable[str]
) -> Iterator[str]:
    """Yield an error for each unknown name in a space, and for rungs that grow."""
    if space.study not in studies:
        hint = nearest_names(space.study, studies)
        yield f"{document.place('study')}: the paper has no study {space.study!r}. {hint}"
    for name, column in space.methods.items():
        if column.source not in known:
            hint = nearest_names(column.source, known)
            yield f"{document.place('methods', name)}: unknown method {column.source!r}. {hint}"
    for table in space.only_tables:
        if table not in space.tables:
            hint = nearest_names(table, space.tables)
            yield f"{document.place('only_tables')}: unknown table {table!r}. {hint}"
    for method in (space.claim.method, *space.claim.than):
        if method not in space.methods:
            hint = nearest_names(method, space.methods)
            yield f"{document.place('claim')}: {method!r} is not run. {hint}"
    run = {*space.methods, *(column.source for column in space.methods.values())}
    for name, choice in space.choices.items():
        place = document.place("choices", name)
        for table in choice.tables or ():
            if table not in space.tables:
                yield f"{place}: unknown table {table!r}. {nearest_names(table, space.tables)}"
        for method in choice.methods:
            if method not in run:
                yield f"{place}: method {method!r} is not run. {nearest_names(method, run)}"
    sizes = [rung.protocols for rung in space.rungs]
    if sizes != sorted(sizes, reverse=True):
        yield f"{document.place('rungs')}: the numbers of protocols {sizes} must not rise."
