"""Compare what was read with what the registry promises."""

from __future__ import annotations

import numpy as np

from fedmix.data.dataset import Dataset, content_sha256
from fedmix.data.raw import Raw
from fedmix.data.registry import DatasetEntry
from fedmix.errors import DataError


def to_dataset(entry: DatasetEntry, raw: Raw, where: str) -> Dataset:
    """Give freshly read data numbered classes and check everything.

    Parameters
    ----------
    entry : DatasetEntry
        What is expected.
    raw : Raw
        What a reader returned.
    where : str
        The source, for messages.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        Naming the source, what was found and what was expected.
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
    """Check shape, finite values, class counts, groups, constant columns and the content's hash.

    Parameters
    ----------
    entry : DatasetEntry
        What is expected.
    dataset : Dataset
        What was read.
    where : str
        The source, for messages.

    Raises
    ------
    DataError
        At the first difference, naming the source, what was found and what was expected.
    """
    shape = (entry.n_points or dataset.n_points, entry.n_features or dataset.n_features)
    _expect(entry, where, "shape", dataset.features.shape, shape)
    _check_finite(dataset, where)
    if entry.class_counts is not None:
        counts = np.bincount(dataset.labels, minlength=len(entry.class_names))
        _expect(entry, where, "points a class", tuple(counts.tolist()), entry.class_counts)
    n_groups = None if dataset.groups is None else len(np.unique(dataset.groups))
    _expect(entry, where, "number of groups", n_groups, entry.n_groups)
    _check_constant_columns(entry, dataset, where)
    if entry.content_sha256:
        found = content_sha256(dataset)
        _expect(entry, where, "sha256 of the values", found, entry.content_sha256)


def check_embedding(dataset: Dataset, shape: tuple[int | None, int | None], where: str) -> None:
    """Check that an embedded data set has a row for every point, and the columns asked for.

    Parameters
    ----------
    dataset : Dataset
        What was read.
    shape : tuple of int
        Points and features, from :meth:`DatasetEntry.embedded_shape`; None is any number.
    where : str
        The file, for messages.

    Raises
    ------
    DataError
        Naming the file, what was found and what was expected; also for a value that is not finite.
    """
    found = dataset.features.shape
    expected = tuple(size or there for size, there in zip(shape, found, strict=True))
    if found != expected:
        raise DataError(
            f"{where} holds {dataset.n_points} points with {dataset.n_features} features; the "
            f"registry of data sets asks for {expected[0]} with {expected[1]}. Delete it and run "
            "Snakemake again, and it is remade."
        )
    _check_finite(dataset, where)


def constant_columns(features: np.ndarray) -> list[int]:
    """Return the columns of an (n, d) array that hold one value only."""
    return np.flatnonzero((features == features[:1]).all(axis=0)).tolist()


def _check_finite(dataset: Dataset, where: str) -> None:
    finite = np.isfinite(dataset.features)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        bad = np.flatnonzero(~finite.all(axis=0)).tolist()
        raise DataError(
            f"{where}: NaN or infinity in column {column} (counted from 0), first in row {row}; "
            f"columns with such values: {bad}. Repair or replace the file."
        )


def _check_constant_columns(entry: DatasetEntry, dataset: Dataset, where: str) -> None:
    found = constant_columns(dataset.features)
    if len(found) > entry.constant_columns:
        raise DataError(
            f"{where}: {len(found)} columns hold one value only (counted from 0: {found[:10]}); "
            f"{entry.constant_columns} are expected. Repair or replace the file; if they belong "
            f"there, set constant_columns of {entry.name!r} in the registry of data sets."
        )


def _expect(entry: DatasetEntry, where: str, what: str, found: object, expected: object) -> None:
    if found != expected:
        raise DataError(f"{where}: {what} is {found}; expected {expected}. {_remedy(entry)}")


def _remedy(entry: DatasetEntry) -> str:
    return f"This is not the data set {entry.name!r} of the registry, or the file is damaged."
