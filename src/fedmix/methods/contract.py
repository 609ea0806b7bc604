"""What a method's class must define, and the form of the labels that it gives back."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from fedmix.clients import Clients
from fedmix.errors import DataError


def unfinished(cls: type, base: type) -> list[str]:
    """Return what is wrong with the functions and defaults of a method's class.

    ``base`` is :class:`fedmix.methods.base.FederatedEstimator`.
    """
    name = cls.__name__
    needed = ("fit", "predict") if getattr(cls, "level", "") == "sample" else ("fit",)
    wrong = [
        f"{name} replaces {own}. Define _{own}(clients), which the base class calls."
        for own in ("fit", "predict")
        if getattr(cls, own) is not getattr(base, own)
    ] or [
        f"{name} has no _{own}. Define _{own}(clients)."
        for own in needed
        if getattr(cls, f"_{own}") is getattr(base, f"_{own}")
    ]
    return wrong + [
        f"{name}: the parameter {own} has no default. Give it one."
        for own, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]


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
        if np.min(own, initial=0) < 0:
            raise DataError(
                f"{name}: expected labels that start from 0, got {np.min(own)} for client "
                f"{client}. Correct its _predict."
            )


def _form(values: Any) -> str:
    """Describe the form of a method's labels."""
    if isinstance(values, np.ndarray):
        return f"an array of {values.dtype} of shape {values.shape}"
    length = f" of length {len(values)}" if hasattr(values, "__len__") else ""
    return f"a {type(values).__name__}{length}"
