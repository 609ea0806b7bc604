"""Readers of raw files, by the names in the registry.

A reader takes the list of a source's files, in the registry's order, and the source's options. It
returns the rows in the order of the files.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmix.data.dataset import Raw
from fedmix.data.tables import LARGEST_INTEGER, read_frames, read_table_file, require_names
from fedmix.errors import ConfigurationError, DataError
from fedmix.storage import read_arrays


def read_digits(paths: Sequence[Path]) -> Raw:
    """Return the 8x8 digits that come with scikit-learn. No file is read."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return Raw(digits.data, digits.target)


def generate_waveform(paths: Sequence[Path], n_points: int = 5000, seed: int = 0) -> Raw:
    """Draw Breiman's waveforms. No file is read."""
    from fedmix.simulate.waveform import waveform

    return Raw(*waveform(n_points, seed))


def read_npz(paths: Sequence[Path], features: str = "images", labels: str = "labels") -> Raw:
    """Read one npz. The options name its arrays."""
    arrays = read_arrays(paths[0], remade=False)
    require_names("features", [features], arrays, "array", paths[0])
    require_names("labels", [labels], arrays, "array", paths[0])
    return Raw(arrays[features], arrays[labels])


def read_npy(paths: Sequence[Path]) -> Raw:
    """Read npy files: first the features of all parts, then their labels."""
    arrays = [np.load(path, allow_pickle=False) for path in paths]
    half = len(arrays) // 2
    return Raw(np.concatenate(arrays[:half]), np.concatenate(arrays[half:]))


def read_npy_with_idx_labels(paths: Sequence[Path]) -> Raw:
    """Read npy files with the features of all parts, then idx files with their labels."""
    half = len(paths) // 2
    features = [np.load(path, allow_pickle=False) for path in paths[:half]]
    labels = [_idx_array(path.read_bytes(), path) for path in paths[half:]]
    return Raw(np.concatenate(features), np.concatenate(labels))


def read_idx(paths: Sequence[Path]) -> Raw:
    """Read MNIST's own format: images and labels of each part in turn."""
    arrays = [_idx_array(path.read_bytes(), path) for path in paths]
    images = [part.reshape(len(part), -1) for part in arrays[0::2]]
    return Raw(np.concatenate(images), np.concatenate(arrays[1::2]))


def read_emnist_zip(paths: Sequence[Path], split: str = "balanced") -> Raw:
    """Read one split of EMNIST from NIST's gzip.zip, with the images turned upright."""
    images, labels = [], []
    with zipfile.ZipFile(paths[0]) as archive:
        for part in ("train", "test"):
            stem = f"gzip/emnist-{split}-{part}"
            images.append(_idx_member(archive, f"{stem}-images-idx3-ubyte.gz"))
            labels.append(_idx_member(archive, f"{stem}-labels-idx1-ubyte.gz"))
    upright = np.concatenate(images).transpose(0, 2, 1)
    return Raw(upright.reshape(len(upright), -1), np.concatenate(labels))


def read_cifar10(paths: Sequence[Path]) -> Raw:
    """Read CIFAR-10's binary archive. A record has one byte of class and 3 x 32 x 32 of image."""
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    with tarfile.open(paths[0]) as archive:
        batches = [archive.extractfile(f"cifar-10-batches-bin/{name}").read() for name in names]
    records = np.frombuffer(b"".join(batches), dtype=np.uint8).reshape(-1, 3073)
    return Raw(records[:, 1:], records[:, 0])


def read_pendigits_tables(paths: Sequence[Path]) -> Raw:
    """Read the 16-feature table and the table of writers of the pen digits."""
    points = read_table_file(paths[:1], label="class")
    writers = read_frames(paths[1:])
    check_same_digits(points.labels, writers["digit"].to_numpy(), paths[1])
    return Raw(points.features, points.labels, writers["writer"].to_numpy())


def read_pendigits_originals(paths: Sequence[Path]) -> Raw:
    """Read pendigits.tra and .tes, with the writers from the UNIPEN originals of both."""
    names = [*(f"x{i}" for i in range(16)), "class"]
    points = read_table_file(paths[:2], label="class", names=names)
    digits, writers = read_writers(paths[2:])
    check_same_digits(points.labels, digits, paths[2])
    return Raw(points.features, points.labels, writers)


# Each digit of a UNIPEN original has a line with the digit, the writer's number and the position in
# the writer's session. Writers are numbered 1 to 30 in the first file. The second file has other
# writers, numbered 1 to 14. Row i of an original is row i of the file with 16 features.
_COMMENT = re.compile(r"^\.COMMENT\s+(\d)\s+(\d+)\s+(\d+)\s*$")

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
    """Run a reader with options of :mod:`fedmix.data.registry`.

    Raises ConfigurationError if an option does not fit the file, and DataError if the files cannot
    be read, if float64 cannot hold a feature, or if a class is missing.
    """
    names = ", ".join(map(str, paths)) or "bundled data"
    try:
        raw = READERS[reader](list(paths), **options)
        _check_values(raw, names)
        return raw
    except ConfigurationError as error:
        raise ConfigurationError(f"reader {reader!r}, {error}") from error
    except DataError:
        raise
    except Exception as error:
        raise DataError(
            f"{names}: reader {reader!r} failed ({type(error).__name__}: {error}). The file is "
            "damaged, truncated or of another format."
        ) from error


def parse_comments(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the digit and the writer (from 1) of each digit of a UNIPEN original.

    Raises DataError if the text has no comment line of this form.
    """
    found = [match.groups() for line in text.splitlines() if (match := _COMMENT.match(line))]
    if not found:
        raise DataError("There is no line `.COMMENT <digit> <writer> <ordinal>` in this file.")
    digits, writers, _ = np.array(found, dtype=np.int64).T
    return digits, writers


def read_writers(paths: Sequence[Path]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read the originals in turn; return each digit and its writer.

    The writers of all files are numbered from 0: those of a later file follow the earlier ones.
    """
    digits, writers, n_before = [], [], 0
    for path in paths:
        try:
            own_digits, own_writers = parse_comments(path.read_text(encoding="latin-1"))
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        digits.append(own_digits)
        writers.append(own_writers - 1 + n_before)
        n_before += int(own_writers.max())
    return np.concatenate(digits), np.concatenate(writers)


def check_same_digits(labels: NDArray, digits: NDArray, where: Path) -> None:
    """Raise DataError unless two files list the same digits in the same order."""
    labels = np.asarray(labels).astype(np.int64)
    if len(labels) != len(digits):
        raise DataError(f"{where} has {len(digits)} digits; expected {len(labels)}.")
    different = np.flatnonzero(labels != digits)
    if different.size:
        row = different[0]
        raise DataError(
            f"{where}: row {row} is the digit {digits[row]}; the features' file has {labels[row]}. "
            "The rows of the two files must agree."
        )


def _check_values(raw: Raw, where: str) -> None:
    """Raise DataError for features that would change as float64, and for a class that is NaN."""
    features, labels = np.asarray(raw.features), np.asarray(raw.labels)
    if features.dtype.kind not in "buif":
        raise DataError(f"{where}: the features hold {features.dtype}; expected numbers.")
    whole = features.dtype.kind in "iu" and features.size > 0
    if whole and max(int(features.max()), -int(features.min())) > LARGEST_INTEGER:
        raise DataError(f"{where}: the features have integers beyond 2**53, which float64 rounds.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = np.flatnonzero(np.isnan(labels).reshape(len(labels), -1).any(axis=1))[0]
        raise DataError(f"{where}: row {row} has no class. Give its class, or remove the row.")


def _idx_array(content: bytes, where: object) -> NDArray[np.uint8]:
    """Decode an idx file of unsigned bytes."""
    if content[:3] != b"\x00\x00\x08":
        raise DataError(f"{where} is not an idx file of unsigned bytes.")
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _idx_member(archive: zipfile.ZipFile, name: str) -> NDArray[np.uint8]:
    return _idx_array(gzip.decompress(archive.read(name)), name)
