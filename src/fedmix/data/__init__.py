"""Raw data sets: the registry, the sources, the checks, and one npz file per data set.

``read_registry`` reads ``config/datasets.yaml``, ``fetch`` obtains and stores a data set, and
``load`` reads it. A module is imported when its name is first used, because planning a run only
needs the registry.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedmix.data.dataset import (
        Dataset,
        check_dataset,
        check_embedding,
        constant_columns,
        content_sha256,
        load_dataset,
        save_dataset,
    )
    from fedmix.data.fetching import fetch, load
    from fedmix.data.registry import DatasetEntry, Source, SourceFile, read_registry

__all__ = [
    "Dataset",
    "DatasetEntry",
    "Source",
    "SourceFile",
    "check_dataset",
    "check_embedding",
    "constant_columns",
    "content_sha256",
    "fetch",
    "load",
    "load_dataset",
    "read_registry",
    "save_dataset",
]
_MODULES = {
    "dataset": (
        "Dataset",
        "check_dataset",
        "check_embedding",
        "constant_columns",
        "content_sha256",
        "load_dataset",
        "save_dataset",
    ),
    "fetching": ("fetch", "load"),
    "registry": ("DatasetEntry", "Source", "SourceFile", "read_registry"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module 'fedmix.data' has no attribute {name!r}")
