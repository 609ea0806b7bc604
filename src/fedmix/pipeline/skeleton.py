"""Skeletons of a method, a data set and a paper, with comments, that pass ``check``."""

from __future__ import annotations

import re
import shlex
from keyword import iskeyword
from pathlib import Path
from string import Template

import yaml

from fedmix.errors import ConfigurationError
from fedmix.methods import index
from fedmix.storage import write_text

_TEMPLATES = Path(__file__).with_name("skeletons")
#: Template -> the file of a paper that it becomes.
_PAPER = {
    "about": "config/papers/{key}/about.yaml",
    "study": "config/papers/{key}/studies/{key}.yaml",
    "tables": "config/papers/{key}/tables.yaml",
    "claims": "config/papers/{key}/claims.yaml",
    "quick": "config/papers/{key}/presets/quick.yaml",
    "published": "data/published/{key}/table1.csv",
}


def new_method(name: str, folder: Path) -> list[str]:
    """Write a method's class to a folder of plug-ins, which is made; return what to do next."""
    if not name.isidentifier() or not name[0].isupper() or iskeyword(name):
        raise ConfigurationError(
            f"new-method: expected the name of a class, such as MyKMeans, got {name!r}."
        )
    if name in index():
        raise ConfigurationError(
            f"new-method: there is a method {name} already, in {index()[name]}. Choose another "
            "name."
        )
    path = folder / f"{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()}.py"
    _write({path: _filled("method", name=name)})
    quoted = shlex.quote(str(folder))
    return [
        f"Wrote {path}. Next:",
        f"  python -m fedmix check --plugins {quoted}",
        f"  FEDMIX_PLUGINS={quoted} pytest tests/contract -k {name}",
        f"  snakemake --cores 2 matrix --config plugins={quoted}",
    ]


def new_dataset(name: str, root: Path) -> list[str]:
    """Add a data set to ``config/datasets.yaml``; return what to do next."""
    _check_key("new-dataset", name)
    path = root / "config" / "datasets.yaml"
    require_repository(root)
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if re.search(rf"^{name}:", known, re.M):
        raise ConfigurationError(f"{path} has a data set {name} already. Choose another name.")
    write_text(path, known + _filled("dataset", name=name))
    return [
        f"Added {name} to the end of {path}. Next: edit the entry, then",
        f"  put {name}.csv into data/raw/originals",
        "  python -m fedmix check",
        "  name the data set in a study, or in a preset of your own (docs/adding_a_dataset.md)",
    ]


def new_paper(key: str, root: Path) -> list[str]:
    """Write the folders of a paper; return what to do next."""
    _check_key("new-paper", key)
    require_repository(root)
    if other := next((root / "config").glob(f"*/{key}"), None):
        raise ConfigurationError(f"new-paper: {other} exists already. Choose another name.")
    words = {"key": key, "id": key.replace("_", "-"), "title": key.replace("_", " ").capitalize()}
    _write({root / to.format(key=key): _filled(name, **words) for name, to in _PAPER.items()})
    return [
        f"Wrote config/papers/{key} and data/published/{key}, with invented values. Next:",
        f"  python -m fedmix check --paper {key}",
        f"  snakemake --cores 2 {key} page",
    ]


def require_repository(root: Path) -> None:
    """Stop if there is no configuration in a folder."""
    if not (root / "config" / "config.yaml").is_file():
        raise ConfigurationError(
            f"There is no file {root / 'config' / 'config.yaml'}. Run this in the repository, or "
            "name the repository with --workflow."
        )


def _filled(template: str, **words: str) -> str:
    text = (_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _check_key(command: str, key: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
        raise ConfigurationError(
            f"{command}: expected a lower-case letter, then lower-case letters, digits and "
            f"underscores, as in my_name, got {key!r}."
        )
    if yaml.safe_load(key) != key:
        raise ConfigurationError(
            f"{command}: expected a name that YAML, the configuration's format, reads as text, "
            f"got {key!r}."
        )


def _write(files: dict[Path, str]) -> None:
    """Write new files, or none if one of them exists."""
    if there := [path for path in files if path.exists()]:
        raise ConfigurationError(f"{there[0]} exists already. Choose another name, or remove it.")
    for path, text in files.items():
        try:
            write_text(path, text)
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be written ({error.strerror}). Choose another folder."
            ) from None
