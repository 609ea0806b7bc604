"""How a run was made, in words."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmix import __version__

if TYPE_CHECKING:
    import pandas as pd

_LIBRARIES = ("snakemake", "numpy", "scipy", "scikit-learn", "numba")


def describe_run(
    options: Mapping[str, Any], results: pd.DataFrame, timings: pd.DataFrame
) -> dict[str, str]:
    """Describe a run for a reader who wants to repeat it.

    Parameters
    ----------
    options : mapping
        Preset and overrides.
    results, timings : DataFrame
        Of all studies.

    Returns
    -------
    dict of str to str
        In the order to be shown.
    """
    replications = timings.groupby("study")["replication"].nunique()
    overrides = [f"{k}={v}" for k, v in options.items() if k != "preset" and v not in (None, False)]
    return {
        "Preset": " ".join([str(options["preset"]), *overrides]),
        "Replications, at most": ", ".join(f"{study} {n}" for study, n in replications.items()),
        "Runs": f"{len(timings)} (one method on one replication of one setting)",
        "Core-hours of the methods": f"{timings['cpu_seconds'].sum() / 3600:.2f}",
        "fedmix": f"{__version__}, commit {commit()}",
        "Libraries": ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        "Python": platform.python_version(),
        "Machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def count_failures(results: pd.DataFrame) -> pd.DataFrame:
    """Return rows ``study, variant, method, status, n`` of replications that did not finish."""
    failed = results[results["status"] != "ok"]
    keys = ["study", "variant", "method", "status"]
    return failed.groupby(keys, as_index=False).size().rename(columns={"size": "n"})


def commit() -> str:
    """Return the commit that the package's source is at, or "unknown" outside a checkout."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip()
