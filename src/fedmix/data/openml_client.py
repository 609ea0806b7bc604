"""Child process of :mod:`fedmix.data.openml_source`: ``NUMBER TARGET TIMEOUT SERVER``."""

from __future__ import annotations

import functools
import sys
from typing import Any

_ATTEMPTS = 2


def main(number: int, target: str, timeout: float, server: str) -> None:
    """Download one data set with the openml client and write its table as parquet.

    Parameters
    ----------
    number : int
        The data set's number.
    target : str
        Parquet file to write.
    timeout : float
        Seconds that a server may stay silent.
    server : str
        Address of the interface; empty for the client's own.
    """
    _give_up_after(timeout)
    import openml

    if server:
        openml.config.server = server
    openml.config.set_retry_policy("human", n_retries=_ATTEMPTS)
    dataset = openml.datasets.get_dataset(
        number, download_data=True, download_qualities=False, download_features_meta_data=True
    )
    table: Any = dataset.get_data()[0]  # a DataFrame, unless asked otherwise
    table.to_parquet(target, index=False)


def _give_up_after(timeout: float) -> None:
    """Give the client's two ways to the network, requests and minio, a time limit."""
    import minio
    import requests
    import urllib3

    request = requests.Session.request

    def limited_request(*args: Any, **kwargs: Any) -> requests.Response:
        kwargs.setdefault("timeout", timeout)
        return request(*args, **kwargs)

    setattr(requests.Session, "request", limited_request)  # noqa: B010
    pool = urllib3.PoolManager(timeout=timeout, retries=urllib3.Retry(_ATTEMPTS - 1))
    limited_minio = functools.partial(_minio_over, minio.Minio, pool)
    setattr(minio, "Minio", limited_minio)  # noqa: B010


def _minio_over(kind: Any, pool: Any, *args: Any, http_client: Any = None, **kwargs: Any) -> Any:
    return kind(*args, http_client=http_client or pool, **kwargs)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4])
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}".replace("\n", " "))
