"""Raw data sets: the registry, the sources, the checks, and one npz file per data set.

``read_registry`` reads ``config/datasets.yaml``, ``fetch`` obtains and stores a data set, and
``load`` reads it. A module is imported when its name is first used, because planning a run only
needs the registry.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "Dataset": "dataset",
    "DatasetEntry": "registry",
    "Source": "registry",
    "SourceFile": "registry",
    "check_dataset": "dataset",
    "check_embedding": "dataset",
    "constant_columns": "dataset",
    "content_sha256": "dataset",
    "fetch": "fetching",
    "load": "fetching",
    "load_dataset": "dataset",
    "read_registry": "registry",
    "save_dataset": "dataset",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'fedmix.data' has no attribute {name!r}")
