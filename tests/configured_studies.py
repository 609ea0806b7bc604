"""The configuration as shipped, for tests that names fit together, and what spoils a copy of it."""

from functools import cache
from pathlib import Path

import yaml

from fedmix.configuration import read_document, read_yaml
from fedmix.pipeline.plan import Study, plan_study

CONFIG = Path(__file__).parents[1] / "config"
STUDY = "papers/fedgrem/studies/fedgrem_real.yaml"


@cache
def configured_studies() -> dict[str, Study]:
    """Return every study of the papers' folders."""
    methods = read_yaml(CONFIG / "methods.yaml")
    return {
        path.stem: plan_study(path.stem, path.parts[-3], read_document(path), methods)
        for path in sorted(CONFIG.glob("*/*/studies/*.yaml"))
    }


def options(**changes):
    """Return the main options without the kept replications, which change with every run."""
    return {**read_yaml(CONFIG / "config.yaml"), "evidence": False, **changes}


def edit(path, change):
    document = yaml.safe_load(path.read_text())
    change(document)
    path.write_text(yaml.safe_dump(document))


def spoil(path, old, new):
    """Replace the first such text of a file."""
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")
