"""Plain downloads with limits: a silent, slow, endless or broken server is a clear error."""

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
    """The downloads of one data set; an archive that holds several files is fetched once.

    Parameters
    ----------
    folder : path
        Temporary folder of its own.
    timeout : float
        Seconds that a server may stay silent.
    log : callable
        Receives a line of progress at a time.
    largest : int
        Bytes that one file may hold, as it comes and unpacked.
    deadline : float, default=3600
        Seconds that one file may take, however the server drips.
    """

    folder: Path
    timeout: float
    log: Callable[[str], None]
    largest: int
    deadline: float = 3600.0

    def get(self, file: SourceFile) -> Path:
        """Download and unpack one file.

        Parameters
        ----------
        file : SourceFile
            Needs a url; its checksum is left to the caller.

        Returns
        -------
        pathlib.Path
            The file under its own name in the temporary folder.

        Raises
        ------
        DownloadError
            If the server cannot be reached, stays silent, breaks off, takes too long or sends too
            much, or if what came is not the promised archive.
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
        except Exception as error:  # a bad archive is answered with a dozen kinds
            raise DownloadError(
                f"{file.url} is not the archive that was expected: {file.name} cannot be unpacked "
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
                    raise DownloadError(f"{url}: {_first_line(error)}") from error
                time.sleep(_PAUSE)

    def _store(self, response: requests.Response, target: Path) -> None:
        promised = response.headers.get("Content-Length")
        if promised is not None and not promised.isdecimal():
            raise DownloadError(f"the server promises {promised!r} bytes")
        end = time.monotonic() + self.deadline
        # read1 hands over what has come, so that the clock is looked at however slow it drips
        n_bytes = self._copy(response.raw.read1, target, end)
        if promised is not None and n_bytes != int(promised):
            raise DownloadError(f"broke off after {n_bytes} of {promised} bytes")

    def _copy(self, read: Callable[[int], bytes], target: Path, end: float = float("inf")) -> int:
        """Write what is read, piece by piece, and return its length."""
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
        """Take the member out of its archive and undo .gz or .Z, if the name has no such end."""
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
        """Undo Unix compress; gzip's own program can, Python's library cannot."""
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


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
