"""What a paper leaves open, as the files of its folder ``protocols`` declare it, one a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from fedmix.cells.papers import Paper, part_documents, schema_of
from fedmix.configuration import Document, raise_all, read_document, validate
from fedmix.errors import ConfigurationError, nearest_names
from fedmix.methods import index as registered_methods

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
        method, or what methods vary -> the parameter that it fills.
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
    """A printed table or a part of one, such as one data set's.

    Parameters
    ----------
    name, title : str
    setting : mapping
        Our setting's values.
    rows : sequence
        What sets its rows apart.
    item : str
        The entry of ``tables.yaml`` that shows it.
    """

    name: str
    title: str
    setting: Mapping[str, Any]
    rows: Sequence[Any]
    item: str


@dataclass(frozen=True)
class Column:
    """A column of the tables: a method.

    Parameters
    ----------
    name : str
    source : str
        The entry of ``config/methods.yaml`` that it is, or varies.
    estimator, label : str
        The registered class, and its name in print.
    parameters : mapping
        Those that no choice changes.
    """

    name: str
    source: str
    estimator: str
    label: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """What the tables show of a method: that it lies below the others, or above.

    Parameters
    ----------
    method : str
    direction : {"below", "above"}, default="below"
    than : sequence of str, optional
        The methods that it is held against; by default all others.
    """

    method: str
    direction: str = "below"
    than: Sequence[str] = ()

    @property
    def sign(self) -> int:
        """1 where lower is better, otherwise -1."""
        return 1 if self.direction == "below" else -1


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
    """Everything that a file of a paper's ``protocols`` says, for one preset.

    Parameters
    ----------
    name, paper : str
        The file's name, which results bear, and the paper's key.
    experiment, study : str
        The study that the tables show, a key of the random streams, and that study's experiment.
    row : str
        The setting whose values are the rows of the tables.
    claim : Claim
    methods : mapping of str to Column
    tables : mapping of str to Table
    choices : mapping of str to Choice
    rungs : sequence of Rung
    in_all : bool
        Whether the target `all` runs it and the page shows it.
    """

    name: str
    paper: str
    experiment: str
    study: str
    row: str
    claim: Claim
    methods: Mapping[str, Column]
    tables: Mapping[str, Table]
    choices: Mapping[str, Choice]
    rungs: Sequence[Rung]
    in_all: bool = False

    @property
    def targets(self) -> dict[str, list[str]]:
        """What is searched for: each table by itself, then all with one common protocol."""
        alone = {name: [name] for name in self.tables}
        return alone | ({COMMON: list(self.tables)} if len(alone) > 1 else {})

    def sources(self, target: str) -> list[str]:
        """Return the targets whose runs a target is judged by: a table's, also the common ones."""
        return [target, *({COMMON} & {*self.targets} - {target})]

    def choices_of(self, table: str) -> list[Choice]:
        """Return the choices that a table depends on."""
        return [choice for choice in self.choices.values() if choice.concerns(table)]

    def data(self, table: str) -> list[tuple[str, str]]:
        """Return the data sets that a table's protocols work on, each with each embedding."""
        values = {name: [value] for name, value in self.tables[table].setting.items()}
        for choice in self.choices_of(table):
            if choice.setting:
                values[choice.setting] = [value.value for value in choice.values]
        return list(product(values.get("dataset", ()), values.get("embedding", ())))

    def filled_by(self, choice: Choice) -> dict[str, str]:
        """Return the methods that a choice concerns, with the parameter that it fills."""
        found = {}
        for name, method in self.methods.items():
            for key in (method.source, name):
                if key in choice.methods:
                    found[name] = choice.methods[key]
        return found

    def cells(self, table: str, rung: int) -> list[tuple[Any, int]]:
        """Return the pairs of a row's value and a replication that a rung is the first to run."""
        done = {cell for earlier in range(rung) for cell in self.grid(table, earlier)}
        return [cell for cell in self.grid(table, rung) if cell not in done]

    def grid(self, table: str, rung: int) -> list[tuple[Any, int]]:
        """Return all pairs of a row's value and a replication of a rung."""
        rows = self.tables[table].rows[: self.rungs[rung].rows]
        return [(n, r) for r in range(self.rungs[rung].replications) for n in rows]

    def for_running(self, table: str) -> Space:
        """Return only what a table's runs depend on: a change of the rest reruns none of them."""
        choices = {
            choice.name: replace(
                choice, silent="", values=[replace(value, weight=1.0) for value in choice.values]
            )
            for choice in self.choices_of(table)
        }
        own = replace(self.tables[table], title="", rows=())
        return replace(
            self, claim=Claim(""), tables={table: own}, choices=choices, rungs=(), in_all=False
        )

    def protocol(self, table: str, chosen: Mapping[str, Any]) -> Protocol:
        """Return a protocol of a table.

        Parameters
        ----------
        table : str
        chosen : mapping
            A row of the design: ``protocol``, its name, and the name of each choice's value.
        """
        from fedmix.experiments.base import Method  # compiled code, which a plan needs not
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


def read_searches(papers: Mapping[str, Paper], preset: str) -> dict[str, Space]:
    """Return what papers leave open, by the search's name: those that a preset runs.

    Raises
    ------
    ConfigurationError
        Listing all that is wrong in a file, or if two files bear one name.
    """
    found: dict[str, Space] = {}
    for paper in papers.values():
        for name, whole in part_documents(paper, "protocols").items():
            if name in found:
                raise ConfigurationError(
                    f"{whole.place()}: there is another search of this name, of {found[name].paper}"
                )
            if preset in whole.content["presets"]:
                found[name] = _space(name, paper, whole.under(whole.part("presets", preset)))
    return found


def _space(name: str, paper: Paper, whole: Document) -> Space:
    validate(whole, schema_of(paper, "protocols"))
    entries = read_document(paper.folder.parents[1] / "methods.yaml").content
    known = {name: {"estimator": name, "label": name} for name in registered_methods()} | entries
    studies = {path.stem: path for path in paper.folder.glob("studies/*.yaml")}
    raise_all(_errors(whole, known, studies))
    document = whole.content
    tables = document.get("only_tables", document["tables"])
    common = document.get("constants", {})
    return Space(
        name=name,
        paper=paper.key,
        experiment=read_document(studies[document["study"]]).content["experiment"],
        study=document["study"],
        row=document["row"],
        claim=Claim(**document["claim"]),
        methods={
            method: _column(method, entry, known) for method, entry in document["methods"].items()
        },
        tables={
            name: Table(name, **{"item": name, **entry, "setting": {**common, **entry["setting"]}})
            for name, entry in document["tables"].items()
            if name in tables
        },
        choices={name: _choice(name, entry) for name, entry in document["choices"].items()},
        rungs=[Rung(**entry) for entry in document["rungs"]],
        in_all=document["in_all"],
    )


def _column(name: str, entry: Mapping[str, Any], known: Mapping[str, Any]) -> Column:
    source = entry.get("method", name)
    base = known[source]
    parameters = {**base.get("parameters", {}), **entry.get("parameters", {})}
    return Column(
        name=name,
        source=source,
        estimator=base["estimator"],
        label=base["label"] if source == name else name,
        parameters={key: _filled(given, given) for key, given in parameters.items()},
    )


def _choice(name: str, entry: Mapping[str, Any]) -> Choice:
    values = [
        Value(label, _filled(given, label), given["weight"])
        for label, given in entry["values"].items()
    ]
    return Choice(name, **{**entry, "values": values})


def _filled(given: Any, label: Any) -> Any:
    """Return what is filled in: a plain value, the label, or a number with its units."""
    if not isinstance(given, Mapping):
        return given
    value = given.get("value", label)
    return {"value": value, "units": given["units"]} if "units" in given else value


def _errors(document: Document, known: Mapping[str, Any], studies: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong that a schema cannot see."""
    content = document.content
    tables, run = content["tables"], content["methods"]
    sources = {name: entry.get("method", name) for name, entry in run.items()}
    if content["study"] not in studies:
        hint = nearest_names(content["study"], studies)
        yield f"{document.place('study')}: the paper has no study {content['study']!r}. {hint}"
    for method, source in sources.items():
        if source not in known:
            hint = nearest_names(source, known)
            yield f"{document.place('methods', method)}: unknown method {source!r}. {hint}"
    for table in content.get("only_tables", ()):
        if table not in tables:
            hint = nearest_names(table, tables)
            yield f"{document.place('only_tables')}: unknown table {table!r}. {hint}"
    claim = content["claim"]
    for method in (claim["method"], *claim.get("than", ())):
        if method not in run:
            hint = nearest_names(method, run)
            yield f"{document.place('claim')}: {method!r} is not run. {hint}"
    for name, choice in content["choices"].items():
        place = document.place("choices", name)
        for table in choice.get("tables", ()):
            if table not in tables:
                yield f"{place}: unknown table {table!r}. {nearest_names(table, tables)}"
        for method in choice.get("methods", {}):
            if method not in {*run, *sources.values()}:
                yield f"{place}: method {method!r} is not run. {nearest_names(method, run)}"
    sizes = [rung["protocols"] for rung in content["rungs"]]
    if sizes != sorted(sizes, reverse=True):
        yield f"{document.place('rungs')}: the numbers of protocols {sizes} must not rise."
