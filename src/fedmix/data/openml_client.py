"""Child process of :mod:`fedmix.data.openml_source`: ``NUMBER TARGET TIMEOUT LARGEST SERVER``."""

from __future__ import annotations

import functools
import resource
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import requests

_ATTEMPTS = 2


def main(number: int, target: str, timeout: float, largest: int, server: str) -> None:
    """Download one data set with the openml client and write its table as parquet.

    Parameters
    ----------
    number : int
        The data set's number.
    target : str
        Parquet file to write.
    timeout : float
        Seconds that a server may stay silent.
    largest : int
        Bytes that one answer or file may hold.
    server : str
        Address of the interface; empty for the client's own.
    """
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
    """Give the client's two ways to the network, requests and minio, limits of time and size."""
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
    limited_minio = functools.partial(_minio_over, minio.Minio, pool)
    setattr(minio, "Minio", limited_minio)  # noqa: B010


def _content_of(response: requests.Response, largest: int) -> bytes:
    """Read an answer as requests would, but no further than it may go."""
    content = bytearray()
    for chunk in response.iter_content(1 << 16):
        content += chunk
        if len(content) > largest:
            raise ValueError(f"{response.url} sends more than {largest} bytes")
    return bytes(content)


def _minio_over(kind: Any, pool: Any, *args: Any, http_client: Any = None, **kwargs: Any) -> Any:
    return kind(*args, http_client=http_client or pool, **kwargs)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}".replace("\n", " "))
