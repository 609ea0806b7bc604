"""Sphinx configuration; pages that follow from the package are generated before each build."""

import logging
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import copy_pages  # noqa: E402 - found beside this file
import generate  # noqa: E402
import generate_code  # noqa: E402

import fedmix  # noqa: E402

generate.write_pages(HERE / "generated")
logging.getLogger("fedmix").setLevel("WARNING")  # comparisons in examples note each replication

project = "fedmix"
author = "The fedmix developers"
copyright = author
version = release = fedmix.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebook is kept with its outputs
sphinx_gallery_conf = {
    "write_computation_times": False,
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/backreferences",
    "show_signature": False,
    "remove_config_comments": True,
}
exclude_patterns = ["_build", "examples", "gallery", "templates", "reproduction/protocols"]
exclude_patterns += ["generated/gallery/*.ipynb"]  # what an example's page offers as a download
templates_path = ["templates"]
html_theme = "furo"
html_title = "fedmix"
html_static_path = ["static"]
html_css_files = ["figures.css"]
html_math_renderer = "mathml"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# scikit-learn adds these to every estimator; docs/scikit_learn.md shows their use.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_predict_request, set_predict_proba_request, "
    "set_score_request, set_transform_request"
}
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
            field = re.sub(r"_(?!\w)", r"\_", line[:start])
            lines[number] = field + "``".join(parts)


def complete_page(app, name, source):
    """Lead links to an example's file to its page, and add the reference to a method's page."""
    source[0] = re.sub(r"gallery/(plot_\w+)\.py\)", r"generated/gallery/\1.rst)", source[0])
    folder, _, method = name.rpartition("/")
    if folder == "methods":
        source[0] += generate_code.method_reference(method)


def draw_math(writer, node):
    """Write a formula as MathML, which browsers draw without a script from the network."""
    block = isinstance(node, nodes.math_block)
    writer.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def copy_run(app, exception):
    """Copy the HTML pages of the three papers, if ``make`` has built them."""
    copy_pages.copy_pages(
        HERE.parent / "results" / "paper",
        Path(app.outdir, "reproduction"),
        HERE / "reproduction" / "protocols",
    )


def setup(app):
    """Escape after Napoleon has made reStructuredText of the sections."""
    app.add_html_math_renderer("mathml", (draw_math, None), (draw_math, None))
    app.connect("source-read", complete_page)
    app.connect("build-finished", copy_run)
    app.connect("autodoc-process-docstring", escape_plain_text, priority=900)
