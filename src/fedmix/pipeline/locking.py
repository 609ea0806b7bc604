"""One run at a time in a folder, without leftovers when a run is killed."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import time
from pathlib import Path
from typing import TextIO

from fedmix.errors import FedmixError

logger = logging.getLogger(__name__)
LOCK = Path(".snakemake", "run.lock")

_held: list[TextIO] = []


class FolderInUseError(FedmixError, RuntimeError):
    """Another run works in the folder."""


class UnwritableFolderError(FedmixError, PermissionError):
    """Results cannot be written where they should be."""


def lock_folder(folder: str | os.PathLike = ".") -> None:
    """Keep a folder for this process until it ends, however it ends.

    The operating system gives the lock back with the process, so that a killed run leaves nothing
    to be unlocked by hand. Processes started meanwhile do not inherit it. On a file system without
    locks (Lustre may be mounted so) it warns and goes on.

    Parameters
    ----------
    folder : path-like, default="."
        The folder that a run works in; :data:`LOCK` in it says who holds it.

    Raises
    ------
    FolderInUseError
        If another process holds it; the message says which.
    """
    path = Path(folder) / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - held open on purpose
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        holder = stream.read().strip()
        stream.close()
        raise FolderInUseError(
            f"Another run is at work in {Path(folder).resolve()} ({holder}). Wait until it ends, "
            "or give this one a folder of its own: snakemake --directory FOLDER ..."
        ) from None
    except OSError as error:
        stream.close()
        logger.warning("%s cannot be locked (%s): start no second run here", path, error.strerror)
        return
    stream.truncate(0)
    stream.write(f"process {os.getpid()} on {socket.gethostname()} since {time.ctime()}\n")
    stream.flush()
    _held.append(stream)


def is_locked(folder: str | os.PathLike = ".") -> bool:
    """Return whether a run is at work in a folder."""
    path = Path(folder) / LOCK
    if not path.exists():
        return False
    with open(path, encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks, as lock_folder has warned
            return False
    return False


def require_writable(folder: str | os.PathLike) -> None:
    """Make sure that a folder can be made and written to.

    Raises
    ------
    UnwritableFolderError
        If it cannot; before hours of work are lost rather than after.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        problem = None if os.access(path, os.W_OK | os.X_OK) else "it is not writable"
    except OSError as error:
        problem = error.strerror
    if problem:
        raise UnwritableFolderError(
            f"Results cannot be written to {path.absolute()}: {problem}. "
            "Change its permissions, or run elsewhere: snakemake --directory FOLDER ..."
        )
