"""What every registered method promises: a contract, checked for each of them."""

import copy
import math
import pickle
import re
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from contract_cases import CASES, arguments, build, learned, make_clients
from fedmix import Clients, methods
from fedmix.methods.base import FederatedEstimator

NAMES = sorted(methods.index())
ORDER_MATTERS = {"AFCL": "its clients are heard at times that are drawn client by client"}
every_case = pytest.mark.parametrize(("name", "family"), CASES)
every_method = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def fitted(name, family):
    """One fit a case, shared by the tests that only look at it."""
    return _fit(name, family)


@cache
def _fit(name, family):
    return build(name, family).fit(make_clients(name, family))


@every_method
def test_constructor_only_stores(name):
    marks = {argument: object() for argument in arguments(name)}
    estimator = methods.get(name)(**marks)
    assert all(getattr(estimator, argument) is mark for argument, mark in marks.items())


@every_case
def test_parameters_are_read_set_and_cloned_as_in_scikit_learn(name, family):
    estimator = build(name, family)
    assert list(estimator.get_params()) == sorted(arguments(name))
    assert repr(clone(estimator)) == repr(estimator)
    assert repr(estimator).startswith(f"{name}(")
    assert estimator.set_params(random_state=5) is estimator
    assert estimator.get_params()["random_state"] == 5
    with pytest.raises(ValueError, match="Invalid parameter"):
        estimator.set_params(no_such_parameter=1)


@every_case
def test_fitting_returns_the_estimator_and_leaves_parameters_and_data_alone(name, family):
    estimator, clients = build(name, family), make_clients(name, family)
    parameters, points = copy.deepcopy(estimator.get_params()), clients.points.copy()
    clients.points.flags.writeable = False
    assert estimator.fit(clients) is estimator
    assert_equal(estimator.get_params(), parameters)
    assert_equal(clients.points, points)


@every_case
def test_a_fit_says_how_it_went_and_what_it_sent(name, family, fitted):
    estimator = fitted
    assert isinstance(estimator.n_rounds_, int)
    assert estimator.n_rounds_ >= 0
    assert isinstance(estimator.converged_, bool)
    assert set(estimator.communication_) == {"up", "down"}
    assert all(value == int(value) >= 0 for value in estimator.communication_.values())


@every_case
def test_prediction_gives_one_integer_a_point(name, family, fitted):
    clients = make_clients(name, family)
    labels = fitted.predict(clients)
    assert isinstance(labels, list)
    assert [own.shape for own in labels] == [(n,) for n in clients.sizes]
    assert all(own.dtype.kind == "i" and (own >= 0).all() for own in labels)


@every_case
def test_prediction_before_fitting_is_an_error(name, family):
    with pytest.raises(NotFittedError):
        build(name, family).predict(make_clients(name, family))


@every_case
def test_a_seed_fixes_everything_and_no_global_generator_is_touched(name, family, fitted):
    np.random.seed(1)  # noqa: NPY002 - the global state is what is tested
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    again = build(name, family).fit(make_clients(name, family))
    assert_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert_equal(learned(again), learned(fitted))


@every_case
def test_fitting_again_forgets_the_first_fit(name, family, fitted):
    estimator = build(name, family).fit(
        make_clients(name, family, sizes=(12, 14, 9, 8, 20), seed=3)
    )
    estimator.fit(make_clients(name, family))
    assert_equal(learned(estimator), learned(fitted))


@every_case
def test_an_empty_client_takes_part_in_fit_and_prediction(name, family):
    clients = make_clients(name, family, sizes=(30, 0, 9, 21, 14, 10))
    labels = build(name, family).fit(clients).predict(clients)
    assert [len(own) for own in labels] == list(clients.sizes)


@every_case
def test_the_order_of_clients_does_not_matter_on_separated_clusters(name, family, fitted):
    if name in ORDER_MATTERS:
        pytest.skip(ORDER_MATTERS[name])
    clients, order = make_clients(name, family), [2, 5, 0, 1, 4, 3]
    straight = fitted.predict(clients)
    shuffled = clients.subset(order)
    labels = build(name, family).fit(shuffled).predict(shuffled)
    for place, k in enumerate(order):
        assert adjusted_rand_score(straight[k], labels[place]) > 0.7


@every_case
def test_float32_integers_and_strides_are_only_other_ways_to_write_numbers(name, family):
    clients = make_clients(name, family)
    rounded = [np.round(x) + 0.0 for x in clients]  # LAPACK tells -0.0 from 0.0
    responses = None if clients.responses is None else clients.split(clients.responses)
    plain = build(name, family).fit(Clients.from_arrays(rounded, responses))
    views = [np.asfortranarray(np.repeat(x, 2, axis=0))[::2] for x in rounded]
    for xs in (views, [x.astype(np.float32) for x in rounded], [x.astype(int) for x in rounded]):
        same = build(name, family).fit(Clients.from_arrays(xs, responses))
        assert_equal(learned(same), learned(plain))


@every_case
def test_a_fitted_method_survives_pickling(name, family, fitted):
    clients = make_clients(name, family)
    copied = pickle.loads(pickle.dumps(fitted))
    assert_equal(copied.predict(clients), fitted.predict(clients))


@pytest.mark.parametrize("wrong", ["many", 2.5, -1, math.nan, math.inf, [1, 2], {}], ids=repr)
@every_method
def test_a_parameter_of_a_wrong_type_is_a_clear_error(name, wrong):
    family = methods.get(name).families[0]
    clients = make_clients(name, family)
    for argument in arguments(name):
        try:
            build(name, family, **{argument: wrong}).fit(clients)
        except ValueError as error:  # ConfigurationError is one
            assert argument in str(error) or "models" in str(error)  # noqa: PT017 - not all fail


@every_method
def test_capabilities_are_declared_and_true(name):
    kind = methods.get(name)
    assert kind.families
    assert set(kind.families) <= {"gaussian", "regression"}
    assert kind.level in {"sample", "client"}
    assert set(kind.needs) <= set(arguments(name))
    assert kind.starts_from in {None, "mixtures", "means", "models", "model"}
    assert kind.starts_from is None or "init" in arguments(name)
    assert set(kind.tunes) <= set(arguments(name))


@pytest.mark.parametrize("name", [n for n in NAMES if methods.get(n).families == ("regression",)])
def test_a_method_for_regression_refuses_data_without_responses(name):
    with pytest.raises(ValueError, match="response"):
        build(name, "regression").fit(make_clients(name, "gaussian"))


@every_method
def test_docstring_names_every_parameter_and_the_source(name):
    text = _documentation(methods.get(name))
    assert "Parameters" in text
    missing = [argument for argument in arguments(name) if not re.search(rf"\b{argument}\b", text)]
    assert not missing
    assert re.search(r"References\n\s+-+|Notes\n\s+-+|\(\d{4}\)|Appendix|scikit-learn", text)


@every_case
def test_docstring_names_every_learned_attribute(name, family, fitted):
    text = _documentation(methods.get(name))
    missing = [a for a in learned(fitted) if not re.search(rf"\b{a}\b", text)]
    assert not missing


def _documentation(kind):
    """Return the docstrings of a class and of its bases, and of classes that they refer to."""
    classes = [c for c in kind.__mro__ if issubclass(c, FederatedEstimator)]
    text = "\n".join(c.__dict__.get("__doc__") or "" for c in classes)
    referred = re.findall(r"As in\s+:class:`~?fedmix\.methods\.\w+\.(\w+)`", text)
    return "\n".join([text, *(methods.get(r).__doc__ for r in referred)])
