"""How a run was made, in words."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fedmix import __version__
from fedmix.revision import commit
from fedmix.storage import write_text

if TYPE_CHECKING:
    import pandas as pd

_LIBRARIES = ("snakemake", "numpy", "scipy", "scikit-learn", "numba")


def describe_run(options: Mapping[str, Any], timings: pd.DataFrame) -> dict[str, str]:
    """Describe a run for a reader who wants to repeat it.

    Parameters
    ----------
    options : mapping
        Preset and overrides.
    timings : DataFrame
        Of all studies.

    Returns
    -------
    dict of str to str
        In the order to be shown.
    """
    if timings.empty:  # nothing has been run yet, nor are there columns
        timings = timings.reindex(columns=["study", "replication", "cpu_seconds"])
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


def write_description(path: str | os.PathLike, description: Mapping[str, str]) -> None:
    """Write a run's description as CSV, a line a thing."""
    import pandas as pd

    lines = pd.DataFrame({"what": list(description), "is": list(description.values())})
    write_text(path, lines.to_csv(index=False))


def read_description(path: str | os.PathLike) -> dict[str, str]:
    """Read what :func:`write_description` has written."""
    import pandas as pd

    lines = pd.read_csv(path, dtype=str, keep_default_na=False)
    return dict(zip(lines["what"], lines["is"], strict=True))


def count_failures(results: pd.DataFrame) -> pd.DataFrame:
    """Return rows ``study, variant, method, status, n`` of replications that did not finish."""
    failed = results[results["status"] != "ok"]
    keys = ["study", "variant", "method", "status"]
    return failed.groupby(keys, as_index=False).size().rename(columns={"size": "n"})
