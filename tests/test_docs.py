"""The documentation follows the package: pages build, code runs, pictures are up to date."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fedmix import methods
from fedmix.configuration import read_yaml
from fedmix.pipeline.request import read_request

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def script(name):
    """Import a script of the documentation's folder."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The reference pages as the package gives them now, by name."""
    folder = tmp_path_factory.mktemp("docs")
    script("generate").write_reference(folder)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*.md")
    }


def test_every_page_of_the_contents_exists():
    names = re.findall(r"^([\w/]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.M)
    assert len(names) > 10
    for name in names:
        kept = [DOCS / f"{name}{ending}" for ending in (".md", ".ipynb")]
        assert name.startswith("generated/") or any(path.exists() for path in kept), name


def test_the_reference_pages_are_what_the_package_gives(pages):
    assert pages
    for name, text in pages.items():
        assert text == (DOCS / name).read_text(encoding="utf-8"), "run python docs/generate.py"


def test_every_row_of_a_table_has_the_cells_of_its_head():
    written = [*DOCS.glob("*.md"), *(DOCS / "methods").glob("*.md"), ROOT / "README.md"]
    for page in written:
        text = re.sub(r"\\\||`[^`\n]*`", "", page.read_text(encoding="utf-8"))
        for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.M):
            head, *rows = table.splitlines()
            assert {row.count("|") for row in rows} <= {head.count("|")}, f"{page.name}: {head}"


def test_links_between_pages_lead_somewhere():
    folders = ["", "docs", "docs/decisions", "docs/methods", "docs/reproduction", "config", "data"]
    for page in [page for folder in folders for page in (ROOT / folder).glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!http|#)([^)#]+)[^)]*\)", text):
            made = page.parent == DOCS and target.startswith("generated/")  # by each build
            assert made or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_contract_s_sentences_are_its_tests():
    page = (DOCS / "adding_a_method.md").read_text(encoding="utf-8")
    section = page.partition("## What a method must do")[2].partition("\nClass variables")[0]
    told = re.findall(r"^- (.*)$", section, re.M)
    text = "\n".join(p.read_text() for p in sorted((ROOT / "tests/contract").glob("test_*.py")))
    tests = re.findall(r"^def test_(\w+)", text, re.M)
    assert [re.sub(r"\W+", "_", sentence.lower()) for sentence in told] == tests


def property_names(schema):
    """Return the keys that a schema describes, at any depth."""
    if isinstance(schema, list):
        return set().union(*map(property_names, schema))
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties", {})
    return set(own if isinstance(own, dict) else ()).union(*map(property_names, schema.values()))


def test_the_configuration_reference_has_every_key(pages):
    for path in (ROOT / "workflow" / "schemas").glob("*.json"):
        for key in property_names(json.loads(path.read_text(encoding="utf-8"))):
            assert f"- `{key}`" in pages["reference/configuration.md"], (path.name, key)


def test_the_schemas_are_what_the_models_give(tmp_path):
    script("generate").write_schemas(tmp_path)
    tracked = ROOT / "workflow" / "schemas"
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in tracked.iterdir()}
    for path in tmp_path.iterdir():
        assert path.read_text() == (tracked / path.name).read_text(), "python docs/generate.py"


def test_every_data_set_names_its_licence_and_citation(pages):
    for name, entry in read_yaml(ROOT / "config" / "datasets.yaml").items():
        assert f"\n## {name}\n" in pages["reference/datasets.md"]
        assert f"Licence: {entry['licence']}" in pages["reference/datasets.md"]
        assert entry["citation"].strip() in pages["reference/datasets.md"]


def test_every_method_has_a_page_with_the_same_sections_and_an_example():
    found = {path.stem for path in (DOCS / "methods").glob("*.md")} - {"README"}
    assert found == set(methods.index())
    generate = script("generate_code")
    for name, module in methods.index().items():
        text = (DOCS / "methods" / f"{name}.md").read_text(encoding="utf-8")
        sections = re.findall("^## (.*)", text, re.M)
        assert sections == ["Assumptions", "Algorithm", "When to use it", "Cost"], name
        reference = generate.method_reference(name)
        assert f".. autoclass:: {module}.{name}" in reference
        assert "gallery/plot_" in reference, name


def test_every_study_has_its_place(pages):
    studies = list((ROOT / "config").glob("*/*/studies/*.yaml"))
    assert studies
    for path in studies:
        assert f"\n## {path.stem}\n" in pages["reference/studies.md"]


def test_points_in_bold_are_spoken_of_where_there_are_any():
    sections = (DOCS / "as_coded.md").read_text(encoding="utf-8").split("\n## ")
    for section in sections:
        rows = [line for line in section.splitlines() if line.startswith("| ")]
        assert ("in bold" in section) == any("**" in row for row in rows), section[:40]


def test_the_readme_tells_what_was_exported_last():
    update = script("update_readme")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.partition(update.BEGIN)[2].partition(update.END)[0].strip()
    assert shown == update.summary(update.read_scorecard())


def test_the_scorecard_is_told_in_words_and_drawn(tmp_path, monkeypatch):
    update = script("update_readme")
    files = {
        "scorecard": "paper,cells: agrees,cells: differs,claims: holds,claims: partly untested,"
        "claims: reversed\nfedgrem,12,3,4,0,1\nmixed_regression,0,0,2,1,0\n",
        "scores": "paper,item,variant,role,agrees,differs,power,direction,answer\n"
        "fedgrem,fedgrem_table4,as_coded,authors,12,1,0.5,All below.,The order holds.\n",
        "claims": "id,paper,section,verdict,chance,published_fails\n"
        'fedgrem-pendigits-lowest,fedgrem,"B.1, Tables 4-5",holds,1.0,True\n'
        "a,fedgrem,Table 4,reversed,,True\nb,fedgem,Table 4,holds,0.5,False\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "README.md").write_text("# Results\n\nStamp: evidence 1a2b.\n")
    monkeypatch.setattr(update, "KEPT", tmp_path)
    monkeypatch.setattr(update, "PICTURE", tmp_path / "scorecard.svg")
    scores = update.read_scorecard()
    told = update.summary(scores)
    values = "15 of 15 published values (without run times) have been run: 12 agree and 3 differ."
    assert f"{values} Of 5 claims, 4 hold and for 1 the opposite holds. Of those" in told
    said = "1 must hold by construction and 1 fails on the paper's own values"
    assert f"Of those that hold, {said}. |" in told
    said = "Of 3 claims, 2 hold and 1 holds where it has been tested."
    assert f"| There is no published table to compare. {said} |" in told
    assert told.count("| Not run yet. |") == 1, "a paper that the run had not yet"
    monkeypatch.setattr(update, "ROOT", tmp_path)
    assert (
        "| FedGrEM, Table 4 | The order holds. | as coded; 12 agree, 1 differs |"
        in update.summary(scores)
    )
    page = tmp_path / "docs" / "reproduction" / "tables" / "fedgrem_table4.md"
    page.parent.mkdir(parents=True)
    page.write_text("# FedGrEM, Table 4")
    told = update.summary(scores)
    link = "[FedGrEM, Table 4](docs/reproduction/tables/fedgrem_table4.md)"
    assert (
        f"| {link} | The order holds. | as coded; 12 agree, 1 differs | 1 holds, 1 reversed |"
        in told
    )
    assert told.endswith("<!-- Stamp: evidence 1a2b. -->")
    update.draw(scores)
    assert "<svg" in (tmp_path / "scorecard.svg").read_text()


def test_every_verdict_of_a_paper_has_words():
    update = script("update_readme")
    names = next(iter(update.read_scorecard().values()))
    words = {"cells": update._VALUES, "claims": update._CLAIMS}
    told = {f"{kind}: {v}" for kind, of in words.items() for own in of.values() for v in own}
    assert told | {"cells: not run"} == set(names)


def run(code, folder, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        env={
            "MPLBACKEND": "agg",
            "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"],
            "PATH": "",
            "PYTHONPATH": str(ROOT / "src"),
            **environment,
        },
    )


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    cells = json.loads((DOCS / "library.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(c["source"]) + "\n" for c in cells if c["cell_type"] == "code")
    finished = run(code, tmp_path)
    assert finished.returncode == 0, finished.stderr
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]
    assert finished.stdout == "".join(printed), "run jupyter execute --inplace docs/library.ipynb"
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["options", "choosing", "scikit_learn"])
def test_a_page_with_code_prints_what_it_shows(name, tmp_path):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    code, shown = (
        "".join(re.findall(rf"```{kind}\n(.*?)```", page, re.S)) for kind in ("python", "text")
    )
    finished = run(code, tmp_path)
    assert finished.stdout == shown, finished.stderr


SPHINX = ("sphinx", "myst_nb", "furo", "sphinx_gallery")
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
PRESETS = [
    (path.stem, text)
    for path in PAGES
    for text in re.findall(r"```yaml\n(studies:.*?)```", path.read_text(encoding="utf-8"), re.S)
]


@pytest.mark.parametrize(("page", "preset"), PRESETS)
def test_the_presets_that_pages_show_can_be_planned(page, preset, tmp_path):
    for folder in ("config", "workflow/schemas", "data/published"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "config" / "presets" / "mine.yaml").write_text(preset)
    options = read_yaml(ROOT / "config" / "config.yaml") | {"preset": "mine"}
    request = read_request(tmp_path / "config", options, tmp_path)
    assert set(request.studies) == set(yaml.safe_load(preset)["studies"])


@pytest.mark.slow
def test_the_readme_s_example_runs(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.S)
    data = (
        "import numpy as np\nxs = [np.random.default_rng(n).normal(size=(n, 3)) for n in (9, 8)]\n"
    )
    finished = run(data + code, tmp_path)
    assert finished.returncode == 0, finished.stderr


HEAVY = ("pandas", "sklearn", "numba", "scipy", "matplotlib", "pyarrow", "yaml", "requests")


@pytest.mark.parametrize("code", ["import fedmix", "import fedmix; fedmix.Clients; dir(fedmix)"])
def test_importing_fedmix_loads_numpy_at_most(code, tmp_path):
    shown = run(f"{code}\nimport sys\nprint(*sys.modules)", tmp_path).stdout.split()
    assert "fedmix" in shown
    assert not set(HEAVY) & set(shown)


def test_no_source_file_grew_past_400_lines():
    paths = [p for d in ("src", "workflow", "docs") for p in (ROOT / d).rglob("*")]
    for path in paths:
        if path.suffix in {".py", ".smk"}:
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
    assert len((ROOT / "Snakefile").read_text(encoding="utf-8").splitlines()) < 120


@pytest.mark.slow
@pytest.mark.workflow
def test_the_picture_shows_the_rules_of_today():
    drawing = script("draw_rulegraph")
    drawn = re.findall(r"<text[^>]*>(\w+)</text>", drawing.PICTURE.read_text(encoding="utf-8"))
    assert set(drawn) == set(re.findall(r'label = "(\w+)', drawing.rule_graph())), (
        "run python docs/draw_rulegraph.py"
    )


@pytest.mark.slow
@pytest.mark.skipif(not all(map(find_spec, SPHINX)), reason="no Sphinx")
def test_the_pages_build_without_a_warning_and_without_a_dead_link(tmp_path):
    # tests/test_gallery.py runs the examples. The theme's list of all pages on each of them takes
    # half of a build: the next test has the theme.
    options = ["plot_gallery=0", "html_theme=basic"]
    build_pages(DOCS, tmp_path, options)
    assert list(script("check_links").dead_links(tmp_path)) == []


@pytest.mark.slow
@pytest.mark.skipif(not all(map(find_spec, SPHINX)), reason="no Sphinx")
def test_the_theme_draws_pages_without_a_warning_and_without_a_dead_link(tmp_path):
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    theme = re.search(r'^html_theme = "(\w+)"$', settings, re.M)[1]
    (tmp_path / "conf.py").touch()
    (tmp_path / "index.rst").write_text("A\n=\n\n.. toctree::\n\n   b\n")
    (tmp_path / "b.rst").write_text("B\n=\n\n:doc:`index`\n\n==  ==\n1   2\n==  ==\n")
    build_pages(tmp_path, tmp_path / "built", [f"html_theme={theme}"])
    assert theme in (tmp_path / "built" / "b.html").read_text(encoding="utf-8")
    assert list(script("check_links").dead_links(tmp_path / "built")) == []


def build_pages(source, target, options):
    """Build pages in HTML; a warning is an error."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    for option in options:
        command += ["-D", option]
    finished = subprocess.run(
        [*command, str(source), str(target)], capture_output=True, text=True, timeout=600
    )
    assert finished.returncode == 0, finished.stderr


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#here">b</a><a href="https://example.org/x">far</a>'
        '<a href="b.html#gone">b</a><a href="c.html">c</a><img src="d.svg"><a href="#top">up</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here">B</p>')
    found = list(script("check_links").dead_links(tmp_path))
    assert found == ["a.html: b.html#gone", "a.html: c.html", "a.html: d.svg"]


@pytest.mark.skipif(not find_spec("sphinx"), reason="no Sphinx")
def test_the_pages_that_make_has_built_are_in_the_documentation(tmp_path, monkeypatch):
    conf = script("conf")
    results, built = tmp_path / "results" / "paper", tmp_path / "built"
    monkeypatch.setattr(conf, "HERE", tmp_path / "docs")
    conf.copy_run(SimpleNamespace(outdir=built), None)
    assert not built.exists()
    curve = "reproduction/protocols/a/b/curve.svg"
    (tmp_path / "docs" / curve).parent.mkdir(parents=True)
    (tmp_path / "docs" / curve).touch()
    (results / "pages").mkdir(parents=True)
    (results / "collected").mkdir()
    for name in ("cells.parquet", "collected/outcomes.json"):
        (results / name).touch()
    (results / "index.html").write_text('<a href="pages/a.html">An item</a>')
    figure = f'<img src="../../../docs/{curve}">'
    (results / "pages" / "a.html").write_text(f'{figure}<a href="../index.html">All</a>')
    conf.copy_run(SimpleNamespace(outdir=built), None)
    copied = {p.relative_to(built).as_posix() for p in built.rglob("*") if p.is_file()}
    assert copied == {"reproduction/index.html", "reproduction/pages/a.html", curve}
    assert list(script("check_links").dead_links(built)) == []
