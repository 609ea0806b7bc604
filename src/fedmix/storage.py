"""Read and write files that are either complete or absent.

Planning a run uses this module too, where no numerical library needs to be installed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Any

from fedmix.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary name next to ``path``, and move the file into place if all went well.

    A job that is killed, or runs twice at a time, never leaves a partial file under the final name:
    ``os.replace`` is atomic within a folder, which is created if it does not exist. The temporary
    name has the same suffix, and the file has the permissions that the user's umask gives.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{token_hex(4)}{path.suffix}")
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(folder: str | os.PathLike) -> None:
    """Raise DataError unless a folder exists, or can be created, and is writable."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        problem = None if os.access(path, os.W_OK | os.X_OK) else "it is not writable"
    except OSError as error:
        problem = error.strerror
    if problem:
        raise DataError(
            f"Results cannot be written to {path.absolute()}: {problem}. "
            "Change its permissions, or run elsewhere: snakemake --directory FOLDER ..."
        )


def sha256_of(path: str | os.PathLike) -> str:
    """Return the sha256 of a file's content in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_arrays(path: str | os.PathLike, arrays: dict[str, np.ndarray]) -> None:
    """Write named arrays to an npz file atomically; equal arrays give equal bytes."""
    import numpy as np

    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def read_arrays(path: str | os.PathLike, remade: bool = True) -> dict[str, np.ndarray]:
    """Read an npz file without unpickling.

    ``remade`` says whether the pipeline wrote the file and can write it again, unlike a file of the
    user. A damaged file raises DataError, with its name and what to do.
    """
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise
    except Exception as error:
        raise DataError(_damaged(path, error, remade)) from error


def write_table(path: str | os.PathLike, table: pd.DataFrame, **options: Any) -> None:
    """Write a data frame to parquet atomically, with checksums; equal frames give equal bytes.

    ``options`` are those of ``pyarrow.parquet.write_table``, such as encodings.
    """
    with atomic_path(path) as temporary:
        table.to_parquet(
            temporary, index=False, compression="zstd", write_page_checksum=True, **options
        )


def write_records(path: str | os.PathLike, frames: Mapping[str, pd.DataFrame]) -> None:
    """Write named frames to JSON atomically; cells may hold lists and mappings."""
    records = {name: frame.to_dict("tight") for name, frame in frames.items()}
    write_text(path, json.dumps(records, default=lambda scalar: scalar.item(), indent=1))


def read_records(path: str | os.PathLike) -> dict[str, pd.DataFrame]:
    """Read frames that :func:`write_records` wrote, or raise DataError if the file is damaged."""
    import pandas as pd

    try:
        records = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(_damaged(path, error)) from error
    return {name: pd.DataFrame(r["data"], columns=r["columns"]) for name, r in records.items()}


def read_table(
    path: str | os.PathLike | IO[bytes], remade: bool = True, filters: list[tuple] | None = None
) -> pd.DataFrame:
    """Read a parquet file; parameters and errors are as in :func:`read_arrays`.

    ``filters`` chooses rows, as in ``pandas.read_parquet``.
    """
    import pandas as pd

    try:
        return pd.read_parquet(path, page_checksum_verification=True, filters=filters)
    except FileNotFoundError:
        raise
    except Exception as error:
        raise DataError(_damaged(path, error, remade)) from error


def concatenate(paths: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read parquet files and stack them with :func:`stacked`. A damaged one is a DataError."""
    return stacked(map(read_table, paths))


def stacked(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Stack tables; without any, return an empty one.

    A column that mixes numbers, text and booleans becomes text, because a parameter may be a number
    for one method and a name for the next.
    """
    import pandas as pd

    frames = [frame for frame in tables if len(frame)]
    if not frames:
        return pd.DataFrame()
    stack = pd.concat(frames, ignore_index=True)
    for name, column in stack.items():
        if column.dtype != object:
            continue
        kinds = {isinstance(v, bool) or type(v) for v in column.dropna()}
        if len(kinds - {int, float}) + bool(kinds & {int, float}) > 1:
            stack[name] = column.map(str, na_action="ignore")
    return stack


def _damaged(path: object, error: Exception, remade: bool = True) -> str:
    advice = (
        "Delete it and run Snakemake again: it will be remade."
        if remade
        else "It is an original, which fedmix cannot make again: replace it by a good copy."
    )
    return f"{path} is damaged or truncated ({type(error).__name__}: {error}). {advice}"
