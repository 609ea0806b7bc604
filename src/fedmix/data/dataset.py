"""Data sets as readers return them, in memory and in npz files, with their checks."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedmix.errors import DataError
from fedmix.storage import read_arrays, write_arrays

if TYPE_CHECKING:  # the code of the registry changes no result, so no key depends on it
    from fedmix.data.registry import DatasetEntry


@dataclass(frozen=True)
class Raw:
    """The result of a reader: features (n, d), classes as the raw file names them, maybe groups."""

    features: NDArray
    labels: NDArray
    groups: NDArray | None = None


@dataclass(frozen=True)
class Dataset:
    """Points with their classes and, if known, their groups.

    Parameters
    ----------
    name : str
        The name in the registry.
    features : ndarray of shape (n, d)
        One point per row; stored as float64.
    labels : ndarray of shape (n,)
        Classes, numbered from 0; stored as int64.
    groups : ndarray of shape (n,), optional
        Natural clients, such as writers, numbered from 0; stored as int64.

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
        object.__setattr__(self, "labels", self._integers("labels", self.labels))
        if self.groups is not None:
            object.__setattr__(self, "groups", self._integers("groups", self.groups))

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return self.features.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.features.shape[1]

    def _integers(self, what: str, values: NDArray) -> NDArray[np.int64]:
        values = np.ascontiguousarray(values)
        if values.shape != (self.n_points,) or values.dtype.kind not in "iu":
            raise DataError(
                f"Data set {self.name!r}: expected {self.n_points} {what}, whole numbers; "
                f"got {values.dtype} of shape {values.shape}."
            )
        return values.astype(np.int64)


def content_sha256(dataset: Dataset) -> str:
    """Return the sha256 of the values, which does not depend on the file or the source.

    Parameters
    ----------
    dataset : Dataset
        The hash includes the features (as little-endian float64), labels and groups (as int64), and
        their shapes. It does not include the name.

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
    """Write a data set as an npz, atomically and in the smallest type that is exact."""
    arrays = {"features": _compact(dataset.features), "labels": dataset.labels}
    if dataset.groups is not None:
        arrays["groups"] = dataset.groups
    write_arrays(path, arrays)


def load_dataset(path: str | os.PathLike, name: str | None = None) -> Dataset:
    """Read a data set that :func:`save_dataset` wrote. Other arrays in the file are ignored.

    Parameters
    ----------
    path : path-like
        The npz.
    name : str, optional
        Name of the data set; by default the file's name without its suffix.

    Raises
    ------
    DataError
        If the file is damaged, or has no features and labels.
    """
    arrays = read_arrays(path)
    if not {"features", "labels"} <= set(arrays):
        raise DataError(
            f"{path} holds the arrays {sorted(arrays)}; expected features and labels. fedmix did "
            "not write this file. Move it away and run `snakemake --cores 1 fetch`."
        )
    name = name or os.path.splitext(os.path.basename(path))[0]
    return Dataset(name, arrays["features"], arrays["labels"], arrays.get("groups"))


def to_dataset(entry: DatasetEntry, raw: Raw, where: str) -> Dataset:
    """Convert newly read data to a data set with numbered classes, and check it.

    ``where`` is the source, for messages. Raises DataError if the data differ from the entry.
    """
    found, places = np.unique(np.asarray(raw.labels).astype(str), return_inverse=True)
    names = entry.class_names or found.tolist()
    known = {name: number for number, name in enumerate(names)}
    strange = sorted(set(found.tolist()) - set(known))
    if strange:
        raise DataError(
            f"{where}: class {strange[0]!r} is not expected; the registry has "
            f"{', '.join(names)}. {_remedy(entry)}"
        )
    codes = np.array([known[name] for name in found.tolist()], dtype=np.int64)
    dataset = Dataset(entry.name, raw.features, codes[places.reshape(-1)], raw.groups)
    check_dataset(entry, dataset, where)
    return dataset


def check_dataset(entry: DatasetEntry, dataset: Dataset, where: str) -> None:
    """Check shape, finite values, classes, groups, constant columns and the content's hash.

    Parameters
    ----------
    entry : DatasetEntry
        The registry's entry.
    dataset : Dataset
        The data set to check.
    where : str
        The source, for messages.

    Raises
    ------
    DataError
        At the first difference. The message names the source, what was found and what was
        expected.
    """
    shape = (entry.n_points or dataset.n_points, entry.n_features or dataset.n_features)
    _expect(entry, where, "shape", dataset.features.shape, shape)
    _check_finite(dataset, where)
    _check_labels(entry, dataset, where)
    if entry.class_counts is not None:
        counts = np.bincount(dataset.labels, minlength=len(entry.class_names))
        _expect(entry, where, "points per class", tuple(counts.tolist()), entry.class_counts)
    n_groups = None if dataset.groups is None else len(np.unique(dataset.groups))
    _expect(entry, where, "number of groups", n_groups, entry.n_groups)
    _check_constant_columns(entry, dataset, where)
    if entry.content_sha256:
        found = content_sha256(dataset)
        _expect(entry, where, "sha256 of the values", found, entry.content_sha256)


def check_embedding(dataset: Dataset, shape: tuple[int | None, int | None], where: str) -> None:
    """Check the shape of an embedded data set, and that its values are finite.

    Parameters
    ----------
    dataset : Dataset
        The data set to check.
    shape : tuple of int
        Numbers of points and features, from :meth:`DatasetEntry.embedded_shape`. None allows any
        number.
    where : str
        The file, for messages.

    Raises
    ------
    DataError
        If the shape differs or a value is not finite. The message names the file, what was found
        and what was expected.
    """
    found = dataset.features.shape
    expected = tuple(size or there for size, there in zip(shape, found, strict=True))
    if found != expected:
        raise DataError(
            f"{where} holds {dataset.n_points} points with {dataset.n_features} features; the "
            f"registry of data sets asks for {expected[0]} with {expected[1]}. Delete the file and "
            "run Snakemake to make it again."
        )
    _check_finite(dataset, where)


def constant_columns(features: np.ndarray) -> list[int]:
    """Return the columns of an (n, d) array that have only one value."""
    return np.flatnonzero((features == features[:1]).all(axis=0)).tolist()


def _compact(values: NDArray[np.float64]) -> NDArray:
    """Return the values as uint8 or float32 if that is exact."""
    with np.errstate(invalid="ignore", over="ignore"):
        for kind in (np.uint8, np.float32):
            smaller = values.astype(kind)
            if np.array_equal(smaller, values):
                return smaller
    return values


def _check_finite(dataset: Dataset, where: str) -> None:
    finite = np.isfinite(dataset.features)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        bad = np.flatnonzero(~finite.all(axis=0)).tolist()
        raise DataError(
            f"{where}: NaN or infinity in column {column} (counted from 0), first in row {row}; "
            f"columns with such values: {bad}. Repair or replace the file."
        )


def _check_labels(entry: DatasetEntry, dataset: Dataset, where: str) -> None:
    low, high = int(dataset.labels.min()), int(dataset.labels.max())
    n_classes = len(entry.class_names) or max(high, 0) + 1  # without names any number
    if low < 0 or high >= n_classes:
        raise DataError(
            f"{where}: labels are from {low} to {high}; expected numbers of classes, 0 to "
            f"{n_classes - 1}. {_remedy(entry)}"
        )


def _check_constant_columns(entry: DatasetEntry, dataset: Dataset, where: str) -> None:
    found = constant_columns(dataset.features)
    if len(found) > entry.constant_columns:
        raise DataError(
            f"{where}: {len(found)} columns hold one value only (counted from 0: {found[:10]}); "
            f"expected {entry.constant_columns}. Repair or replace the file. If the columns are "
            f"correct, set constant_columns of {entry.name!r} in the registry of data sets."
        )


def _expect(entry: DatasetEntry, where: str, what: str, found: object, expected: object) -> None:
    if found != expected:
        raise DataError(f"{where}: {what} is {found}; expected {expected}. {_remedy(entry)}")


def _remedy(entry: DatasetEntry) -> str:
    return f"This is not the data set {entry.name!r} of the registry, or the file is damaged."
