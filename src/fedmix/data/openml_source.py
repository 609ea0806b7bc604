"""Tables from OpenML, through its own client in a process of its own.

The client never times out, keeps a cache that two processes must not share and is set up by global
state, so it works in a child process with a deadline and a temporary cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fedmix.data.download import Downloads
from fedmix.errors import DownloadError

#: Environment variable with another server's address, e.g. ``http://127.0.0.1:8080/api/v1/xml``.
SERVER_VARIABLE = "FEDMIX_OPENML_SERVER"


def fetch_table(number: int, downloads: Downloads, deadline: float = 1800.0) -> Path:
    """Download a data set's table from OpenML.

    Parameters
    ----------
    number : int
        Its number there.
    downloads : Downloads
        Its folder takes the client's cache and the result; its limits hold but for the deadline.
    deadline : float, default=1800
        Seconds for all of it; parsing a large ARFF file takes minutes.

    Returns
    -------
    pathlib.Path
        A parquet file with all columns, the target's included.

    Raises
    ------
    DownloadError
        If the client fails, does not finish in time or gets too much.
    """
    folder = downloads.folder
    downloads.log(f"downloading OpenML data set {number}")
    target = folder / f"openml-{number}.parquet"
    cache = str(folder / f"openml-{number}-cache")
    environment = os.environ | {"OPENML_CACHE_DIR": cache, "XDG_CONFIG_HOME": cache}
    command = [sys.executable, "-m", "fedmix.data.openml_client"]
    command += [str(number), str(target), str(downloads.timeout), str(downloads.largest)]
    command += [os.environ.get(SERVER_VARIABLE, "")]
    try:
        done = subprocess.run(
            command, env=environment, timeout=deadline, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        raise DownloadError(
            f"OpenML data set {number}: not complete after {deadline:.0f} s."
        ) from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DownloadError(f"OpenML data set {number}: {reason}")
    return target
