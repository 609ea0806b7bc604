"""A data set in memory, and the npz in which the pipeline keeps it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.errors import DataError
from fedmix.storage import read_arrays, write_arrays


@dataclass(frozen=True)
class Dataset:
    """Points with their classes and, where known, the groups they come from.

    Parameters
    ----------
    name : str
        Its name in the registry.
    features : ndarray of shape (n, d)
        One point a row; kept as float64.
    labels : ndarray of shape (n,)
        Classes, numbered from 0; kept as int64.
    groups : ndarray of shape (n,), optional
        Natural clients, such as writers, numbered from 0; kept as int64.

    Raises
    ------
    DataError
        If shapes do not agree.
    """

    name: str
    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        features = np.ascontiguousarray(self.features, dtype=np.float64)
        if features.ndim != 2 or 0 in features.shape:
            raise DataError(
                f"Data set {self.name!r}: expected features of shape (n, d), n and d at least 1; "
                f"got {features.shape}."
            )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", self._one_a_point("labels", self.labels))
        if self.groups is not None:
            object.__setattr__(self, "groups", self._one_a_point("groups", self.groups))

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return self.features.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.features.shape[1]

    def _one_a_point(self, what: str, values: NDArray) -> NDArray[np.int64]:
        values = np.ascontiguousarray(values)
        if values.shape != (self.n_points,) or values.dtype.kind not in "iu":
            raise DataError(
                f"Data set {self.name!r}: expected {self.n_points} {what}, whole numbers; "
                f"got {values.dtype} of shape {values.shape}."
            )
        return values.astype(np.int64)


def content_sha256(dataset: Dataset) -> str:
    """Return the sha256 of the values, whatever file or source they came from.

    Parameters
    ----------
    dataset : Dataset
        Its features (as little-endian float64), labels and groups (as int64) count, with their
        shapes; its name does not.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    arrays = {"features": dataset.features, "labels": dataset.labels, "groups": dataset.groups}
    for name, values in arrays.items():
        if values is not None:
            digest.update(f"{name}{values.shape}".encode())
            little_endian = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
            digest.update(little_endian.data)
    return digest.hexdigest()


def save_dataset(path: str | os.PathLike, dataset: Dataset) -> None:
    """Write a data set as an npz, atomically and in the smallest type that loses nothing."""
    arrays = {"features": _compact(dataset.features), "labels": dataset.labels}
    if dataset.groups is not None:
        arrays["groups"] = dataset.groups
    write_arrays(path, arrays)


def load_dataset(path: str | os.PathLike, name: str | None = None) -> Dataset:
    """Read a data set that :func:`save_dataset` wrote; further arrays in the file do not matter.

    Parameters
    ----------
    path : path-like
        The npz.
    name : str, optional
        Name of the data set; default is the file's name without its suffix.

    Raises
    ------
    DataError
        If the file is damaged or holds other arrays.
    """
    arrays = read_arrays(path)
    if not {"features", "labels"} <= set(arrays):
        raise DataError(
            f"{path} holds the arrays {sorted(arrays)}; expected features and labels. It is not a "
            "file that fedmix wrote: move it away and run `snakemake --cores 1 fetch`."
        )
    name = name or os.path.splitext(os.path.basename(path))[0]
    return Dataset(name, arrays["features"], arrays["labels"], arrays.get("groups"))


def _compact(values: NDArray[np.float64]) -> NDArray:
    """Return equal values as uint8 or float32 where that is exact."""
    with np.errstate(invalid="ignore", over="ignore"):
        for kind in (np.uint8, np.float32):
            smaller = values.astype(kind)
            if np.array_equal(smaller, values):
                return smaller
    return values
