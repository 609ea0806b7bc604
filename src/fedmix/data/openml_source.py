"""Tables from OpenML, by its own client in a separate process.

The client never times out, has a cache that two processes must not share, and is configured by
global state. It therefore runs in a child process with a deadline and a temporary cache. The child
runs this module as a script, with the arguments ``NUMBER TARGET TIMEOUT LARGEST SERVER``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.data.download import Downloads
from fedmix.errors import DownloadError

if TYPE_CHECKING:
    import requests

_ATTEMPTS = 2
#: Environment variable with another server's address, e.g. ``http://127.0.0.1:8080/api/v1/xml``.
SERVER_VARIABLE = "FEDMIX_OPENML_SERVER"


def fetch_table(number: int, downloads: Downloads, deadline: float = 1800.0) -> Path:
    """Download a data set's table from OpenML; return a parquet file with all columns.

    ``downloads`` provides the folder for the client's cache and the result, and all limits but the
    deadline in seconds for the whole download: parsing a large ARFF file takes minutes. Raises
    DownloadError if the client fails, does not finish in time or gets too much.
    """
    folder = downloads.folder
    downloads.log(f"downloading OpenML data set {number}")
    target = folder / f"openml-{number}.parquet"
    cache = str(folder / f"openml-{number}-cache")
    environment = os.environ | {"OPENML_CACHE_DIR": cache, "XDG_CONFIG_HOME": cache}
    command = [sys.executable, "-m", "fedmix.data.openml_source"]
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


def _download(number: int, target: str, timeout: float, largest: int, server: str) -> None:
    """Download one data set with the openml client and write its table as parquet."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))  # what minio writes
    _limit_requests(timeout, largest)
    import openml

    if server:
        openml.config.server = server
    openml.config.set_retry_policy("human", n_retries=_ATTEMPTS)
    dataset = openml.datasets.get_dataset(
        number, download_data=True, download_qualities=False, download_features_meta_data=True
    )
    table: Any = dataset.get_data()[0]  # a DataFrame, unless asked otherwise
    table.to_parquet(target, index=False)


def _limit_requests(timeout: float, largest: int) -> None:
    """Limit the time and size of the client's network accesses, by requests and by minio."""
    import minio
    import requests
    import urllib3

    request = requests.Session.request

    def limited_request(*args: Any, **kwargs: Any) -> requests.Response:
        response = request(*args, **{"timeout": timeout, **kwargs, "stream": True})
        setattr(response, "_content", _content_of(response, largest))  # noqa: B010
        return response

    setattr(requests.Session, "request", limited_request)  # noqa: B010
    pool = urllib3.PoolManager(timeout=timeout, retries=urllib3.Retry(_ATTEMPTS - 1))
    kind: Any = minio.Minio

    def limited_minio(*args: Any, http_client: Any = None, **kwargs: Any) -> Any:
        return kind(*args, http_client=http_client or pool, **kwargs)

    setattr(minio, "Minio", limited_minio)  # noqa: B010


def _content_of(response: requests.Response, largest: int) -> bytes:
    """Read a response as requests would, up to the largest size."""
    content = bytearray()
    for chunk in response.iter_content(1 << 16):
        content += chunk
        if len(content) > largest:
            raise ValueError(f"{response.url} sends more than {largest} bytes")
    return bytes(content)


if __name__ == "__main__":
    try:
        _download(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}".replace("\n", " "))
