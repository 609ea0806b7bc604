"""Raw data sets: a registry, sources in order, checks, and one npz a data set.

``read_registry`` reads ``config/datasets.yaml``, ``fetch`` obtains and keeps, ``load`` reads.
"""

from fedmix.data.checks import check_dataset, constant_columns
from fedmix.data.dataset import (
    Dataset,
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
    "constant_columns",
    "content_sha256",
    "fetch",
    "load",
    "load_dataset",
    "read_registry",
    "save_dataset",
]
