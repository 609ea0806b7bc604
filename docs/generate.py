"""Write the pages that follow from the package: models, registries, studies, docstrings.

Run as a program it writes the schemas of the configuration, ``python docs/generate.py``.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fedmix
from fedmix import methods
from fedmix.cells.items import Figure, Table
from fedmix.cells.papers import Claim, Discrepancy, Paper
from fedmix.cells.protocols.space import Space
from fedmix.configuration import read_yaml
from fedmix.data.registry import Registry
from fedmix.declarations import json_schema
from fedmix.experiments import settings as experiments
from fedmix.methods.capabilities import capabilities_of
from fedmix.pipeline.options import Options
from fedmix.pipeline.studies import MethodEntry, PresetFile, StudyFile

ROOT = Path(__file__).parents[1]
#: Schema's name -> the files that it is for, and what they declare.
SCHEMAS: dict[str, tuple[str, Any]] = {
    "config": ("`config/config.yaml`", Options),
    "preset": (
        "`config/presets/*.yaml` and `config/papers/<paper>/presets/*.yaml`",
        PresetFile,
    ),
    "about": ("`config/papers/<paper>/about.yaml`", Paper),
    "study": ("`config/papers/<paper>/studies/*.yaml`", StudyFile),
    "methods": ("`config/methods.yaml`", dict[str, MethodEntry]),
    "datasets": ("`config/datasets.yaml`", Registry),
    "tables": ("`config/papers/<paper>/tables.yaml`", dict[str, Table]),
    "figures": ("`config/papers/<paper>/figures.yaml`", dict[str, Figure]),
    "claims": ("`config/papers/<paper>/claims.yaml`", list[Claim]),
    "discrepancies": ("`config/papers/<paper>/discrepancies.yaml`", list[Discrepancy]),
    "protocols": ("`config/papers/<paper>/protocols/*.yaml`", Space),
}
# scikit-learn adds these to every estimator; nothing here routes metadata.
_NO_ROUTING = (
    "   :exclude-members: set_fit_request, set_predict_request, set_predict_proba_request, "
    "set_score_request, set_transform_request\n"
)
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
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
        "fedmix.plot.mixtures",
        "fedmix.plot.lines",
        "fedmix.plot.rankings",
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
        "fedmix.experiments",
        "fedmix.experiments.base",
        "fedmix.experiments.runner",
        "fedmix.pipeline.options",
        "fedmix.pipeline.request",
        "fedmix.pipeline.plan",
        "fedmix.pipeline.explain",
        "fedmix.streams",
        "fedmix.storage",
        "fedmix.errors",
    ],
}


def write_pages(folder: Path) -> None:
    """Write all generated pages into a folder."""
    pages = {
        "configuration.md": configuration_page(),
        "experiments.md": experiments_page(),
        "datasets.md": datasets_page(),
        "studies.md": studies_page(),
        "methods.md": methods_page(),
        "library.md": notebook_page(ROOT / "docs" / "library.ipynb"),
        "api.md": api_page(),
        "reproduction.md": reproduction_page(ROOT / "docs" / "reproduction"),
    }
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def write_schemas(folder: Path) -> None:
    """Write the JSON schemas of all configuration files, for editors, into a folder."""
    for name, (_, kind) in SCHEMAS.items():
        text = json.dumps(json_schema(kind), indent=1, ensure_ascii=False) + "\n"
        (folder / f"{name}.schema.json").write_text(text, encoding="utf-8")


def configuration_page() -> str:
    """Return a reference of every configuration file, from the models that declare them."""
    parts = [
        "# Configuration reference",
        "Generated from the models that declare the files, as the schemas in `workflow/schemas` "
        "are. Every file is checked when Snakemake starts; all errors are listed at once, with the "
        "nearest valid names.",
    ]
    for files, kind in SCHEMAS.values():
        schema = json_schema(kind)
        lines = [f"## {files}", schema.get("description", ""), *_described(schema, schema, "")]
        parts.append("\n\n".join(filter(None, [*lines[:2], "\n".join(lines[2:])])))
    return _page(parts)


def experiments_page() -> str:
    """Return every experiment's settings and metrics, as they are declared."""
    parts = [
        "# Experiments",
        "Generated from `fedmix.experiments.settings`: what a study's `constants` and `settings` "
        "may hold, and the metrics that claims, tables and figures may name. `seconds` is one of "
        "every experiment.",
    ]
    for name in experiments.names():
        settings, metrics = experiments.declared(name)
        schema = settings.model_json_schema()
        parts += [f"## {name}", schema["description"], "### Settings"]
        parts += ["\n".join(_described(schema, schema, "")), "### Metrics", _listed(metrics)]
        if units := experiments.units_of(name):
            parts += [
                "### Units",
                "A number among a method's parameters may be in these, such as `penalty_scale: "
                "{value: 0.5, units: [spread]}`.",
                _listed(units),
            ]
    return _page(parts)


def _listed(told: Mapping[str, str]) -> str:
    return "\n".join(f"- `{name}`: {text}" for name, text in told.items())


def _described(
    node: Mapping[str, Any], root: Mapping[str, Any], indent: str, above: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield one bullet a key, nested keys below it; a part within itself is not told again."""
    if "$ref" in node:
        if node["$ref"] in above:
            return
        above = (*above, node["$ref"])
        node = _resolved(node, root)
    required = node.get("required", [])
    for key, value in node.get("properties", {}).items():
        own = _resolved(value, root)
        needed = ", required" if key in required else _default(own)
        text = " ".join(str(own.get("description", "")).split())
        yield f"{indent}- `{key}` ({_kind(own, root)}{needed}){': ' + text if text else ''}"
        yield from _described(value, root, indent + "  ", above)
    inner = [node.get("additionalProperties"), node.get("items")]
    for part in [*inner, *node.get("patternProperties", {}).values()]:
        if isinstance(part, Mapping):
            yield from _described(part, root, indent, above)
    told: set[str] = set()
    for form in [*node.get("oneOf", []), *node.get("anyOf", [])]:
        own_indent = indent
        if "discriminator" in node:
            yield f"{indent}- {_tag(form, root, node['discriminator']['propertyName'])}:"
            own_indent += "  "
        lines = [line for line in _described(form, root, own_indent, above) if line not in told]
        told.update(lines)  # what several forms have is described with the first one
        yield from lines


def _tag(form: Mapping[str, Any], root: Mapping[str, Any], key: str) -> str:
    """Return what a key says where a value has one form of several: "if `reader` is `npz`"."""
    kind = _kind(_resolved(form, root)["properties"][key], root)
    return f"if `{key}` is {kind.removeprefix('one of ')}"


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node with what it refers to in place of the reference."""
    if "$ref" not in node:
        return node
    own = {key: value for key, value in node.items() if key != "$ref"}
    return {**root["$defs"][node["$ref"].rpartition("/")[2]], **own}


def _kind(node: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    if "enum" in node:
        return "one of " + ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    forms = [*node.get("oneOf", []), *node.get("anyOf", [])]
    if forms:
        return " or ".join(dict.fromkeys(_kind(_resolved(form, root), root) for form in forms))
    kinds = node.get("type", "object" if "properties" in node else "any")
    words = " or ".join(kinds) if isinstance(kinds, list) else kinds
    if words == "array" and "items" in node:
        words = f"list of {_kind(_resolved(node['items'], root), root)}"
    bounds = [f"{sign} {node[key]}" for key, sign in _BOUNDS.items() if key in node]
    return " ".join([words, " and ".join(bounds)]).rstrip()


def _default(node: Mapping[str, Any]) -> str:
    """Return a default that says something: an empty one, or none, is what a key left out gives."""
    told = node.get("default") not in (None, "", [], {})
    return f", default `{json.dumps(node['default'])}`" if told else ""


def datasets_page() -> str:
    """Return all data sets with sizes, licences, sources and citations."""
    entries = read_yaml(ROOT / "config" / "datasets.yaml")
    table = [
        "| name | points | features | classes | embeddings | licence |",
        "|---|--:|--:|--:|---|---|",
    ]
    for name, entry in entries.items():
        counts = entry.get("class_counts") or entry.get("class_names") or []
        embeddings = ", ".join(entry["embeddings"])
        link = f"[{name}](#{name.replace('_', '-')})"
        table.append(
            f"| {link} | {entry['n_points']:,} | {entry['n_features']} | {len(counts) or '?'} "
            f"| {embeddings} | {entry['licence']} |"
        )
    parts = [
        "# Data sets",
        "Generated from `config/datasets.yaml`. fedmix ships no data except those that "
        "scikit-learn bundles. It takes a data set from `data/raw`, a mirror folder "
        "(`mirror=<folder>` or `FEDMIX_MIRROR`), OpenML or its publishers, in this order, and "
        "checks it with the registry. `snakemake --cores 1 fetch` does all downloads of a preset.",
        "\n".join(table),
    ]
    for name, entry in entries.items():
        links = f"[Home page]({entry['homepage']})." if "homepage" in entry else ""
        lines = [entry.get("note", ""), f"Licence: {entry['licence']}. {links}".strip()]
        parts.append("\n\n".join(filter(None, [f"## {name}", *lines, entry["citation"]])))
    return _page(parts)


def studies_page() -> str:
    """Return every study with its settings, variants and methods."""
    parts = [
        "# Studies",
        "Generated from the papers' `studies`. Comments there give the reasons for choices.",
    ]
    for path in sorted((ROOT / "config").glob("*/*/studies/*.yaml")):
        study = read_yaml(path)
        comment = " ".join(
            line.lstrip("# ").rstrip()
            for line in path.read_text(encoding="utf-8").split("\nexperiment:")[0].splitlines()
        )
        wanted = study["methods"]
        names = wanted if isinstance(wanted, str) else ", ".join(map(_name, wanted))
        variants = ", ".join(study.get("variants") or ["default"])
        facts = [
            f"- folder: `config/{path.parts[-4]}/{path.parts[-3]}`, experiment: "
            f"`fedmix.experiments.{study['experiment']}`",
            f"- replications: {study['replications']}",
            f"- variants: {variants}",
            f"- methods: {names}",
        ]
        parts.append("\n\n".join([f"## {path.stem}", comment.strip(), "\n".join(facts)]))
    return _page(parts)


def _name(entry: str | Mapping[str, Any]) -> str:
    return entry if isinstance(entry, str) else entry["name"]


def methods_page() -> str:
    """Return all methods with their capabilities, and their docstrings."""
    table = ["| method | data | labels | receives | shared start |", "|---|---|---|---|---|"]
    for name in sorted(methods.index()):
        own = capabilities_of(name)
        table.append(
            f"| {name} | {', '.join(own.families)} | each {own.level} | "
            f"{', '.join(own.needs) or 'nothing'} | {own.starts_from or 'none'} |"
        )
    blocks = [_directive(f"autoclass:: {methods.index()[n]}.{n}") for n in sorted(methods.index())]
    return _page(["# Methods", "Generated from the registered classes.", "\n".join(table), *blocks])


def api_page() -> str:
    """Return the reference of all other modules, from their docstrings."""
    parts = ["# API reference", fedmix.__doc__ or ""]
    for heading, modules in _API.items():
        parts.append(f"## {heading}")
        for module in modules:
            for name in _submodules(module) or [module]:
                parts += [f"### {name}", _directive(f"automodule:: {name}")]
    return _page(parts)


def _submodules(name: str) -> list[str]:
    """Return the modules of a package that only gathers names; none for any other module."""
    if name not in {"fedmix.partition", "fedmix.simulate"}:
        return []
    folder = Path(fedmix.__file__).parent / name.rpartition(".")[2]
    return [f"{name}.{module.name}" for module in pkgutil.iter_modules([str(folder)])]


def _directive(text: str) -> str:
    return f"```{{eval-rst}}\n.. {text}\n   :members:\n{_NO_ROUTING}```"


def notebook_page(path: Path) -> str:
    """Return a notebook as a page: its text, its code and what the code printed."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return _page(parts)


def reproduction_page(folder: Path) -> str:
    """Return the contents of what the last exported run has left, if there is any."""
    pages = sorted(path.stem for path in folder.glob("*.md"))
    if not pages:
        return "# Results\n\nNo run at the published sizes has been exported yet.\n"
    tables = sorted(f"tables/{path.stem}" for path in folder.glob("tables/*.md"))
    return _page(["# Results", _contents(pages), "## Tables", _contents(tables)])


def _contents(names: list[str]) -> str:
    listing = "\n".join(f"../reproduction/{name}" for name in names)
    return f"```{{toctree}}\n:maxdepth: 1\n\n{listing}\n```"


def _page(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    write_schemas(ROOT / "workflow" / "schemas")
