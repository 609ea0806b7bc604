"""The studies as configured at their published sizes, for tests that names fit together."""

from functools import cache
from pathlib import Path

from fedmix.configuration import read_document, read_yaml
from fedmix.pipeline.plan import Study, plan_study

CONFIG = Path(__file__).parents[1] / "config"


@cache
def configured_studies() -> dict[str, Study]:
    """Return every study of the papers' folders."""
    methods = {}
    for path in [CONFIG / "methods.yaml", *sorted((CONFIG / "methods").glob("*.yaml"))]:
        methods |= read_yaml(path)
    return {
        path.stem: plan_study(path.stem, path.parts[-3], read_document(path), methods)
        for path in sorted(CONFIG.glob("*/*/studies/*.yaml"))
    }
