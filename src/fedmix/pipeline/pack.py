"""All finished replications of a run in one file, with which it goes on elsewhere."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

from fedmix.errors import DataError
from fedmix.pipeline.blocks import lines_of
from fedmix.storage import atomic_path

_NAME = "packed.partial.jsonl"


def pack(workdir: str | os.PathLike, target: str | os.PathLike, studies: Sequence[str] = ()) -> int:
    """Write all finished replications below ``results`` into one file.

    It is unpacked by ``tar xf`` where the run is to go on. Jobs there take over what the same code
    has finished from the same data, by its key (:mod:`fedmix.pipeline.blocks`), and nothing else.
    Equal results give equal bytes.

    Parameters
    ----------
    workdir : path-like
        Where Snakemake works.
    target : path-like
        The ``tar.xz`` file to write, whole or not at all.
    studies : sequence of str, optional
        Only these; all by default.

    Returns
    -------
    int
        How many replications of methods it holds.

    Raises
    ------
    DataError
        If nothing of them is finished, or the file's name says that it is something else.
    """
    if not Path(target).name.endswith(".tar.xz"):
        raise DataError(f"{target}: expected a name that ends in .tar.xz, which the file will be.")
    results, count = Path(workdir, "results"), 0
    with atomic_path(target) as temporary, tarfile.open(temporary, "w:xz") as bundle:
        for folder in sorted(f for name in studies or "*" for f in results.glob(f"{name}/*/")):
            lines = sorted({*lines_of(folder)})
            if lines:
                content = "".join(lines).encode()
                entry = tarfile.TarInfo((folder / _NAME).relative_to(workdir).as_posix())
                entry.size = len(content)
                bundle.addfile(entry, io.BytesIO(content))
                count += len(lines)
        if not count:
            of = f" of {', '.join(studies)}" if studies else ""
            raise DataError(f"{results} holds no finished replication{of}.")
    return count
