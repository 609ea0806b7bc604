"""What is wrong in a configuration is told with its file, its line and the nearest right name."""

import re
import shutil
from typing import Annotated, Literal

import pytest
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from configured_studies import CONFIG, STUDY, edit, options
from fedmix.configuration import read_document, read_yaml, validate
from fedmix.data import read_registry
from fedmix.declarations import PATTERNS, Declared, Named
from fedmix.errors import ConfigurationError
from fedmix.pipeline.request import read_request


class Part(Declared):
    """A part of a study, by name."""

    name: SkipJsonSchema[str]
    rows: int


class Study(Declared):
    """What a made-up file may say."""

    preset: Literal["quick", "paper"] = "quick"
    block: int = 1
    share: float = Field(0.0, ge=0)
    parts: Annotated[dict[str, Part], Named] = Field({})
    one_or_more: str | Annotated[list[Part], Field(min_length=1)] = ""
    fixed: tuple[Part, ...] = Field((), strict=False, min_length=1)
    digits: SkipJsonSchema[int] = 2


def write(folder, text, name="study.yaml"):
    path = folder / "config" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_validation_reports_all_errors_with_nearest_names(tmp_path):
    path = write(tmp_path, "preset: quik\nblok: 3\nblock: many\n", "config.yaml")
    with pytest.raises(ConfigurationError) as caught:
        validate(read_document(path), Study)
    message = str(caught.value)
    assert "3 errors" in message
    assert "config/config.yaml:2: blok: unknown key 'blok'. Did you mean 'block'" in message
    assert "config/config.yaml:1: preset: 'quik' is not valid. Did you mean 'quick'" in message
    assert "config/config.yaml:3: block: expected a valid integer, got 'many'" in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("parts: {a: {rows: 1, row: 2}}", "1: parts.a.row: unknown key 'row'. Did you mean 'rows'"),
        ("parts:\n  a: {}", "2: parts.a: missing rows"),
        ("parts:\n  a: 5", "2: parts.a: expected a mapping, got 5"),
        ("parts: {a: {rows: 1, name: b}}", "1: parts: a: unknown key 'name'"),
        ("parts: [a]", r"1: parts: expected a mapping, got \['a'\]"),
        ("one_or_more: []", "1: one_or_more: expected a list to have at least 1 item, got"),
        ("fixed: [{name: a, rows: x}]", "1: fixed.0.rows: expected a valid integer, got 'x'"),
        ("one_or_more: 5", "1: one_or_more: expected a valid string or a valid list, got 5"),
        ("digits: 3", "1: digits: unknown key 'digits'. Valid: block, fixed, one_or_more,"),
        ("share: -1", "1: share: expected greater than or equal to 0, got -1"),
        ("- block", "1: top level: expected a mapping, got"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands_and_once(tmp_path, text, says):
    with pytest.raises(ConfigurationError, match=f"1 error:\n  - config/study.yaml:{says}"):
        validate(read_document(write(tmp_path, text)), Study)


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "true", "1e400"])
def test_a_number_is_finite(tmp_path, value):
    with pytest.raises(ConfigurationError, match=r"config/study.yaml:1: share"):
        validate(read_document(write(tmp_path, f"share: {value}\n")), Study)


@pytest.mark.parametrize("value", ["5.0", "true", "'5'", "[5]", "null"])
def test_an_integer_is_written_as_one(tmp_path, value):
    with pytest.raises(ConfigurationError, match="block: expected a valid integer"):
        validate(read_document(write(tmp_path, f"block: {value}\n")), Study)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("block: 1\nblock: 2\n", "study.yaml: key 'block' is given twice, again in line 2"),
        ("a:\n\tb: 1\n", r"study.yaml:2: not valid YAML: .* start any token. Indent with spaces"),
        ("? [a, b]\n: 1\n", "study.yaml: the key in line 1 is a list or a mapping"),
        ("a: [1\n", r"study.yaml:2: not valid YAML: .*flow sequence \(line 1\): did not find"),
        ("a: *b\n", "study.yaml:1: not valid YAML: found undefined alias"),
        ("a: \0", "study.yaml: not valid YAML: character 3 is #x0000"),
    ],
)
def test_what_is_no_plain_yaml_is_told_with_its_line(tmp_path, text, says):
    with pytest.raises(ConfigurationError, match=says):
        read_yaml(write(tmp_path, text))


def test_a_file_of_other_bytes_or_a_folder_is_named(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes(b"a: 1\n# \xe9\n")
    with pytest.raises(ConfigurationError, match=r"study.yaml:2: the byte 0xe9 is not UTF-8. Save"):
        read_yaml(path)
    with pytest.raises(ConfigurationError, match=r"config"):
        read_yaml(path.parent)


def test_patterns_are_told_in_words(tmp_path):
    path = write(tmp_path, "Mine: {}\n", "datasets.yaml")
    with pytest.raises(ConfigurationError, match="Mine: expected a name of lower-case letters"):
        read_registry(path)
    declared = [
        pattern
        for module in (CONFIG.parent / "src").rglob("*.py")
        for pattern in re.findall(r'Field\(.*?\bpattern="(.*?)"', module.read_text(), re.S)
    ]
    assert set(PATTERNS) == set(declared)


def test_a_default_that_depends_on_what_is_wrong_adds_no_error(tmp_path):
    text = "mine: {title: Mine, n_points: many, sources: [{reader: digits}], embeddings: {}}\n"
    with pytest.raises(ConfigurationError, match=r"has 1 error:\n.*expected a valid integer"):
        read_registry(write(tmp_path, text, "datasets.yaml"))


def test_a_missing_file_names_its_neighbours(tmp_path):
    write(tmp_path, "", "quick.yaml")
    with pytest.raises(ConfigurationError, match="Did you mean 'quick'"):
        read_yaml(tmp_path / "config" / "quik.yaml")


def test_a_place_is_found_through_anchors_merges_and_another_file(tmp_path):
    text = "a: &base\n  x: 1\nb:\n  <<: *base\n  y: [2,\n      3]\n"
    base = read_document(write(tmp_path, text))
    change = read_document(write(tmp_path, "b:\n\n  y: 5\n", "preset.yaml"))
    whole = base.under(change)
    assert whole.content["b"] == {"x": 1, "y": 5}
    assert str(whole.place("b", "x")) == "config/study.yaml:2: b.x"
    assert str(whole.place("b", "y")) == "config/preset.yaml:3: b.y"
    assert str(base.place("b", "y", 1)) == "config/study.yaml:6: b.y.1"
    assert str(base.part("b").place("y")) == "config/study.yaml:5: b.y"
    assert str(base.place("b", "missing")) == "config/study.yaml:3: b"


def setting(**changes):
    return lambda study: study["settings"][0].update(changes)


def constant(**changes):
    return lambda study: study["constants"].update(changes)


def written(**changes):
    """Change the variant paper_like."""
    return lambda study: study["variants"]["paper_like"].update(changes)


def method(**entry):
    return lambda study: study["methods"].append({"method": "FedGrEM", **entry})


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (setting(dataset="pendigit"), "settings.0.dataset: unknown data set 'pendigit'. Did you "),
        (setting(embedding="rwa"), "'pendigits' has no embedding 'rwa'. Did you mean 'raw'"),
        (setting(partition="unifrom"), "'unifrom' is not valid. Did you mean 'uniform'"),
        (setting(n_clients=5.5), "n_clients: expected a valid integer, got 5.5"),
        (setting(n_clients=43), "data set 'pendigits' has 44 groups, not 43"),
        (setting(grid={"n_contaminated": []}), "grid.n_contaminated"),
        (setting(grid={"n_contaminated": [-1]}), "n_contaminated: expected greater than or equal"),
        (setting(grid={"n_contaminated": [23]}), "23 of 44 clients contaminated: at most one half"),
        (constant(scalling="none"), "constants.scalling: unknown key 'scalling'. Did you"),
        (constant(train_fraction=float("nan")), "expected a finite number, got nan"),
        (constant(n_components=[10]), r"n_components: expected a valid integer, got \[10\]"),
        (constant(n_components=None), "n_components: expected a valid integer, got None"),
        (lambda study: study["constants"].pop("train_fraction"), "missing train_fraction"),
        (lambda study: study.update(experiment="real_clusterin"), "Did you mean 'real_clustering'"),
        (lambda study: study.update(replication=3), "unknown key 'replication'. Did you mean"),
        (lambda study: study["methods"].append("FedGREM"), "unknown method 'FedGREM'. Did you"),
        (method(name="C", parameters={"penalty_scal": 3}), "Did you mean 'penalty_scale'"),
        (method(name="C", parameters={"tol": "1e-4"}), "YAML reads this as text. Write 1.0e-4."),
        (method(name="C", where={"datset": "mnist"}), "Did you mean 'dataset'"),
        (method(name="C", where={"dataset": "mnst"}), "Did you mean 'mnist'"),
        (
            method(name="C", where={"dataset": "mnist", "n_contaminated": 9}),
            "methods.7.where: no setting has all of these values",
        ),
        (written(methods={"PooledMM": {}}), "unknown method 'PooledMM'. Did you mean 'PooledEM'"),
        (written(methods={"PooledEM": {"inti": "ward"}}), "PooledEM takes no 'inti'"),
        (
            written(methods={"FedGrEM": {"penalty_scale": {"value": 1.0, "units": ["spreed"]}}}),
            "unknown units 'spreed'. Did you mean 'spread'",
        ),
        (
            written(methods={"FedGrEM": {"penalty_scale": {"value": -1.0, "units": ["spread"]}}}),
            "expected penalty_scale to be a finite number >= 0 or 'held-out', got -1.0",
        ),
        (written(only=["PooledMM"]), "unknown method 'PooledMM'. Did you mean 'PooledEM'"),
        (written(replications=2.0), "replications: expected a valid integer, got 2.0"),
    ],
)
def test_a_wrong_study_is_told_what_and_where(folder, spoil, says):
    edit(folder / STUDY, spoil)
    with pytest.raises(ConfigurationError, match=rf"studies/fedgrem_real.yaml:\d+: .*{says}"):
        read_request(folder, options(preset="smoke"))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        ({"fedgrem_reall": {}}, "unknown study 'fedgrem_reall'. Did you mean 'fedgrem_real'"),
        ({"fedgrem_real": {"only_variants": ["strong"]}}, "unknown variant 'strong'. Did you mean"),
        ({"fedgrem_real": {"variants": {"paper_like": None}}}, "expected a mapping, got None"),
        ({"fedgrem_real": None}, "expected a mapping, got None"),
    ],
)
def test_a_wrong_preset_is_told_what_and_where(folder, spoil, says):
    edit(folder / "papers/fedgrem/presets/quick.yaml", lambda preset: preset.update(studies=spoil))
    with pytest.raises(ConfigurationError, match=rf"fedgrem/presets/quick.yaml:\d+: .*{says}"):
        read_request(folder, options())


def test_a_preset_may_leave_out_a_method_that_a_variant_names(folder):
    edit(folder / STUDY, method(name="mine"))
    edit(folder / STUDY, written(methods={"mine": {"penalty_scale": 3.0}}))
    preset = "studies: {fedgrem_real: {methods: [FedGrEM]}}"
    (folder / "presets/one.yaml").write_text(preset)
    request = read_request(folder, options(preset="one"))
    assert list(request.studies["fedgrem_real"].methods) == ["FedGrEM"]


def choice(name, label, /, **changes):
    """Change one value of a choice of a search."""
    return lambda search: search["choices"][name]["values"][label].update(changes)


def parameter(**changes):
    """Change the parameters of a search's method."""
    return lambda search: search["methods"]["FedGrEM"].update(parameters=changes)


def item(name, **changes):
    return lambda items: items[name].update(changes)


def option(name, **changes):
    return lambda items: items[name]["options"].update(changes)


def own_parameters(**changes):
    """Give the first setting of FedGEM's benchmark parameters of its own."""
    return lambda study: study["settings"][0].update(own_parameters=changes)


BENCHMARK = "papers/fedgem/studies/fedgem_benchmark.yaml"
SEARCH, TABLES, FIGURES, ABOUT = (
    f"papers/fedgrem/{name}.yaml" for name in ("protocols/fedgrem", "tables", "figures", "about")
)


ROW = {"color": "blue", "marker": "o", "line": "-"}


@pytest.mark.parametrize(
    ("file", "spoil", "says"),
    [
        (SEARCH, choice("initial_penalty", "1", valu=2.0), "unknown key 'valu'. Did you .*'value'"),
        (
            SEARCH,
            choice("initial_penalty", "sqrt(n) spreads", units=["spraed"]),
            "unknown units 'spraed'",
        ),
        (
            SEARCH,
            choice("own_alignment", "none", value={"TGM": {"alignment": "first_client"}}),
            "method 'TGM' is not run. Did you mean 'TGMM'",
        ),
        (SEARCH, choice("initial_penalty", "1", value=None), "expected initial_penalty to be"),
        (SEARCH, choice("initial_penalty", "1", value=float("nan")), "to be a finite number"),
        (SEARCH, choice("scaling", "tenth", value=None), "values.tenth: None is not valid"),
        (SEARCH, choice("scaling", "tenth", value="tenths"), "'tenths' is not valid"),
        (
            SEARCH,
            parameter(tol={"value": 1e-4, "units": ["spread"], "surplus": 1}),
            "FedGrEM.parameters.tol: unknown key 'surplus'. Valid: units, value",
        ),
        (SEARCH, parameter(tol={"value": 1e-4, "unit": ["spread"]}), "expected tol to be"),
        (SEARCH, parameter(tlo=1e-4), "takes no 'tlo'. Did you mean 'tol'"),
        (SEARCH, lambda s: s["constants"].update(n_component=3), "unknown key 'n_component'"),
        (ABOUT, lambda a: a["looks"].update(FedGREM=ROW), "unknown series 'FedGREM'.*'FedGrEM'"),
        (ABOUT, lambda a: a["variants"].update(as_writen="x"), "variant 'as_writen'.*as_written"),
        (
            BENCHMARK,
            own_parameters(FedGEN={}),
            "own_parameters: method 'FedGEN' is not run. Did you mean 'FedGEM'",
        ),
        (BENCHMARK, own_parameters(FedGEM={"tlo": 0}), "takes no 'tlo'. Did you mean 'tol'"),
        (BENCHMARK, own_parameters(FedGEM={"tol": -1}), "FedGEM: expected tol to be"),
        (TABLES, item("fedgrem_table1", digits=200), "digits: expected less than or equal to 15"),
        (TABLES, item("fedgrem_table1", row="{x:2000000000}"), "'x' cannot be written as"),
        (TABLES, item("fedgrem_table1", row="{x"), "row: expected '}'"),
        (STUDY, lambda s: s.update(setting_id="{h:2000000000}"), "'h' cannot be written as"),
        (
            FIGURES,
            option("fedgrem_table1_figure", x="label.str.len()"),
            "is not an arithmetic expression",
        ),
        (FIGURES, option("fedgrem_table1_figure", x="f(1)"), "is not an arithmetic expression"),
        (
            FIGURES,
            option("fedgrem_table1_figure", x="a if b else c"),
            "is not an arithmetic expression",
        ),
        (FIGURES, option("fedgrem_table1_figure", x="-setting_h0 ** 2 / 3"), "unknown column or "),
        (FIGURES, option("fedgrem_table1_figure", xscal="log"), "'xscal'. Did you mean 'xscale'"),
        (FIGURES, item("fedgrem_table1_figure", best="lowest"), "unknown key 'best'"),
        (FIGURES, item("fedgrem_table1_figure", paper="fedgem"), "unknown key 'paper'"),
    ],
)
def test_a_wrong_search_item_or_look_is_told_what_and_where(folder, file, spoil, says):
    edit(folder / file, spoil)
    with pytest.raises(ConfigurationError, match=rf"{file}:\d+: .*{says}"):
        read_request(folder, options(preset="smoke"))


def test_a_wrong_estimator_or_embedding_is_told(folder):
    edit(folder / "methods.yaml", lambda m: m["LocalEM"].update(estimator="LocalEMM"))
    with pytest.raises(ConfigurationError, match=r"unknown estimator 'LocalEMM'. Did you mean"):
        read_request(folder, options())
    edit(folder / "methods.yaml", lambda m: m["LocalEM"].update(estimator="FedEM"))
    with pytest.raises(ConfigurationError, match=r"methods.yaml:\d+: LocalEM: a registered"):
        read_request(folder, options())
    shutil.copy(CONFIG / "methods.yaml", folder)
    change = {"kind": "tsne", "n_componets": 10}
    edit(folder / "datasets.yaml", lambda d: d["digits"]["embeddings"].update(tsne10=change))
    with pytest.raises(ConfigurationError, match=r"datasets.yaml.*Did you mean 'n_components'"):
        read_request(folder, options())
