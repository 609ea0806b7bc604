"""What makes a result: the commit of the source code, versions of libraries, the processor."""

from __future__ import annotations

import json
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

#: The libraries that a result may depend on.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
_CPU = Path("/proc/cpuinfo")


@cache
def commit() -> str:
    """Return the commit of the package's source, or "unknown" outside a git checkout.

    ``-dirty`` is added if files of the package differ from the commit.
    """
    name, changes = _git("rev-parse", "--short", "HEAD"), _git("diff", "--stat", "HEAD", "--", ".")
    return f"{name}-dirty" if name and changes else name or "unknown"


def _git(*arguments: str) -> str:
    """Return what git prints in the package's folder, or nothing if it fails."""
    try:
        found = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that a result may depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


@cache
def other_versions(made: str) -> tuple[str, ...]:
    """Return the libraries that a result was neither made nor checked with, both versions of each.

    ``made`` is what :func:`origin` returned when the result was made, and ``checked_with`` since.
    """
    about = json.loads(made)
    known = {**about, **about.get("checked_with", {})}
    return tuple(
        f"{name} {version(name)}, not {known.get(name)}"
        for name in LIBRARIES
        if known.get(name) != version(name)
    )


@cache
def origin() -> str:
    """Return the date, commit, versions and processor of this process's results, as JSON."""
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        **versions(),
        "processor": processor(),
    }
    return json.dumps(about)


def processor() -> str:
    """Return the name of the processor, because rounding errors differ between families."""
    lines = _CPU.read_text(encoding="utf-8").splitlines() if _CPU.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
