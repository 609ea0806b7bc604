"""Sphinx configuration; pages that follow from the package are generated before each build."""

import re
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
exclude_patterns = ["_build", "examples"]
html_theme = "alabaster"
html_theme_options = {"description": fedmix.__doc__.splitlines()[0], "fixed_sidebar": True}
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


def add_title(app, name, source):
    """Give the tables of a run, which begin with their caption, the title that a page needs."""
    folder, _, title = name.rpartition("/")
    if folder == "reproduction/tables":
        source[0] = f"# {title}\n\n{source[0]}"


def setup(app):
    """Escape after Napoleon has made reStructuredText of the sections."""
    app.connect("source-read", add_title)
    app.connect("autodoc-process-docstring", escape_plain_text, priority=900)
