"""Write the pages that follow from the configuration's models, registries and studies.

``python docs/generate.py`` writes those that are kept in the repository: the schemas of the
configuration and the reference pages.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generate_code import api_page, methods_page, page

from fedmix.cells.items import Figure, Table
from fedmix.cells.papers import Claim, Discrepancy, Paper, read_papers
from fedmix.cells.protocols.space import Space
from fedmix.configuration import read_yaml
from fedmix.data.registry import Registry
from fedmix.declarations import json_schema
from fedmix.experiments import settings as experiments
from fedmix.pipeline.schemas import MethodEntry, Options, PresetFile, StudyFile

ROOT = Path(__file__).parents[1]
#: Schema's name -> the files that it is for, and what they declare.
SCHEMAS: dict[str, tuple[str, Any]] = {
    "config": ("`config/config.yaml`", Options),
    "preset": ("`config/presets/*.yaml` and `config/papers/<paper>/presets/*.yaml`", PresetFile),
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
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def write_pages(folder: Path) -> None:
    """Write the pages that are only in the built documentation into a folder."""
    shutil.rmtree(folder / "api", ignore_errors=True)  # Sphinx keeps pages of what is gone
    _write(
        folder,
        {
            "api.rst": api_page(),
            "reproduction.md": reproduction_page(ROOT / "docs" / "reproduction"),
        },
    )


def write_reference(folder: Path) -> None:
    """Write the reference pages, which are kept in the repository, into a folder."""
    _write(
        folder,
        {
            "reference/configuration.md": configuration_page(),
            "reference/experiments.md": experiments_page(),
            "reference/datasets.md": datasets_page(),
            "reference/studies.md": studies_page(),
            "methods/README.md": methods_page(),
        },
    )


def _write(folder: Path, pages: Mapping[str, str]) -> None:
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
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
        keys = "\n".join(_described(schema, schema, ""))
        parts += [f"## {files}", schema.get("description", ""), keys]
    return page(parts)


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
    return page(parts)


def _listed(given: Mapping[str, str]) -> str:
    return "\n".join(f"- `{name}`: {text}" for name, text in given.items())


def _described(
    node: Mapping[str, Any], root: Mapping[str, Any], indent: str, above: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield one bullet a key, nested keys below it; a part within itself is not given again."""
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
    given: set[str] = set()
    for form in [*node.get("oneOf", []), *node.get("anyOf", [])]:
        own_indent = indent
        if "discriminator" in node:
            yield f"{indent}- {_tag(form, root, node['discriminator']['propertyName'])}:"
            own_indent += "  "
        lines = [line for line in _described(form, root, own_indent, above) if line not in given]
        given.update(lines)  # what several forms have is described with the first one
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
    given = node.get("default") not in (None, "", [], {})
    return f", default `{json.dumps(node['default'])}`" if given else ""


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
        link = f"[{name}](#{name})"
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
        licence = f"Licence: {entry['licence']}. {links}".strip()
        parts += [f"## {name}", entry.get("note", ""), licence, entry["citation"]]
    return page(parts)


def studies_page() -> str:
    """Return every study with its settings, variants and methods."""
    papers = read_papers(ROOT / "config").values()
    parts = [
        "# Studies",
        "Generated from the papers' `studies`. Comments there give the reasons for choices.",
        "\n".join(f"- {paper.name}: {paper.citation}" for paper in papers if paper.citation),
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
        parts += [f"## {path.stem}", comment.strip(), "\n".join(facts)]
    return page(parts)


def _name(entry: str | Mapping[str, Any]) -> str:
    return entry if isinstance(entry, str) else entry["name"]


def reproduction_page(folder: Path) -> str:
    """Return the contents of what the last exported run has left, if there is any."""
    pages = sorted(path.stem for path in folder.glob("*.md"))
    if not pages:
        return "# Results\n\nNo run at the published sizes has been exported yet.\n"
    parts = ["# Results", _contents(pages)]
    for kind in ("tables", "figures"):
        names = sorted(f"{kind}/{path.stem}" for path in folder.glob(f"{kind}/*.md"))
        parts += [f"## {kind.capitalize()}", _contents(names)]
    return page(parts)


def _contents(names: list[str]) -> str:
    listing = "\n".join(f"../reproduction/{name}" for name in names)
    return f"```{{toctree}}\n:maxdepth: 1\n\n{listing}\n```"


if __name__ == "__main__":
    write_schemas(ROOT / "workflow" / "schemas")
    write_reference(ROOT / "docs")
