"""What a paper leaves open, as its ``protocols.yaml`` declares it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fedmix import methods as method_registry
from fedmix.cells.papers import Paper, part_document, schema_of
from fedmix.configuration import Document, raise_all, validate
from fedmix.errors import nearest_names

if TYPE_CHECKING:
    from fedmix.protocols import Protocol

#: The target that all tables share one protocol for.
COMMON = "common"


@dataclass(frozen=True)
class Value:
    """One value of a choice: what is filled in, and how natural it is."""

    name: str
    value: Any
    weight: float


@dataclass(frozen=True)
class Choice:
    """One thing that the paper leaves open.

    Parameters
    ----------
    name, silent : str
        ``silent`` says where the paper is silent or vague.
    values : sequence of Value
    setting : str, optional
        The setting's value that it fills; otherwise
    methods : mapping of str to str
        method -> the parameter that it fills.
    tables : sequence of str, optional
        The tables that it concerns; by default all.
    """

    name: str
    silent: str
    values: Sequence[Value]
    setting: str | None = None
    methods: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[str] | None = None

    def concerns(self, table: str) -> bool:
        """Return whether a table depends on it."""
        return self.tables is None or table in self.tables

    def value(self, name: str) -> Any:
        """Return what a value's name fills in."""
        return next(value.value for value in self.values if value.name == name)


@dataclass(frozen=True)
class Table:
    """A printed table, by our setting's values and its rows' numbers of contaminated clients."""

    name: str
    title: str
    setting: Mapping[str, Any]
    n_contaminated: Sequence[int]


@dataclass(frozen=True)
class Rung:
    """One stage of successive halving.

    Parameters
    ----------
    protocols : int
        How many of the rung before it keeps; of the first rung, how many are drawn.
    replications : int
    block : int
        Protocols a job.
    rows : int, optional
        Only so many first rows of each table; all by default.
    variations : int, default=0
        Variations of the nearest protocols that it runs as well.
    """

    protocols: int
    replications: int
    block: int
    rows: int | None = None
    variations: int = 0

    def blocks(self) -> list[str]:
        """Return the jobs' ranges of protocols, such as ``"0-63"``, last one included."""
        n = self.protocols + self.variations
        return [f"{a}-{min(a + self.block, n) - 1}" for a in range(0, n, self.block)]


@dataclass(frozen=True)
class Space:
    """Everything that ``protocols.yaml`` says, for one preset.

    Parameters
    ----------
    paper : str
        The paper's key.
    study, method : str
        The study that the tables show, and the method whose lead is the claim.
    methods : mapping of str to mapping
        Method -> parameters that no choice changes.
    tables : mapping of str to Table
    choices : mapping of str to Choice
    rungs : sequence of Rung
    in_all : bool
        Whether the target `all` runs it and the page shows it.
    """

    paper: str
    study: str
    method: str
    methods: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Table]
    choices: Mapping[str, Choice]
    rungs: Sequence[Rung]
    in_all: bool = False

    @property
    def targets(self) -> dict[str, list[str]]:
        """What is searched for: each table by itself, then all with one common protocol."""
        alone = {name: [name] for name in self.tables}
        return alone | ({COMMON: list(self.tables)} if len(alone) > 1 else {})

    def choices_of(self, table: str) -> list[Choice]:
        """Return the choices that a table depends on."""
        return [choice for choice in self.choices.values() if choice.concerns(table)]

    def embeddings(self, table: str) -> list[str]:
        """Return the embeddings that a table's protocols work on."""
        for choice in self.choices_of(table):
            if choice.setting == "embedding":
                return [value.value for value in choice.values]
        return [self.tables[table].setting["embedding"]]

    def cells(self, table: str, rung: int) -> list[tuple[int, int]]:
        """Return the pairs (n_contaminated, replication) that a rung is the first to run."""
        done = {cell for earlier in range(rung) for cell in self.grid(table, earlier)}
        return [cell for cell in self.grid(table, rung) if cell not in done]

    def grid(self, table: str, rung: int) -> list[tuple[int, int]]:
        """Return all pairs (n_contaminated, replication) of a rung."""
        rows = self.tables[table].n_contaminated[: self.rungs[rung].rows]
        return [(n, r) for r in range(self.rungs[rung].replications) for n in rows]

    def for_running(self, table: str) -> Space:
        """Return only what a table's runs depend on: a change of the rest reruns none of them."""
        choices = {
            choice.name: replace(
                choice, silent="", values=[replace(value, weight=1.0) for value in choice.values]
            )
            for choice in self.choices_of(table)
        }
        own = replace(self.tables[table], title="", n_contaminated=())
        return replace(self, tables={table: own}, choices=choices, rungs=(), in_all=False)

    def protocol(self, table: str, chosen: Mapping[str, Any]) -> Protocol:
        """Return a protocol of a table.

        Parameters
        ----------
        table : str
        chosen : mapping
            A row of the design: ``protocol``, its name, and the name of each choice's value.
        """
        from fedmix.protocols import Protocol  # compiled code, which a plan needs not

        setting: dict[str, Any] = {}
        parameters = {method: dict(base) for method, base in self.methods.items()}
        for choice in self.choices_of(table):
            value = choice.value(chosen[choice.name])
            if choice.setting:
                setting[choice.setting] = value
            for method, parameter in choice.methods.items():
                parameters[method][parameter] = value
        return Protocol(chosen["protocol"], setting, parameters)


def read_space(paper: Paper, preset: str) -> Space | None:
    """Return what a paper leaves open, or None if it says nothing of that or not in this preset.

    Raises
    ------
    ConfigurationError
        Listing all that is wrong in ``protocols.yaml``.
    """
    whole = part_document(paper, "protocols")
    if whole is None or preset not in whole.content["presets"]:
        return None
    changed = whole.under(whole.part("presets", preset))
    validate(changed, schema_of(paper, "protocols"))
    raise_all(_errors(changed))
    document = changed.content
    tables = document.get("only_tables", document["tables"])
    common = document.get("constants", {})
    return Space(
        paper=paper.key,
        study=document["study"],
        method=document["method"],
        methods={
            method: {name: _filled(given, given) for name, given in parameters.items()}
            for method, parameters in document["methods"].items()
        },
        tables={
            name: Table(name, **{**entry, "setting": {**common, **entry["setting"]}})
            for name, entry in document["tables"].items()
            if name in tables
        },
        choices={name: _choice(name, entry) for name, entry in document["choices"].items()},
        rungs=[Rung(**entry) for entry in document["rungs"]],
        in_all=document["in_all"],
    )


def _choice(name: str, entry: Mapping[str, Any]) -> Choice:
    values = [
        Value(label, _filled(given, label), given["weight"])
        for label, given in entry["values"].items()
    ]
    return Choice(name, **{**entry, "values": values})


def _filled(given: Any, label: Any) -> Any:
    """Return what is filled in: a plain value, the label, or a pair of a number and its units."""
    if not isinstance(given, Mapping):
        return given
    value = given.get("value", label)
    return (value, tuple(given["units"])) if "units" in given else value


def _errors(document: Document) -> Iterator[str]:
    """Yield what is wrong that a schema cannot see."""
    content = document.content
    tables, run = content["tables"], content["methods"]
    known = method_registry.index()
    if content["method"] not in run:
        hint = nearest_names(content["method"], run)
        yield f"{document.place('method')}: {content['method']!r} is not run. {hint}"
    for method in run:
        if method not in known:
            hint = nearest_names(method, known)
            yield f"{document.place('methods', method)}: unknown method {method!r}. {hint}"
    for table in content.get("only_tables", ()):
        if table not in tables:
            hint = nearest_names(table, tables)
            yield f"{document.place('only_tables')}: unknown table {table!r}. {hint}"
    for name, choice in content["choices"].items():
        place = document.place("choices", name)
        for table in choice.get("tables", ()):
            if table not in tables:
                yield f"{place}: unknown table {table!r}. {nearest_names(table, tables)}"
        for method in choice.get("methods", {}):
            if method not in run:
                yield f"{place}: method {method!r} is not run. {nearest_names(method, run)}"
    sizes = [rung["protocols"] for rung in content["rungs"]]
    if sizes != sorted(sizes, reverse=True):
        yield f"{document.place('rungs')}: the numbers of protocols {sizes} must not rise."
