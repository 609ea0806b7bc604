"""The check of the labels that a method gives back."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedmix.clients import Clients
from fedmix.errors import DataError


def check_labels(estimator: Any, clients: Clients) -> None:
    """Raise DataError unless ``labels_`` holds one integer per point, or per client."""
    name, labels = type(estimator).__name__, estimator.labels_
    if estimator.level == "client":
        if np.shape(labels) != (len(clients),) or np.asarray(labels).dtype.kind != "i":
            raise DataError(
                f"{name}: expected labels_ to hold {len(clients)} integers, one per client; got "
                f"{_form(labels)}. Correct its _fit."
            )
        return
    if not isinstance(labels, list) or len(labels) != len(clients):
        raise DataError(
            f"{name}: expected a list of {len(clients)} arrays of labels, one per client; got "
            f"{_form(labels)}. Correct its _predict."
        )
    for client, own, size in zip(clients.names, labels, clients.sizes, strict=True):
        if np.shape(own) != (size,) or np.asarray(own).dtype.kind != "i":
            raise DataError(
                f"{name}: expected {size} integer labels for client {client}, one per point; got "
                f"{_form(own)}. Correct its _predict."
            )


def _form(values: Any) -> str:
    """Describe the form of a method's labels."""
    if isinstance(values, np.ndarray):
        return f"an array of {values.dtype} of shape {values.shape}"
    length = f" of length {len(values)}" if hasattr(values, "__len__") else ""
    return f"a {type(values).__name__}{length}"
