"""Downloads with limits, so that a silent, slow, endless or broken server gives a clear error.

Tables from OpenML come by its own client, which never times out, has a cache that two processes
must not share, and is configured by global state. It therefore runs in a child process with a
deadline and a temporary cache. The child runs this module as a script, with the arguments
``NUMBER TARGET TIMEOUT LARGEST``.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix.data.registry import SourceFile
from fedmix.errors import DownloadError

if TYPE_CHECKING:
    import requests

_ATTEMPTS = 2
_PAUSE = 1.0  # seconds before the second attempt
_CHUNK = 1 << 16
#: Environment variable with another server's address, e.g. ``http://127.0.0.1:8080/api/v1/xml``.
SERVER_VARIABLE = "FEDMIX_OPENML_SERVER"


@dataclass(frozen=True)
class Downloads:
    """The downloads of one data set. An archive with several files is downloaded once.

    Parameters
    ----------
    folder : path
        An empty temporary folder.
    timeout : float
        Longest time in seconds without data from the server.
    log : callable
        Takes one line of progress at a time.
    largest : int
        Largest size of one file in bytes, packed and unpacked.
    deadline : float, default=3600
        Longest time in seconds for one file, even if the server keeps sending.
    """

    folder: Path
    timeout: float
    log: Callable[[str], None]
    largest: int
    deadline: float = 3600.0

    def get(self, file: SourceFile) -> Path:
        """Download and unpack one file. It gets its own name in the temporary folder.

        The caller checks its checksum. Raises DownloadError if the server cannot be reached, stays
        silent, breaks off, takes too long or sends too much, or if the result is not the expected
        archive.
        """
        key = hashlib.sha256(file.url.encode()).hexdigest()[:12]
        arrived = self.folder / f"{key}-{file.url.rsplit('/', 1)[-1]}"
        if not arrived.exists():
            self.log(f"downloading {file.url}")
            self._download(file.url, arrived)
        try:
            return self._unpack(file, arrived, self.folder / file.name)
        except DownloadError as error:
            raise DownloadError(f"{file.url}: {error}") from None
        except Exception as error:  # a bad archive raises many kinds of errors
            raise DownloadError(
                f"{file.url} is not the expected archive: {file.name} cannot be unpacked "
                f"({type(error).__name__}: {error})."
            ) from error

    def _download(self, url: str, target: Path) -> None:
        import requests
        import urllib3

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                # compressed transfer would hide the length, and gzip files must arrive as they are
                headers = {"Accept-Encoding": "identity"}
                limits = (min(10.0, self.timeout), self.timeout)
                with requests.get(url, stream=True, timeout=limits, headers=headers) as response:
                    response.raise_for_status()
                    self._store(response, target)
                return
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
                target.unlink(missing_ok=True)
                if attempt == _ATTEMPTS or isinstance(error, DownloadError):
                    first_line = f"{type(error).__name__}: {error}".splitlines()[0]
                    raise DownloadError(f"{url}: {first_line}") from error
                time.sleep(_PAUSE)

    def _store(self, response: requests.Response, target: Path) -> None:
        length = response.headers.get("Content-Length")
        if length is not None and not length.isdecimal():
            raise DownloadError(f"the server announces {length!r} bytes")
        end = time.monotonic() + self.deadline
        # read1 returns the data received so far, so that the deadline holds for slow servers too
        n_bytes = self._copy(response.raw.read1, target, end)
        if length is not None and n_bytes != int(length):
            raise DownloadError(f"broke off after {n_bytes} of {length} bytes")

    def _copy(self, read: Callable[[int], bytes], target: Path, end: float = float("inf")) -> int:
        """Copy the data to a file in pieces and return the number of bytes."""
        n_bytes = 0
        with open(target, "wb") as stream:
            while chunk := read(_CHUNK):
                stream.write(chunk)
                n_bytes += len(chunk)
                if n_bytes > self.largest:
                    raise DownloadError(
                        f"{target.name} is larger than {self.largest} bytes, more than this data "
                        "set can need"
                    )
                if time.monotonic() > end:
                    raise DownloadError(f"not complete after {self.deadline:.0f} s")
        return n_bytes

    def _unpack(self, file: SourceFile, arrived: Path, target: Path) -> Path:
        """Extract the member from its archive and unpack .gz or .Z, unless the name ends so."""
        if file.member:
            member = target.with_name(f"member-{Path(file.member).name}")
            with zipfile.ZipFile(arrived) as archive, archive.open(file.member) as packed:
                self._copy(packed.read, member)
            arrived = member
        if arrived.suffix == ".gz" and target.suffix != ".gz":
            with gzip.open(arrived) as source:
                self._copy(source.read, target)
        elif arrived.suffix == ".Z" and target.suffix != ".Z":
            self._uncompress(arrived, target)
        else:
            shutil.copyfile(arrived, target)
        return target

    def _uncompress(self, source: Path, target: Path) -> None:
        """Undo Unix compress with the gzip program, because Python's library cannot."""
        with (
            open(source, "rb") as packed,
            subprocess.Popen(
                ["gzip", "-dc"], stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as program,
        ):
            try:
                self._copy(program.stdout.read, target)
            except DownloadError:
                program.kill()
                raise
            complaint = program.stderr.read()
        if program.returncode:
            raise OSError(complaint.decode(errors="replace").strip())


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
    command = [sys.executable, "-m", "fedmix.data.download"]
    command += [str(number), str(target), str(downloads.timeout), str(downloads.largest)]
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


def _download_table(number: int, target: str, timeout: float, largest: int) -> None:
    """Download one data set with the openml client and write its table as parquet."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))  # what minio writes
    _limit_requests(timeout, largest)
    import openml

    if server := os.environ.get(SERVER_VARIABLE):
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
        response._content = _content_of(response, largest)
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
    for chunk in response.iter_content(_CHUNK):
        content += chunk
        if len(content) > largest:
            raise ValueError(f"{response.url} sends more than {largest} bytes")
    return bytes(content)


if __name__ == "__main__":
    try:
        _download_table(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}".replace("\n", " "))
