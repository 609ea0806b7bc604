"""The interface that every registered method has: data in, parameters checked, labels out."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_equal
from sklearn.exceptions import ConvergenceWarning

from contract_cases import CASES, arguments, build, learned, make_clients
from fedmix import methods
from fedmix.errors import ConfigurationError, DataError
from fedmix.methods.base import all_constraints
from fedmix.methods.capabilities import constraints_of
from fedmix.methods.constraints import violation

NAMES = sorted(methods.index())
GAUSSIAN = [name for name, family in CASES if family == "gaussian"]
REGRESSION = [name for name, family in CASES if family == "regression"]
every_case = pytest.mark.parametrize(("name", "family"), CASES)
every_method = pytest.mark.parametrize("name", NAMES)
every_gaussian_method = pytest.mark.parametrize("name", GAUSSIAN)


def frames_of(clients):
    return [pd.DataFrame(x, columns=["a", "b", "c"]) for x in clients]


def grouped(clients):
    return clients.points, np.repeat(np.arange(len(clients)), clients.sizes)


@pytest.mark.parametrize("form", [list, frames_of, grouped])
@every_gaussian_method
def test_lists_data_frames_and_groups_are_taken_like_clients(name, form):
    clients = make_clients(name, "gaussian")
    expected = build(name, "gaussian").fit(clients)
    fitted = build(name, "gaussian").fit(form(clients))
    assert_equal(learned(fitted), learned(expected))
    assert_equal(fitted.predict(form(clients)), expected.predict(clients))
    assert_equal(build(name, "gaussian").fit_predict(form(clients)), expected.predict(clients))
    if hasattr(fitted, "score"):
        assert fitted.score(form(clients)) == expected.score(clients)
    if hasattr(fitted, "predict_clusters"):
        assert_equal(fitted.predict_clusters(form(clients)), expected.predict_clusters(clients))


@pytest.mark.parametrize("name", REGRESSION)
def test_a_regression_says_that_a_list_has_no_responses(name):
    with pytest.raises(DataError, match=r"Clients\.from_arrays"):
        build(name, "regression").fit(list(make_clients(name, "regression")))


@pytest.mark.parametrize(
    "data",
    [None, "data", 3, {}, [1.0, 2.0], [None], np.zeros((4, 2)), pd.DataFrame({"a": [1.0]}), ()],
    ids=lambda data: type(data).__name__,
)
@every_case
def test_anything_else_is_a_type_error_that_says_what_came_and_what_is_taken(name, family, data):
    message = rf"got an? {type(data).__name__}.*Give Clients, a list of \(n_k, d\) arrays"
    with pytest.raises(TypeError, match=message):
        build(name, family).fit(data)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda x: x + 1j, "Client 1: .*complex"),
        (lambda x: np.ma.masked_array(x, mask=False), "Client 1: .*masked"),
    ],
)
@every_gaussian_method
def test_complex_and_masked_features_are_refused(name, spoil, says):
    xs = list(make_clients(name, "gaussian"))
    xs[1] = spoil(xs[1])
    with pytest.raises(DataError, match=says):
        build(name, "gaussian").fit(xs)


@every_case
def test_labels_of_the_training_data_are_kept(name, family):
    clients = make_clients(name, family)
    fitted = build(name, family).fit(clients)
    if fitted.level == "sample":
        assert_equal(fitted.labels_, fitted.predict(clients))
        assert [own.shape for own in fitted.labels_] == [(n,) for n in clients.sizes]
    else:
        assert fitted.labels_.shape == (len(clients),)
    kinds = {np.asarray(own).dtype.kind for own in fitted.labels_}
    assert kinds == {"i"}


@every_case
def test_one_client_may_have_fewer_points_than_components_but_not_all_together(name, family):
    asked = [
        a for a in ("n_components", "n_clusters", "components_per_client") if a in arguments(name)
    ]
    few = make_clients(name, family, sizes=(1, 2))
    for argument in asked:
        with pytest.raises(DataError, match=rf"{name}: {argument} asks for 4, more than the"):
            build(name, family, **{argument: 4}).fit(few)
    many = make_clients(name, family, sizes=(1, 30, 30, 30, 30, 30, 30))
    labels = build(name, family).fit(many).predict(many)
    assert [len(own) for own in labels] == list(many.sizes)


@every_case
def test_a_fit_that_misses_its_tolerance_warns_and_no_other_does(name, family):
    if "tol" not in arguments(name):
        pytest.skip("has no tolerance")
    limit = "max_rounds" if "max_rounds" in arguments(name) else "rounds"
    rng = np.random.default_rng(0)
    clients = make_clients(name, family)
    clients = clients.with_points([3.0 * rng.standard_normal(x.shape) for x in clients])
    with pytest.warns(
        ConvergenceWarning, match=f"{name} did not reach its tolerance within 1 round"
    ):
        build(name, family, **{"tol": 1e-300, limit: 1}).fit(clients)
    for untold in ({"tol": 0.0, limit: 1}, {"tol": 1e300, limit: 5}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            build(name, family, **untold).fit(clients)


@every_method
def test_defaults_are_seeded_and_never_run_a_thousand_rounds_in_silence(name):
    defaults = {k: p.default for k, p in inspect.signature(methods.get(name)).parameters.items()}
    assert defaults["random_state"] == 0
    if defaults.get("max_rounds", 0) >= 1000:
        assert defaults["tol"] > 0


@every_method
def test_constraints_name_every_parameter_and_allow_its_default(name):
    kind = methods.get(name)
    constraints = all_constraints(kind)
    assert list(constraints_of(name)) == arguments(name)
    assert constraints_of(name) == dict(constraints)
    for argument, parameter in inspect.signature(kind).parameters.items():
        if argument in kind.needs and None not in constraints[argument]:
            continue  # must be given, see the next test
        if parameter.default is not inspect.Parameter.empty:
            assert not violation(name, argument, parameter.default, constraints[argument])


@every_case
def test_a_method_can_be_built_without_what_it_needs_and_says_so_when_fitted(name, family):
    kind = methods.get(name)
    needed = [n for n in kind.needs if None not in all_constraints(kind)[n]]
    bare = kind(**{n: v for n, v in {"family": family}.items() if n in arguments(name)})
    lacking = [n for n in needed if getattr(bare, n) is None]
    if lacking:
        with pytest.raises(ConfigurationError, match=rf"{name} needs {lacking[0]}\. Give it"):
            bare.fit(make_clients(name, family))
    else:
        assert all(getattr(bare, n) is not None for n in needed)


@every_method
def test_a_value_that_is_not_allowed_names_method_parameter_value_and_what_is(name):
    family = methods.get(name).families[0]
    clients = make_clients(name, family)
    for argument in arguments(name):
        wrong = object()
        with pytest.raises(ConfigurationError) as error:
            build(name, family, **{argument: wrong}).fit(clients)
        assert str(error.value).startswith(f"{name}: expected {argument} to be ")
        assert f"got {wrong!r}." in str(error.value)
