"""Sphinx configuration; pages that follow from the package are generated before each build."""

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402 - found beside this file

import fedmix  # noqa: E402

generate.write_pages(HERE / "generated")

project = "fedmix"
author = "The fedmix developers"
copyright = author
version = release = fedmix.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
DATA = ["*.parquet", "*.zip", "audit"]  # of a run, which its pages do not link to
exclude_patterns = ["_build", "examples", "reproduction/protocols"]
html_theme = "furo"
html_title = "fedmix"
html_static_path = ["static"]
html_css_files = ["figures.css"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True


def escape_plain_text(app, what, name, obj, options, lines):
    """Escape what docstrings say plainly and reStructuredText takes for markup: ``|`` and ``_``."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith(("..", ">>>")):
            start = re.match(r"\s*(?::[^:`]*:)?", line).end()  # after ":param name:"
            parts = line[start:].split("``")
            parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[number] = line[:start] + "``".join(parts)


def copy_run(app, exception):
    """Copy the HTML pages of the three papers, if ``make`` has built them."""
    built, target = HERE.parent / "results" / "paper", Path(app.outdir, "reproduction")
    if (built / "index.html").exists():
        shutil.copytree(built, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*DATA))


def setup(app):
    """Escape after Napoleon has made reStructuredText of the sections."""
    app.connect("build-finished", copy_run)
    app.connect("autodoc-process-docstring", escape_plain_text, priority=900)
