"""Readers of raw files, found by the name that the registry uses.

A reader takes the list of a source's files, in the registry's order, and the source's options. It
returns the rows in the files' order.
"""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedmix.data import pendigits
from fedmix.errors import DataError
from fedmix.storage import read_arrays, read_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Raw:
    """What a reader returns.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Numbers of any type.
    labels : ndarray of shape (n,)
        Classes as the raw file calls them.
    groups : ndarray of shape (n,), optional
        Groups, numbered from 0.
    """

    features: NDArray
    labels: NDArray
    groups: NDArray | None = None


def read_digits(paths: Sequence[Path]) -> Raw:
    """Return the 8x8 digits that come with scikit-learn; no file is read."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return Raw(digits.data, digits.target)


def generate_waveform(paths: Sequence[Path], n_points: int = 5000, seed: int = 0) -> Raw:
    """Draw Breiman's waveforms; no file is read."""
    from fedmix.simulate.waveform import waveform

    return Raw(*waveform(n_points, seed))


def read_npz(paths: Sequence[Path], features: str = "images", labels: str = "labels") -> Raw:
    """Read one npz; the options name its arrays."""
    arrays = read_arrays(paths[0], remade=False)
    missing = sorted({features, labels} - set(arrays))
    if missing:
        raise DataError(f"{paths[0]} lacks the arrays {missing}; it holds {sorted(arrays)}.")
    return Raw(arrays[features], arrays[labels])


def read_npy(paths: Sequence[Path]) -> Raw:
    """Read npy files: features of each part, then labels of each part."""
    arrays = [_load_npy(path) for path in paths]
    half = len(arrays) // 2
    return Raw(np.concatenate(arrays[:half]), np.concatenate(arrays[half:]))


def read_npy_with_idx_labels(paths: Sequence[Path]) -> Raw:
    """Read npy files with features of each part, then idx files with their labels."""
    half = len(paths) // 2
    features = [_load_npy(path) for path in paths[:half]]
    labels = [_idx_array(path.read_bytes(), path) for path in paths[half:]]
    return Raw(np.concatenate(features), np.concatenate(labels))


def read_idx(paths: Sequence[Path]) -> Raw:
    """Read MNIST's own format: images and labels of each part in turn."""
    arrays = [_idx_array(path.read_bytes(), path) for path in paths]
    images = [part.reshape(len(part), -1) for part in arrays[0::2]]
    return Raw(np.concatenate(images), np.concatenate(arrays[1::2]))


def read_emnist_zip(paths: Sequence[Path], split: str = "balanced") -> Raw:
    """Read one split of EMNIST from NIST's gzip.zip; images are turned upright."""
    images, labels = [], []
    with zipfile.ZipFile(paths[0]) as archive:
        for part in ("train", "test"):
            stem = f"gzip/emnist-{split}-{part}"
            images.append(_idx_member(archive, f"{stem}-images-idx3-ubyte.gz"))
            labels.append(_idx_member(archive, f"{stem}-labels-idx1-ubyte.gz"))
    upright = np.concatenate(images).transpose(0, 2, 1)
    return Raw(upright.reshape(len(upright), -1), np.concatenate(labels))


def read_cifar10(paths: Sequence[Path]) -> Raw:
    """Read CIFAR-10's binary archive: one byte of class, then 3 x 32 x 32 bytes, a record."""
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    with tarfile.open(paths[0]) as archive:
        batches = [archive.extractfile(f"cifar-10-batches-bin/{name}").read() for name in names]
    records = np.frombuffer(b"".join(batches), dtype=np.uint8).reshape(-1, 3073)
    return Raw(records[:, 1:], records[:, 0])


def read_table_file(
    paths: Sequence[Path],
    label: str,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    names: Sequence[str] | None = None,
    codes: Mapping[str, Mapping[str, float]] | None = None,
    label_edges: Sequence[float] | None = None,
    square: bool = False,
) -> Raw:
    """Read a csv or parquet table.

    Parameters
    ----------
    paths : sequence of path
        The file; further files are appended below it.
    label : str
        Column with the classes.
    columns : sequence of str, optional
        Feature columns in order; default is all but the label and those in ``drop``.
    drop : sequence of str, default=()
        Columns to leave out.
    names : sequence of str, optional
        Column names of a csv without a header line.
    codes : mapping of str to mapping, optional
        Numbers for the words of a column.
    label_edges : sequence of float, optional
        Bin a numeric label: a value's class is the number of edges below it.
    square : bool, default=False
        Transpose each row as a square image (EMNIST is published with images on their side).

    Returns
    -------
    Raw
    """
    table = _read_tables(paths, names)
    codes = codes or {}
    columns = list(columns or [c for c in table.columns if c != label and c not in drop])
    missing = sorted({label, *columns} - set(table.columns))
    if missing:
        raise DataError(f"{paths[0]} lacks columns {missing}; it has {list(table.columns)}.")
    features = _numbers(table, columns, codes, paths[0])
    if square:
        side = round(len(columns) ** 0.5)
        features = features.reshape(-1, side, side).transpose(0, 2, 1).reshape(len(table), -1)
    labels = table[label].astype(str).str.strip().to_numpy(dtype=str)
    if label_edges is not None:
        labels = np.searchsorted(label_edges, labels.astype(np.float64), side="left")
    return Raw(features, labels)


def read_pendigits_tables(paths: Sequence[Path]) -> Raw:
    """Read the 16-feature table and the table of writers of the pen digits."""
    points = read_table_file(paths[:1], label="class")
    writers = _read_tables(paths[1:], None)
    pendigits.check_same_digits(points.labels, writers["digit"].to_numpy(), paths[1])
    return Raw(points.features, points.labels, writers["writer"].to_numpy())


def read_pendigits_originals(paths: Sequence[Path]) -> Raw:
    """Read pendigits.tra and .tes, with the writers from the UNIPEN originals of both."""
    names = [*(f"x{i}" for i in range(16)), "class"]
    points = read_table_file(paths[:2], label="class", names=names)
    digits, writers = pendigits.read_writers(paths[2:])
    pendigits.check_same_digits(points.labels, digits, paths[2])
    return Raw(points.features, points.labels, writers)


READERS: dict[str, Callable[..., Raw]] = {
    "digits": read_digits,
    "waveform": generate_waveform,
    "npz": read_npz,
    "npy": read_npy,
    "npy_idx": read_npy_with_idx_labels,
    "idx": read_idx,
    "emnist_zip": read_emnist_zip,
    "cifar10": read_cifar10,
    "table": read_table_file,
    "pendigits_tables": read_pendigits_tables,
    "pendigits_originals": read_pendigits_originals,
}


def read(reader: str, paths: Sequence[Path], options: Mapping[str, Any]) -> Raw:
    """Run a reader and say which file is to blame if it fails.

    Raises
    ------
    DataError
        Naming the files.
    """
    try:
        return READERS[reader](list(paths), **options)
    except DataError:
        raise
    except Exception as error:
        names = ", ".join(map(str, paths)) or "bundled data"
        raise DataError(
            f"{names}: reader {reader!r} failed ({type(error).__name__}: {error}). The file is "
            "damaged, truncated or of another format."
        ) from error


def _load_npy(path: Path) -> NDArray:
    return np.load(path, allow_pickle=False)


def _idx_array(content: bytes, where: object) -> NDArray[np.uint8]:
    """Decode an idx file of unsigned bytes."""
    if content[:3] != b"\x00\x00\x08":
        raise DataError(f"{where} is not an idx file of unsigned bytes.")
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _idx_member(archive: zipfile.ZipFile, name: str) -> NDArray[np.uint8]:
    return _idx_array(gzip.decompress(archive.read(name)), name)


def _read_tables(paths: Sequence[Path], names: Sequence[str] | None) -> pd.DataFrame:
    import pandas as pd

    def read_one(path: Path) -> pd.DataFrame:
        if path.suffix == ".parquet":
            return read_table(path, remade=False)
        header = "infer" if names is None else None
        return pd.read_csv(path, header=header, names=names, skipinitialspace=True)

    return pd.concat([read_one(path) for path in paths], ignore_index=True)


def _numbers(
    table: pd.DataFrame, columns: Sequence[str], codes: Mapping, where: Path
) -> NDArray[np.float64]:
    """Return columns as an (n, d) array, or say which column has no number in which row."""
    import pandas as pd

    def one(name: str) -> NDArray[np.float64]:
        column = table[name].astype(str).map(codes[name]) if name in codes else table[name]
        return pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)

    values = np.empty((len(table), len(columns)))
    for j, name in enumerate(columns):
        values[:, j] = one(name)
        bad = np.flatnonzero(~np.isfinite(values[:, j]))
        if bad.size:
            found = table[name].iloc[bad[0]]
            raise DataError(
                f"{where}: column {name!r} has {bad.size} values that are not finite numbers, "
                f"first {found!r} in row {bad[0]}. Repair or replace the file."
            )
    return values
