"""Downloads with limits, so that a silent, slow, endless or broken server gives a clear error."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedmix.data.registry import SourceFile
from fedmix.errors import DownloadError

if TYPE_CHECKING:
    import requests

_ATTEMPTS = 2
_PAUSE = 1.0  # seconds before the second attempt
_CHUNK = 1 << 16


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
