"""Copy the HTML pages of a run into the built documentation, with all figures that they show."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

DATA = ["*.parquet", "*.zip", "audit", "collected"]  # of a run, which its pages do not link to


def copy_pages(built: Path, target: Path, searches: Path) -> None:
    """Copy a run's pages, if there are any, and the figures of the kept searches.

    These figures lie outside the run's folder, so the links to them change.

    Parameters
    ----------
    built : Path
        A folder of results with ``index.html``.
    target : Path
        The folder in the built documentation.
    searches : Path
        The folder of the kept searches.
    """
    if not (built / "index.html").exists():
        return
    shutil.copytree(built, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*DATA))
    for figure in searches.rglob("*.svg"):
        copy = target / "protocols" / figure.relative_to(searches)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(figure, copy)
    for page in target.rglob("*.html"):
        original = built / page.relative_to(target)
        there, here = (
            Path(os.path.relpath(folder, start)).as_posix()
            for folder, start in [(searches, original.parent), (target / "protocols", page.parent)]
        )
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(f'"{there}/', f'"{here}/'), encoding="utf-8")
