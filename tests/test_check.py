"""Before a run: all problems at once, and skeletons that have none."""

from itertools import product
from pathlib import Path

import pytest

from configured_studies import spoil
from fedmix import methods, plugins
from fedmix.__main__ import main
from fedmix.errors import ConfigurationError
from fedmix.methods.base import register
from fedmix.methods.centroids import CentroidClustering

ROOT = Path(__file__).parents[1]
BROKEN = """from fedmix.methods.base import FederatedEstimator, register

register.nothing_here


@register
class Broken(FederatedEstimator):
    pass
"""


@pytest.fixture
def copy(folder, tmp_path, monkeypatch):
    """A copy of the configuration, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")
    yield tmp_path
    monkeypatch.delenv(plugins.VARIABLE)
    methods.use_plugins(None)


def test_a_valid_configuration_has_no_problem(copy, capsys):
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("No problem found in")


def test_everything_wrong_is_listed_at_once(copy, capsys):
    spoil(copy / "config/methods.yaml", "estimator: FFCM", "estimator: FFCN")
    studies = copy / "config/papers/fedgem/studies"
    spoil(sorted(studies.glob("*.yaml"))[0], "experiment:", "experimnt:")
    spoil(copy / "config/papers/fedgrem/claims.yaml", "predicate:", "predicat:")
    spoil(copy / "config/papers/fedgrem/tables.yaml", "title:", "titel:")
    folder = copy / "mine"
    folder.mkdir()
    (folder / "broken.py").write_text(BROKEN)
    assert main(["check", "--plugins", "mine"]) == 1
    said = capsys.readouterr().err
    for wrong in ("FFCN", "experimnt", "predicat", "titel", "broken.py:3: AttributeError"):
        assert wrong in said


def test_metrics_in_the_options_of_a_table_are_checked(copy, capsys):
    table = copy / "config/beyond/matrix/tables.yaml"
    spoil(table, "leaderboard: ari_pooled", "leaderboard: ari_poold")
    spoil(table, "{ari_pooled: all points", "{ari_poled: all points")
    assert main(["check"]) == 1
    said = capsys.readouterr().err
    for wrong in ("leaderboard: unknown metric 'ari_poold'", "unknown metric 'ari_poled'"):
        assert wrong in said


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "papers/mixed_regression/claims.yaml",
            ", low: 16, high: 24}",
            "}",
            "neither low nor high is given",
        ),
        (
            "beyond/beyond/figures.yaml",
            "x: setting_n_points",
            "x: setting_axis",
            "x: expected a setting with numbers; axis has",
        ),
    ],
)
def test_a_claim_without_bounds_and_an_axis_without_numbers_are_refused(
    copy, capsys, file, old, new, says
):
    spoil(copy / "config" / file, old, new)
    assert main(["check"]) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("predicate", "given", "says"),
    [
        ("trend", "along: dataset, direction: level", "along: expected a setting with different"),
        ("trend", "along: v, direction: level", "different numbers; v has 1.0"),
        ("trend", "along: variant, direction: level", "along: unknown setting 'variant'"),
        ("similar", "to: KFED, tolerance: 0.1", "to: the same as `method`. Change one of them"),
        ("ordered", "than: [KFED], direction: above", "than: the same as `method`"),
        ("between", "low: 2, high: 1", "high: expected a number above `low`, which is 2"),
        ("slows_after", "split: 3, until: 3", "until: expected a number above `split`, which is 3"),
        ("predicted", "condition: n_clusters, share: 1.0", "share: expected less than 1, got 1.0"),
    ],
)
def test_a_claim_that_no_result_could_decide_is_refused(copy, capsys, predicate, given, says):
    assert main(["new-paper", "mine"]) == 0
    claims = copy / "config/papers/mine/claims.yaml"
    spoil(claims, "predicate: ordered", f"predicate: {predicate}")
    spoil(claims, "direction: above, than: FedKMeans", given)
    assert main(["check", "--paper", "mine"]) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("about.yaml", "year:", "link: example.org\nyear:", "link: expected an address that"),
        ("studies/mine.yaml", "as_written:", "{}\n#", "variants: expected a mapping to have"),
        ("tables.yaml", "{n_clients: setting_n_clients, method: label}", "{}", "columns: expected"),
    ],
)
def test_what_a_paper_leaves_empty_is_told_once(copy, capsys, file, old, new, says):
    assert main(["new-paper", "mine"]) == 0
    spoil(copy / "config/papers/mine" / file, old, new)
    assert main(["check"]) == 1
    said = capsys.readouterr().err
    assert "1 error:" in said
    assert says in said


def test_two_numbers_in_one_place_of_a_table_are_refused(copy, capsys):
    tables = copy / "config/papers/fedgrem/tables.yaml"
    spoil(tables, 'row: "{contaminated_percent:g} %"', "row: all clients")
    spoil(copy / "config/beyond/matrix/tables.yaml", 'row: "{label}"', "row: methods")
    assert main(["check"]) == 1
    said = capsys.readouterr().err
    settings = "pendigits-contaminated0 LocalEM and pendigits-contaminated3 LocalEM"
    assert f"{settings} both have row 'all clients', column 'Local-EM'. Name a column" in said
    assert "AFCL and pendigits-contaminated0 CentralDPGMM both have row 'methods'" in said
    spoil(tables, "row: all clients", 'row: "{method:g}"')
    assert main(["check"]) == 1
    assert "'{method:g}' and '{method}' cannot be filled: Unknown" in capsys.readouterr().err


def test_two_methods_of_one_label_in_one_place_are_refused(copy, capsys):
    # The skeleton's published file has a column `method`, as our cells have.
    assert main(["new-paper", "mine"]) == 0
    twice = "[KFED, FedKMeans, {name: mine, method: KFED, label: k-FED}]"
    spoil(copy / "config/papers/mine/studies/mine.yaml", "[KFED, FedKMeans]", twice)
    assert main(["check", "--paper", "mine"]) == 1
    said = "clients5 KFED and clients5 mine both have row '5 clients', column 'k-FED'"
    assert said in capsys.readouterr().err


def test_one_paper_is_shown_alone(copy, capsys):
    spoil(copy / "config/papers/fedgrem/claims.yaml", "predicate:", "predicat:")
    assert main(["check", "--paper", "fedgem"]) == 0
    assert "No problem in fedgem, but 1 problem elsewhere" in capsys.readouterr().out
    assert main(["check", "--paper", "fedgrem"]) == 1
    assert "predicat" in capsys.readouterr().err


def test_a_paper_that_does_not_exist_is_an_error(copy, capsys):
    assert main(["check", "--paper", "fedgen"]) == 1
    assert "There is no paper 'fedgen'. Did you mean 'fedgem'" in capsys.readouterr().err
    (copy / "config/papers/fedgem/about.yaml").unlink()
    assert main(["check", "--paper", "fedgem"]) == 1
    assert "no about.yaml" in capsys.readouterr().err
    spoil(copy / "config/papers/fedgrem/claims.yaml", "predicate:", "predicat:")
    assert main(["check", "--paper", "fedgen"]) == 1
    assert "There is no paper 'fedgen'. Did you mean 'fedgem'" in capsys.readouterr().err


def test_skeletons_pass_the_check(copy, capsys):
    assert main(["new-method", "MyKMeans"]) == 0
    assert main(["new-dataset", "my_wards"]) == 0
    assert main(["new-paper", "my_paper"]) == 0
    assert main(["check", "--plugins", "my_methods"]) == 0
    assert main(["check", "--paper", "my_paper"]) == 0
    fitted = methods.get("MyKMeans")(2).fit([[[0.0], [1.0]], [[9.0]]])
    assert fitted.cluster_centers_.shape == (2, 1)
    assert main(["new-paper", "my_paper"]) == 1
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "n/a", "1e-05"])
def test_a_published_value_that_is_no_decimal_number_is_an_error(copy, capsys, text):
    spoil(copy / "data/published/fedgrem/misclustering.csv", "9.62,1.03", f"9.62,{text}")
    assert main(["check", "--paper", "fedgrem"]) == 1
    said = f"misclustering.csv, line 5: sd_percent is {text!r}, expected a decimal number"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"method,mean\nFedEM,0,281\n", "own.csv:2: expected 2 values (method, mean)"),
        (b"method,mean\n\nFedEM,0.281\n", "own.csv:2: expected a row on each line, got an empty"),
        ("method,mean\nFedEM,0.281\n".encode("utf-16"), "own.csv: expected a CSV file in UTF-8"),
    ],
)
def test_a_published_file_that_is_no_plain_csv_is_an_error(copy, capsys, content, says):
    (copy / "data/published/own").mkdir()
    (copy / "data/published/own/own.csv").write_bytes(content)
    assert main(["check"]) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("claims.yaml", "claim.yaml", "unknown file 'claim'. Did you mean 'claims'?"),
        ("about.yaml", "information.yaml", "its folder has no about.yaml"),
        ("studies", "study", "unknown folder 'study'. Did you mean 'studies'?"),
    ],
)
def test_a_misspelt_file_of_a_paper_is_an_error(copy, capsys, old, new, says):
    folder = copy / "config/papers/mixed_regression"
    (folder / old).rename(folder / new)
    assert main(["check"]) == 1
    assert says in capsys.readouterr().err


def test_folders_that_do_not_exist_are_errors(copy, capsys):
    options = (("evidence=mine", "no folder mine"), ("mirror=mine", "mine"))
    for command, (option, says) in product(("check", "status", "forecast"), options):
        assert main([command, "--config", option]) == 1
        assert says in capsys.readouterr().err
    assert main(["status", "--directory", "mine"]) == 1
    assert "there is no folder mine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ('families = ("gausian",)', "families: 'gausian' is not valid. Did you mean 'gaussian'?"),
        ('level = "sampel"', "level: 'sampel' is not valid. Did you mean 'sample'?"),
        ('needs = ("n_cluster",)', "needs: 'n_cluster' is not valid."),
        (
            'needs = ("random_state",)',
            "needs: no experiment gives 'random_state'. Experiments give",
        ),
        ('needs = "n_clusters"', "needs: expected a tuple of strings, got 'n_clusters'."),
    ],
)
def test_a_class_variable_that_keeps_a_method_from_running_is_an_error(
    copy, capsys, variable, says
):
    assert main(["new-method", "Own"]) == 0
    [file] = copy.glob("*/own.py")
    spoil(file, "    # What an", f"    {variable}\n    # What an")
    assert main(["check", "--plugins", file.parent.name]) == 1
    assert says in capsys.readouterr().err


def test_a_published_value_that_nothing_can_match_is_an_error(copy, capsys):
    assert main(["new-paper", "my_paper"]) == 0
    values = copy / "data/published/my_paper/table1.csv"
    spoil(values, "5,k-FED,", "5,k-FEB,")
    spoil(values, "10,FedKmeans,", "11,FedKmeans,")
    assert main(["check"]) == 1
    said = capsys.readouterr().err
    assert "table1.csv, line 2: no method is called 'k-FEB'. Did you mean 'k-FED'?" in said
    assert "table1.csv, line 5: no setting of the study has n_clients '11'" in said


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("new-method", name) for name in ("my-means", "True")),
        ("new-dataset", "My Data"),
        *((command, name) for command in ("new-dataset", "new-paper") for name in ("no", "null")),
        *(("new-paper", name) for name in ("../out", "2paper", "my-paper")),
    ],
)
def test_a_name_that_cannot_be_is_refused(copy, capsys, command, name):
    assert main([command, name]) == 1
    assert f"{command}: expected" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told(copy, capsys):
    Path("methods.py").touch()
    assert main(["new-method", "Own", "--folder", "methods.py"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"{Path('methods.py', 'own.py')} cannot be written (")


def test_a_method_is_not_added_twice(copy, capsys):
    assert main(["new-method", "FedGrEM"]) == 1
    assert "there is a method FedGrEM already, in fedmix.methods.fedgrem" in capsys.readouterr().err


def test_a_skeleton_is_written_in_the_repository_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in ("new-dataset", "new-paper"):
        assert main([command, "mine"]) == 1
        assert "Run this in the repository" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_is_not_added_twice(copy, capsys):
    assert main(["new-dataset", "mnist"]) == 1
    assert "has a data set mnist already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        ("integer >= 1", "expected a list of alternatives, got 'integer >= 1'"),
        (["intger >= 1"], "'intger >= 1' begins with no known kind. Did you mean 'integer'"),
        (["integer => 1"], "has bounds that are not like"),
        ([3], "3 is neither None, a text nor a set of texts"),
        (["integer >= 5"], "expected n_clusters to be an integer >= 5, got 2"),
    ],
)
def test_a_wrong_constraint_is_an_error_when_the_method_is_registered(constraint, says):
    class Mine(CentroidClustering):
        constraints = {"n_clusters": constraint}  # noqa: RUF012

        def __init__(self, n_clusters=2, random_state=0):
            self.n_clusters, self.random_state = n_clusters, random_state

    with pytest.raises(ConfigurationError) as raised:
        register(Mine)
    assert says in str(raised.value)
