"""The stamp of kept pages: a hash of all that they are made from."""

from __future__ import annotations

from pathlib import Path

from fedmix.pipeline.provenance import content_hash, key_of, script_hash

#: The scripts that make kept pages from evidence.
SCRIPTS = ("collect_results", "judge_results", "make_table", "make_figure", "export_reproduction")
#: Packages whose modules these scripts import by a name in the configuration.
LOADED_BY_NAME = ("fedmix.cells", "fedmix.experiments", "fedmix.views.figures")


def stamp_of(repository: Path) -> str:
    """Return a sentence with the hashes of the evidence, the configuration and the judging code.

    Pages with another stamp are out of date: ``make kept`` writes them again.

    Parameters
    ----------
    repository : path

    Examples
    --------
    >>> stamp_of(Path("."))  # doctest: +SKIP
    'Stamp: evidence 1a2b3c4d, configuration 5e6f7a8b, code 9c0d1e2f.'
    """
    scripts = [repository / "workflow" / "scripts" / f"{name}.py" for name in SCRIPTS]
    hashes = {
        "evidence": content_hash(repository, "data/evidence/*.parquet", "data/evidence/*.json"),
        "configuration": content_hash(repository, "config/**/*.yaml", "data/published/*.csv"),
        "code": key_of(*(script_hash(script, *LOADED_BY_NAME) for script in scripts)),
    }
    return f"Stamp: {', '.join(f'{name} {value[:8]}' for name, value in hashes.items())}."
