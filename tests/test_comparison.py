"""Comparing methods in a notebook: the workflow's runner, frame, tables and ranks."""

import doctest
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import yaml

from fedmix import Clients, compare, comparison, methods
from fedmix.comparison_methods import chosen_methods, with_start
from fedmix.errors import ConfigurationError, DataError
from fedmix.methods import capabilities
from fedmix.methods.base import register
from fedmix.methods.centroids import CentroidClustering

ROOT = Path(__file__).parents[1]
TWO_STARTS = [(np.full((4, 2), 0.5), np.full((4, 2, 2), mean)) for mean in (0.0, 1.0)]
CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    labels = [rng.integers(3, size=n) for n in (40, 30, 0, 35)]
    return [CENTRES[own] + rng.normal(size=(len(own), 2)) for own in labels], labels


@pytest.fixture
def origin():
    """A method as one writes it in a notebook: every point belongs to one cluster."""

    @register
    class AllAlike(CentroidClustering):
        """One cluster at the mean of the first client's points."""

        needs: ClassVar[tuple[str, ...]] = ()

        def __init__(self, random_state=0):
            self.random_state = random_state

        def _fit(self, clients):
            self.n_rounds_, self.converged_ = 1, True
            self._set_centres(clients[0].mean(axis=0, keepdims=True))

    yield AllAlike
    capabilities._defined.clear()


def test_the_protocol_is_that_of_the_matrix():
    study = yaml.safe_load((ROOT / "config/beyond/matrix/studies/matrix.yaml").read_text())
    constants = study["constants"]
    assert {name: constants[name] for name in comparison.PROTOCOL} == comparison.PROTOCOL


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_methods_of_a_notebook_estimators_and_names_meet_in_one_table(problem, origin):
    xs, labels = problem
    given = [origin(), methods.FedGrEM(n_components=3), "KFED", methods.FedEM]
    found = compare(given, xs, labels, replications=5, progress=False)
    table = found.table()
    assert list(table.index) == ["AllAlike", "FedGrEM", "KFED", "FedEM"]
    assert table.loc["AllAlike", "ARI of all points"] == "0.000 (0.000)"
    assert table.loc["FedEM", "ARI of all points"].startswith("**")
    frame = found.frame.set_index(["item", "method"])
    assert frame.loc[("ari_pooled", "KFED"), "n"] == 5
    assert found.ranks()["method"].iloc[-1] == "AllAlike"
    assert found.ranks("misclustering")["method"].iloc[-1] == "AllAlike"
    assert len(found.timings) == 20
    assert found.failures.empty
    assert found.plot().get_title(loc="left") == "ARI of all points"
    html = found._repr_html_()
    assert html.startswith("<table>"), "a part of a page, without a style of its own"
    assert "AllAlike" in html
    assert "Preset" not in html, "no preset made it"
    with pytest.raises(ConfigurationError, match=r"Unknown score 'ari'.*ari_pooled"):
        found.ranks("ari")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_means_every_method_for_such_data_and_no_labels_mean_silhouettes(problem):
    xs, _ = problem
    found = compare(["all"], xs, n_components=3, replications=1, progress=False)
    assert list(found.table().index) == methods.capabilities.able_methods()
    assert not any("ARI" in column for column in found.table())
    assert "silhouette of all points" in found.table()


def test_the_same_comparison_gives_the_same_bits_and_another_seed_other_splits(problem):
    xs, labels = problem
    one, again, other = (
        compare(["FedEM"], xs, labels, replications=2, random_state=seed, progress=False)
        for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(one.results, again.results)
    assert not one.results["value"].equals(other.results["value"])


def test_labels_come_by_client_by_name_or_in_the_order_of_the_rows(problem):
    xs, labels = problem
    frame = pd.DataFrame(np.concatenate(xs), columns=["u", "v"])
    frame["client"] = np.repeat(["a", "b", "c", "d"], [len(x) for x in xs])
    frame["class"] = np.array(["x", "y", "z"])[np.concatenate(labels)]
    frame = frame.sample(frac=1, random_state=0)
    clients = Clients.from_frame(frame.drop(columns="class"))
    by_client = [own["class"].to_numpy() for _, own in frame.groupby("client")]
    forms = [
        frame["class"],
        frame["class"].tolist(),
        by_client,
        dict(zip("abd", by_client, strict=True)),
    ]
    scores = [
        compare(["FedEM"], clients, own, replications=1, progress=False).results["value"].tolist()
        for own in forms
    ]
    assert scores[0] == scores[1] == scores[2] == scores[3]


def test_two_of_a_kind_are_told_apart_by_their_parameters(problem):
    xs, labels = problem
    given = [methods.FedGrEM(), methods.FedGrEM(penalty_scale=8.0)]
    found = compare(given, xs, labels, replications=1, progress=False)
    assert list(found.table().index) == ["FedGrEM", "FedGrEM(penalty_scale=8.0)"]


@pytest.mark.parametrize("method", [methods.FedEM(5), methods.FedGEM(2)])
def test_an_estimator_may_have_another_number_of_components(problem, method):
    found = compare(method, *problem, replications=1, progress=False)
    assert found.failures.empty
    assert found.table().index.tolist() == [type(method).__name__]


def test_a_choice_of_the_comparison_is_not_warned_of_in_each_replication(problem, recwarn):
    compare("FedGEM", *problem, replications=2, progress=False)
    assert not [one for one in recwarn if "number of clusters depends" in str(one.message)]


@pytest.mark.parametrize(
    ("method", "n", "started"),
    [
        (methods.FedEM(), 3, False),
        (methods.FedEM(3), 3, False),
        (methods.FedEM(3), 2, True),
        (methods.FedGEM(3), 3, True),
        (methods.KFED(3), 2, False),
    ],
)
def test_only_an_own_number_of_components_needs_the_default_start(method, n, started):
    given = with_start(*chosen_methods(method), n)
    assert ("init" in given.parameters) == started


def test_only_values_that_differ_from_the_defaults_are_an_estimator_s_own():
    given = [methods.FedEM(), methods.FedEM(random_state=False), methods.FedEM(init=np.zeros(2))]
    changed = [list(method.parameters) for one in given for method in chosen_methods(one)]
    assert changed == [[], ["random_state"], ["init"]]


def test_all_adds_the_methods_that_are_not_named():
    names = [method.name for method in chosen_methods(["all", "KFED"])]
    assert names[0] == "KFED"
    assert sorted(names) == sorted(methods.capabilities.able_methods())


def test_the_number_that_is_given_comes_before_that_of_the_labels(problem):
    found = compare(["KFED", "FedEM"], *problem, n_components=2, replications=1, progress=False)
    assert found.table()["clusters"].tolist() == ["2.0", "2.0"]
    assert all(rounds.isdigit() for rounds in found.table()["rounds"])
    assert found.plot().texts[0].get_text().startswith("critical difference")
    assert compare("KFED", *problem, replications=1, progress=False).plot().texts[:] == []
    few = compare("KFED", [problem[0][0][:3]], n_components=3, replications=1, progress=False)
    assert list(few.table().index) == ["KFED"], "as many points as clusters are enough"


def test_a_failure_stands_in_the_table_with_its_reason(problem, origin, caplog):
    class_ = origin
    class_._fit = lambda self, clients: 1 / 0
    says = r"AllAlike failed in 2 of 2 replications.*ZeroDivisionError.*test_comparison.py, line"
    with pytest.warns(UserWarning, match=says):
        found = compare([class_, "FedEM"], *problem, replications=2, progress=False)
    assert not caplog.records
    assert found._repr_html_().count("ZeroDivisionError") == 1
    assert "Not run" not in found._repr_html_()
    assert found.failures["message"].tolist() == 2 * ["ZeroDivisionError: division by zero"]
    assert found.table().loc["AllAlike", "ARI of all points"] == "error, n = 0"
    assert "Nothing is in bold" in found._repr_html_()
    assert repr(found) == found.table().to_string()
    with (
        pytest.warns(UserWarning, match="AllAlike failed in 1 of 1"),
        pytest.raises(ConfigurationError, match="all replications failed"),
    ):
        compare(class_, *problem, replications=1, progress=False).plot()


def test_one_cluster_without_labels_has_no_ranks_and_did_not_fail(problem):
    found = compare(["KFED"], problem[0], n_components=1, replications=1, progress=False)
    assert found.failures.empty
    with pytest.raises(ConfigurationError, match="or have one cluster"):
        found.ranks()


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (["FedEM"], {}, "no labels, and no estimator names one. Give n_components"),
        ([methods.FedGEM([2, 2, 0, 2])], {}, "no labels, and no estimator names one"),
        ([methods.FedEM(2), methods.KFED(3)], {}, r"the estimators name \[2, 3\]"),
        ([methods.FedEM(2, family="regression")], {}, "FedEM cannot be compared here: its family"),
        (["FedEM"], {"replications": 0}, "expected replications to be an integer >= 1, got 0"),
        (["FedEM"], {"random_state": None}, "expected random_state to be an integer, got None"),
        (["FedEM"], {"n_components": 2.0}, "expected n_components to be an integer >= 1 or None"),
        (["FedEM", "FedEM"], {"n_components": 2}, "FedEM is given twice"),
        ([methods.FedEM(2, init=init) for init in TWO_STARTS], {}, "arrays are not part of a name"),
        ([], {"n_components": 2}, "there is no method"),
        (["FedMe"], {"n_components": 2}, "Did you mean 'FedEM'"),
        (["TwoPhase"], {"n_components": 2}, "TwoPhase cannot be compared here"),
        ([object()], {"n_components": 2}, "object is not registered. Decorate your own class"),
    ],
)
def test_what_cannot_be_compared_is_said_before_anything_runs(problem, given, options, says):
    with pytest.raises(ConfigurationError, match=says):
        compare(given, problem[0], progress=False, **options)


def test_a_method_that_needs_what_its_constructor_lacks_is_told_before_anything_runs(problem):
    @register
    class NeedsNothingThatItTakes(CentroidClustering):  # `needs` is n_components by default
        constraints: ClassVar = {"n_clusters": ["integer >= 1"]}

        def __init__(self, n_clusters=2, random_state=0):
            self.n_clusters, self.random_state = n_clusters, random_state

        def _fit(self, clients):
            self._set_centres(clients.points[: self.n_clusters])

    with pytest.raises(ConfigurationError, match="its `needs` names 'n_components', which its con"):
        compare(NeedsNothingThatItTakes, problem[0], n_components=2, progress=False)
    capabilities._defined.clear()


def test_wrong_labels_and_regressions_are_refused(problem):
    xs, labels = problem
    with pytest.raises(DataError, match="labels: expected one per point"):
        compare(["FedEM"], xs, labels[:2], progress=False)
    named = dict(enumerate(labels))
    with pytest.raises(DataError, match=r"labels: client 'x' is not among"):
        compare(["FedEM"], dict(enumerate(xs)), named | {"x": labels[0]}, progress=False)
    with pytest.raises(DataError, match=r"got \[\(39,\), \(30,\), \(0,\), \(35,\)\]"):
        compare(["FedEM"], xs, [labels[0][1:], *labels[1:]], progress=False)
    with pytest.raises(DataError, match="some are None or NaN"):
        compare(["FedEM"], xs, [np.where(own == 0, np.nan, own) for own in labels], progress=False)
    text = ["none" if one else np.nan for one in np.concatenate(labels)]
    masked = np.ma.masked_array(np.concatenate(labels), mask=np.concatenate(labels) == 0)
    per_client = [np.ma.masked_array(own, mask=own == 0) for own in labels]
    for flat in (text, pd.array(text, dtype="string"), masked, per_client):
        with pytest.raises(DataError, match="some are None or NaN"):
            compare(["FedEM"], xs, flat, progress=False)
    with pytest.raises(DataError, match="too few points for 2 clusters and a test part"):
        compare(["FedEM"], [x[:2] for x in xs], n_components=2, progress=False)
    regression = Clients.from_arrays(xs, [x[:, 0] for x in xs])
    with pytest.raises(DataError, match="responses"):
        compare(["FedEM"], regression, labels, progress=False)


def test_a_name_of_a_method_in_a_file_is_taken():
    class KFED(CentroidClustering):
        def __init__(self, random_state=0):
            self.random_state = random_state

        def _fit(self, clients):
            self._set_centres(clients.points[:1])

    with pytest.raises(ConfigurationError, match=r"a method KFED already.*Rename"):
        register(KFED)
    with pytest.raises(ConfigurationError, match="KFED is not registered"):
        compare(KFED(), [np.eye(3)], n_components=1, progress=False)


def test_the_example_gives_what_it_shows():
    assert doctest.testmod(comparison).failed == 0
