"""Tables and figures that a person asks for by name, and the numbers that they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any

from fedmix.cells.papers import Paper, part_document, schema_of
from fedmix.configuration import Document, raise_all, validate
from fedmix.errors import ConfigurationError, nearest_names

KINDS = {"tables": "table", "figures": "figure"}  # file of a paper's folder -> kind of its items


@dataclass(frozen=True)
class Item:
    """A table or a figure.

    Parameters
    ----------
    name, kind, paper, title, caption : str
        ``kind`` is ``"table"`` or ``"figure"``.
    study : str
        The study whose results it shows.
    where : mapping
        Values that a setting must have to take part.
    builder : str
        Of a figure: a module of ``fedmix.views.figures``.
    metric : str, mapping or list of these
        What it shows: a metric, or one by method with a ``default``; ``seconds``, ``rounds``,
        ``floats_up`` and ``floats_down`` are metrics, and so are those of
        :mod:`fedmix.cells.summary`.
    methods : sequence of str
        The methods that it shows; all by default.
    row, column : str
        Where a number stands: templates over the cell's columns, and over printed columns.
    unit : str
        Of the numbers shown.
    scale : float, default=1
        Number shown x scale = number measured.
    digits : int, optional
        Decimals shown; in print they bound the rounding error.
    printed : mapping
        The paper's numbers, see :mod:`fedmix.cells.printed`.
    best : {"highest", "lowest", "none"}
        Of its metrics, where nothing printed says it.
    judged : bool, default=True
        False for an item that shows another item's printed numbers beside another metric.
    options : mapping
        How it is laid out.
    """

    name: str
    kind: str
    paper: str
    study: str
    title: str = ""
    caption: str = ""
    builder: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    metric: Any = ()
    methods: Sequence[str] = ()
    row: str = ""
    column: str = ""
    unit: str = ""
    scale: float = 1.0
    digits: int | None = None
    printed: Mapping[str, Any] = field(default_factory=dict)
    best: str = "none"
    judged: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def draws(self) -> str:
        """The study that repeats it with other draws, of what print and run drew once; or none."""
        return self.printed.get("draws", "") if self.judged else ""

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


@dataclass(frozen=True)
class ItemEntry:
    """What the configuration says of an item, with a preset's changes.

    Parameters
    ----------
    paper : Paper
    file : str
        One of :data:`KINDS`.
    document : Document
        Its keys are the parameters of :class:`Item`; ``printed`` may name another item instead.
    """

    paper: Paper
    file: str
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
        If a file is not as its schema says, two items share a name, or an unknown item is changed
        or named.
    """
    entries: dict[str, ItemEntry] = {}
    for paper in papers.values():
        for file in KINDS:
            whole = part_document(paper, file) or Document({}, ())
            for name in whole.content:
                if name in entries:
                    raise ConfigurationError(f"{whole.place(name)}: {name!r} occurs twice")
                entries[name] = ItemEntry(paper, file, whole.part(name))
    for name, change in (changes or {}).items():
        if name not in entries:
            raise ConfigurationError(
                f"{change.place()}: unknown item {name!r}. {nearest_names(name, entries)}"
            )
        entry = replace(entries[name], document=entries[name].document.under(change))
        schema = schema_of(entry.paper, entry.file)
        validate(entry.document, {**schema["additionalProperties"], "$defs": schema["$defs"]})
        entries[name] = entry
    raise_all(_unknown_partners(entries))
    return entries


def _unknown_partners(entries: Mapping[str, ItemEntry]) -> Iterator[str]:
    """Yield items that show the printed numbers of one that has none."""
    known = [n for n, e in entries.items() if isinstance(e.document.content.get("printed"), dict)]
    for entry in entries.values():
        other = entry.document.content.get("printed")
        if isinstance(other, str) and other not in known:
            place = entry.document.place("printed")
            yield f"{place}: no item {other!r} has printed numbers. {nearest_names(other, known)}"


def read_items(
    papers: Mapping[str, Paper], changes: Mapping[str, Document] | None = None
) -> dict[str, Item]:
    """Return every paper's tables and figures by name; parameters as of :func:`item_entries`."""
    entries = item_entries(papers, changes)
    return {name: _item(name, entry, entries) for name, entry in entries.items()}


def _item(name: str, entry: ItemEntry, entries: Mapping[str, ItemEntry]) -> Item:
    content = entry.document.content
    if isinstance(other := content.get("printed"), str):
        content = {
            **content,
            "printed": entries[other].document.content["printed"],
            "judged": False,
        }
    return Item(name=name, kind=KINDS[entry.file], paper=entry.paper.key, **content)


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]
