"""Methods outside fedmix are found by their source text, and hashed with all that they use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = (ROOT / "docs/examples/one_shot_kmeans.py").read_text(encoding="utf-8")
HELPED = EXAMPLE.replace(
    "from fedmix.clients", "from .helper import factor  # noqa: F401\nfrom fedmix.clients"
)


def run(code, **environment):
    """Run Python with other plug-ins than this process has."""
    path = os.pathsep.join([str(ROOT / "src"), environment.pop("installed", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.fixture
def folder(tmp_path):
    """A folder of plug-ins with a method that uses another file."""
    folder = tmp_path / "my_methods"
    folder.mkdir()
    (folder / "mine.py").write_text(HELPED)
    (folder / "helper.py").write_text("factor = 1\n")
    return folder


@pytest.fixture
def installed(tmp_path):
    """A folder of installed packages, one of which has a method."""
    package = tmp_path / "site" / "acme" / "clustering"
    package.mkdir(parents=True)
    for name in ("acme/__init__.py", "acme/clustering/__init__.py"):
        (tmp_path / "site" / name).write_text("raise RuntimeError('imported')\n")
    (package / "mine.py").write_text(HELPED)
    (package / "helper.py").write_text("factor = 1\n")
    about = tmp_path / "site" / "acme-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[fedmix.methods]\nours = acme.clustering.mine\n")
    return tmp_path / "site"


HASH = (
    "from fedmix.methods import index\n"
    "from fedmix.pipeline.provenance import source_hash\n"
    "print(index()['OneShotKMeans'], source_hash(index()['OneShotKMeans']))"
)


@pytest.mark.slow
def test_a_method_in_a_folder_is_one_of_fedmix_s(folder):
    code = (
        "import pickle\n"
        "from fedmix import methods\n"
        "print(methods.get('OneShotKMeans').__module__, 'OneShotKMeans' in dir(methods))\n"
        "print(pickle.loads(pickle.dumps(methods.OneShotKMeans(n_clusters=3))))"
    )
    finished = run(code, FEDMIX_PLUGINS=str(folder))
    assert finished.stdout == "fedmix.plugins.mine True\nOneShotKMeans(n_clusters=3)\n"


def test_an_installed_method_is_known_by_its_text_before_its_package_is_imported(installed):
    code = (
        "from fedmix.methods.capabilities import capabilities_of, constraints_of\n"
        "print(capabilities_of('OneShotKMeans').needs, list(constraints_of('OneShotKMeans')))"
    )
    finished = run(code, installed=str(installed))
    assert finished.stdout == "('n_clusters',) ['n_clusters', 'random_state']\n", finished.stderr


@pytest.mark.parametrize("kind", ["folder", "installed"])
def test_the_hash_changes_with_each_file_that_a_plug_in_uses_and_with_no_other(kind, request):
    place = request.getfixturevalue(kind)
    here = {"FEDMIX_PLUGINS": str(place)} if kind == "folder" else {"installed": str(place)}
    (helper,) = place.rglob("helper.py")
    hashes = [run(HASH, **here).stdout]
    (helper.parent / "unused.py").write_text("")
    hashes.append(run(HASH, **here).stdout)
    helper.write_text("factor = 2\n")
    hashes.append(run(HASH, **here).stdout)
    assert hashes[0].startswith(("fedmix.plugins.mine ", "acme.clustering.mine "))
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_hash_does_not_depend_on_where_the_folder_lies(folder, tmp_path):
    first = run(HASH, FEDMIX_PLUGINS=str(folder)).stdout
    assert run(HASH, FEDMIX_PLUGINS=str(folder.rename(tmp_path / "moved"))).stdout == first


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (EXAMPLE.replace("OneShotKMeans", "FedEM"), "Two methods are called FedEM, in fedmix.met"),
        ("def broken(:\n", "mine.py:1: not valid Python: invalid syntax\n"),
        ("\n# \udce9\n", "mine.py:2: the byte 0xe9 is not UTF-8. Save the file in UTF-8."),
        (EXAMPLE + "\n\nclass FederatedMixture:\n    pass\n", "a class FederatedMixture already"),
    ],
)
def test_a_plug_in_that_cannot_be_taken_is_told(folder, text, says):
    (folder / "mine.py").write_bytes(text.encode(errors="surrogateescape"))
    code = (
        "from fedmix.errors import ConfigurationError\n"
        "from fedmix.methods.capabilities import able_methods\n"
        "try:\n    able_methods()\nexcept ConfigurationError as error:\n    print(error)"
    )
    finished = run(code, FEDMIX_PLUGINS=str(folder))
    assert says in finished.stdout, finished.stderr


def test_a_file_in_place_of_its_folder_is_told(folder):
    finished = run("import fedmix.plugins", FEDMIX_PLUGINS=str(folder / "mine.py"))
    assert "mine.py is a file, not a folder of plug-ins. Set plugins=" in finished.stderr
    assert f"to its folder, {folder}." in finished.stderr


def test_the_signature_of_utf_8_changes_nothing(folder):
    before = run(HASH, FEDMIX_PLUGINS=str(folder)).stdout
    (folder / "mine.py").write_text(HELPED, encoding="utf-8-sig")
    assert before.startswith("fedmix.plugins.mine ")
    assert run(HASH, FEDMIX_PLUGINS=str(folder)).stdout == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Mine", "2mine"])
def test_a_method_s_file_begins_with_any_letter_or_digit(folder, name):
    (folder / "mine.py").rename(folder / f"{name}.py")
    code = "from fedmix import methods; print(methods.get('OneShotKMeans').__module__)"
    finished = run(code, FEDMIX_PLUGINS=str(folder))
    assert finished.stdout == f"fedmix.plugins.{name}\n", finished.stderr


def test_an_entry_point_to_nowhere_is_told(installed):
    for path in installed.rglob("mine.py"):
        path.unlink()
    finished = run("from fedmix import methods; methods.index()", installed=str(installed))
    assert "names the module acme.clustering.mine, which does not exist" in finished.stderr


def test_a_folder_without_a_method_is_told_whoever_names_it(tmp_path):
    code = (
        "import sys\n"
        "from fedmix.methods import use_plugins\n"
        "use_plugins(sys.argv[1] if len(sys.argv) > 1 else None)"
    )
    for told in ({"FEDMIX_PLUGINS": str(tmp_path)}, {}):
        named = f"import sys; sys.argv[1:] = {[] if told else [str(tmp_path)]}\n"
        assert f"plug-ins {tmp_path} has no method" in run(named + code, **told).stderr
