"""Write the pages that follow from the code: the methods and the API."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import fedmix
from fedmix import methods
from fedmix.configuration import read_yaml
from fedmix.methods.capabilities import capabilities_of

GALLERY, PAGES = (Path(__file__).with_name(name) for name in ("gallery", "methods"))
METHODS = Path(__file__).parents[1] / "config" / "methods.yaml"
_API = {
    "Data of many clients": [
        "fedmix.clients",
        "fedmix.preprocessing",
        "fedmix.partition",
        "fedmix.data",
    ],
    "Comparisons and pictures": [
        "fedmix.comparison",
        "fedmix.plot",
        "fedmix.plot.points",
        "fedmix.plot.scores",
    ],
    "Parts of the methods": [
        "fedmix.families",
        "fedmix.initialization",
        "fedmix.alignment",
        "fedmix.methods.base",
        "fedmix.methods.likelihood",
        "fedmix.methods.constraints",
        "fedmix.methods.capabilities",
        "fedmix.methods.federated_mixture",
        "fedmix.plugins",
        "fedmix.methods.clustered_regression",
    ],
    "Scores and theory": [
        "fedmix.selection",
        "fedmix.metrics.clustering",
        "fedmix.metrics.matching",
        "fedmix.metrics.normality",
        "fedmix.theory",
    ],
    "Embeddings and simulations": ["fedmix.embed.tsne", "fedmix.embed.linear", "fedmix.simulate"],
    "Cells and verdicts": [
        "fedmix.cells.frame",
        "fedmix.cells.verdicts",
        "fedmix.cells.equivalence",
        "fedmix.cells.calibration",
        "fedmix.cells.claims",
        "fedmix.cells.papers",
    ],
    "The pipeline": [
        "fedmix.experiments.base",
        "fedmix.experiments.runner",
        "fedmix.pipeline.configured",
        "fedmix.pipeline.request",
        "fedmix.pipeline.plan",
        "fedmix.pipeline.explain",
        "fedmix.streams",
        "fedmix.storage",
        "fedmix.errors",
    ],
}


def methods_page() -> str:
    """Return a table of all methods, with links to their pages."""
    labels: dict[str, list[str]] = {}
    for entry in read_yaml(METHODS).values():
        labels.setdefault(entry["estimator"], []).append(entry["label"])
    parts = [
        "# Methods",
        "Generated from the registered classes. [Choose a method](../choose_a_method.md) says when "
        "to use which. Tables and figures have short names for some. K clients have n_k points "
        "with d features each; R is the number of components, or clusters.",
    ]
    for title, names in _by_data().items():
        table = ["| method | in tables | what it does | receives |", "|---|---|---|---|"]
        for name in names:
            shown = ", ".join(labels.get(name, [name]))
            summary = (inspect.getdoc(methods.get(name)) or "").partition("\n\n")[0]
            needs = ", ".join(f"`{need}`" for need in capabilities_of(name).needs) or "nothing"
            summary = " ".join(summary.split())
            table.append(f"| [{name}]({name}.md) | {shown} | {summary} | {needs} |")
        parts += [f"## {title}", "\n".join(table)]
    return page(parts)


def _by_data() -> dict[str, list[str]]:
    """Return the methods by the data that they take."""
    titles = {
        ("gaussian",): "Points",
        ("gaussian", "regression"): "Points, or points with responses",
        ("regression",): "Points with responses",
    }
    groups: dict[str, list[str]] = {title: [] for title in titles.values()}
    for name in sorted(methods.index()):
        groups[titles[capabilities_of(name).families]].append(name)
    return groups


def method_reference(name: str) -> str:
    """Return what the built documentation adds to a method's page: its signature and docstring.

    The page of all methods gets its contents.
    """
    if name == "README":
        pages = sorted(path.stem for path in PAGES.glob("*.md") if path.stem != name)
        return "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"
    own = capabilities_of(name)
    facts = [
        f"- data: {', '.join(own.families)}",
        f"- labels: one for each {own.level}",
        f"- receives: {', '.join(own.needs) or 'nothing'}",
        f"- start shared with other methods: {own.starts_from or 'none'}",
    ]
    shown = [path for path in sorted(GALLERY.glob("plot_*.py")) if _mentions(path, name)]
    gallery = "\n   ".join(f"gallery/{path.name}" for path in shown)
    examples = f"```{{eval-rst}}\n.. minigallery::\n\n   {gallery}\n```"
    directive = f".. autoclass:: {methods.index()[name]}.{name}\n   :members:"
    block = f"```{{eval-rst}}\n{directive}\n```"
    return "\n" + page(["## Reference", "\n".join(facts), block, "## Examples", examples])


def _mentions(example: Path, name: str) -> bool:
    return re.search(rf"\b{name}\b", example.read_text(encoding="utf-8")) is not None


def api_page() -> str:
    """Return tables of all other classes and functions; Sphinx writes a page for each."""
    intro = (inspect.getdoc(fedmix) or "").partition("\n\n")[0]
    parts = ["API reference\n=============", intro]
    for heading, modules in _API.items():
        parts.append(f"{heading}\n{'-' * len(heading)}")
        for module in (part for name in modules for part in _submodules(name) or [name]):
            listed = "\n".join(f"   {name}" for name in _public(module))
            title = f"{module}\n{'~' * len(module)}"
            table = f".. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{listed}"
            parts += [title, table]
    return page(parts)


def _public(module: str) -> list[str]:
    """Return the classes and functions that a module is there for, by their full names."""
    loaded = importlib.import_module(module)
    named = {name: getattr(loaded, name) for name in getattr(loaded, "__all__", vars(loaded))}
    return [
        f"{module}.{name}"
        for name, value in named.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and not name.startswith("_")
        and value.__module__.startswith(module)
    ]


def _submodules(name: str) -> list[str]:
    """Return the modules of a package that only gathers names; none for any other module."""
    if name not in {"fedmix.partition", "fedmix.simulate"}:
        return []
    folder = Path(fedmix.__file__).parent / name.rpartition(".")[2]
    return [f"{name}.{module.name}" for module in pkgutil.iter_modules([str(folder)])]


def page(parts: list[str]) -> str:
    """Join the parts of a page."""
    return "\n\n".join(part for part in parts if part) + "\n"
