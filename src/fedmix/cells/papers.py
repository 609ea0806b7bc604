"""Papers, and comparisons beyond them; each has a folder of configuration.

``config/papers/<key>`` is about one paper. ``config/beyond/<key>`` is a comparison of our own,
about no paper or about all of them. A new folder adds its studies, tables, figures, claims and
targets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fedmix.configuration import Document, read_document, validate
from fedmix.declarations import Declared, Like

KINDS = ("papers", "beyond")

Color = Literal["vermillion", "blue", "green", "purple", "sky", "orange", "olive", "black", "grey"]


class Look(Declared):
    """How a method, or a variant, is drawn."""

    color: Color = Field(
        description="A colour of a palette that is safe for the common kinds of colour blindness."
    )
    marker: Literal["o", "s", "^", "D", "v", "<", ">", "P", "X", "h", "p", "*"]
    line: Literal["-", "--", "-.", ":"]


class Margin(Declared):
    """A difference of substance: one that somebody who chooses a method would care about."""

    size: float = Field(gt=0, description="In the unit of the frame of cells, not that shown.")
    reason: str = Field(min_length=20, description="Why a smaller difference does not matter.")


class Paper(Declared):
    """A paper, or a comparison of our own, as a whole."""

    #: The folder's name, which its targets, results and published values use too.
    key: SkipJsonSchema[str]
    #: The parent folder; ``"beyond"`` is for comparisons of our own.
    kind: SkipJsonSchema[Literal["papers", "beyond"]]
    #: Has ``studies``, ``tables.yaml``, ``figures.yaml``, ``claims.yaml`` and so on.
    folder: SkipJsonSchema[Path]
    title: str = Field(description="Title with authors and year, as the page shows it.")
    name: str = Field(description="Name in a word or two.")
    about: str = Field(description="Subject, in half a sentence.")
    year: int = Field(9999, description="Year, by which papers are sorted.")
    citation: str = ""
    variants: dict[str, str] = Field(
        {}, description="Variant of its studies -> what it is, in half a sentence."
    )
    margins: Annotated[dict[str, dict[str, Any]], Like(dict[str, Margin])] = Field(
        {}, description="Metric -> the smallest difference of substance, beside the published sd."
    )
    looks: Annotated[dict[str, dict[str, str]], Like(dict[str, Look])] = Field(
        {}, description="Method, or variant -> how it is drawn in every figure."
    )

    @property
    def is_paper(self) -> bool:
        """Whether it is a paper, which has published values and claims."""
        return self.kind == "papers"


def read_papers(config: str | Path = "config") -> dict[str, Paper]:
    """Return every paper by its key, papers first, by year and then by key.

    Raises
    ------
    ConfigurationError
        Names the file and the error in it.
    """
    config = Path(config)
    found = []
    for kind in KINDS:
        for path in sorted((config / kind).glob("*/about.yaml")):
            about = read_document(path, empty={})
            folder = path.parent
            found.append(validate(about, Paper, key=folder.name, kind=kind, folder=folder))
    found.sort(key=lambda paper: (not paper.is_paper, paper.year, paper.key))
    return {paper.key: paper for paper in found}


def part_document(paper: Paper, name: str, kind: Any) -> Document | None:
    """Return one file of a paper's folder, checked; None if the file is missing.

    Parameters
    ----------
    paper : Paper
    name : str
        The file's name without its suffix, such as ``"claims"``.
    kind : type
        The type of what it declares, see :func:`fedmix.configuration.validate`.

    Raises
    ------
    ConfigurationError
        Lists all errors in the file.
    """
    path = paper.folder / f"{name}.yaml"
    if not path.exists():
        return None
    document = read_document(path, empty={})
    validate(document, kind)
    return document
