"""Set up a job of the pipeline: threads, log, and short error messages."""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedmix.errors import DataError, FedmixError
from fedmix.pipeline.provenance import ROOT, content_hash

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@contextmanager
def job(log: str | os.PathLike, threads: int = 1) -> Iterator[None]:
    """Run a job's body with its own log file and number of threads.

    Enter it before importing NumPy, because BLAS and Numba read their thread counts once. The log
    receives warnings too. After any error the job exits with status 1: the message goes to stderr,
    the traceback to the log.
    """
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=log,
        filemode="w",
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    logging.captureWarnings(True)
    try:
        prepare_process(threads)
        yield
    except (Exception, SystemExit) as error:  # whatever ends the body early is a failure
        logging.getLogger("fedmix").error("the job failed\n%s", traceback.format_exc())
        title = str(error) if isinstance(error, FedmixError) else f"{type(error).__name__}: {error}"
        print(f"{title}\n(traceback: {log})", file=sys.stderr)
        logging.shutdown()
        _end_left_threads(status=1)
        sys.exit(1)
    logging.shutdown()
    _end_left_threads(status=0)


def _end_left_threads(status: int) -> None:
    """End the process, whose files are closed, if a plug-in's thread would keep it from ending."""
    others = set(threading.enumerate()) - {threading.main_thread()}
    if any(not thread.daemon for thread in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def prepare_process(threads: int = 1) -> None:
    """Set the threads of BLAS and Numba and the folder of compiled code, before NumPy's import."""
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    os.environ["NUMBA_CACHE_DIR"] = str(_kernel_cache(os.environ.get("NUMBA_CACHE_DIR")))


def _kernel_cache(given: str | None) -> Path:
    """Return a folder for the compiled code of the current kernels, below the given one.

    Numba checks only a kernel's own file, not those that it calls. A folder that others can write
    to is an error: compiled code is pickled, so theirs would run.
    """
    version = content_hash(ROOT, "kernels/*.py")
    base = Path(given) if given else ROOT / "kernels" / "__pycache__"
    folder = base if base.name == version else base / version  # a job's own jobs inherit it
    if given:
        with suppress(OSError):  # without a folder kernels are compiled anew, with a warning
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in (folder, folder.parent):
            if each.exists() and (each.stat().st_uid != os.getuid() or each.stat().st_mode & 0o022):
                raise DataError(
                    f"NUMBA_CACHE_DIR: other users own {each} or may write to it, so that their "
                    "code could run in your jobs. Name a folder of your own."
                )
    return folder
