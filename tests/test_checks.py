"""Checks of parameters say what is wrong, where, what was expected and what was given."""

import re

import numpy as np
import pytest

from fedmix.checks import check_choice, check_integer, check_number
from fedmix.errors import ConfigurationError
from fedmix.methods.base import FederatedEstimator, register
from fedmix.methods.constraints import violation


class Method:
    """Stands for an estimator."""


def raises(message):
    return pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("value", [2, 5, np.int32(3)])
def test_integers_within_bounds_pass(value):
    check_integer("PCA", "n_components", value, 2, 5)


@pytest.mark.parametrize("value", [1, 6, 2.0, True, "2", None, np.nan])
def test_other_values_are_no_integers_within_bounds(value):
    with raises(f"PCA: expected n_components to be an integer from 2 to 5, got {value!r}."):
        check_integer("PCA", "n_components", value, 2, 5)


def test_an_estimator_is_called_by_its_class():
    with raises("Method: expected rounds to be an integer of at least 1, got 0."):
        check_integer(Method(), "rounds", 0, 1)


@pytest.mark.parametrize("value", [0.1, 1, 0, np.float32(0.5)])
def test_numbers_within_closed_bounds_pass(value):
    check_number("PCA", "share", value, least=0, most=1)


@pytest.mark.parametrize("value", [0, 1, -0.1, np.inf, np.nan, True, "0.5", None])
def test_other_values_are_no_numbers_within_open_bounds(value):
    with raises(f"PCA: expected share to be a finite number above 0 and below 1, got {value!r}."):
        check_number("PCA", "share", value, above=0, below=1)


def test_a_choice_comes_with_the_nearest_valid_name():
    check_choice("FFCM", "rule", "own", ("own", "published"))
    with raises("FFCM: unknown rule 'onw'. Did you mean 'own'? Valid: own, published."):
        check_choice("FFCM", "rule", "onw", ("own", "published"))
    with raises("FFCM: unknown rule 3. Valid: own, published."):
        check_choice("FFCM", "rule", 3, ("own", "published"))


def test_a_method_without_a_constraint_for_a_parameter_cannot_be_registered():
    class Careless(FederatedEstimator):
        def __init__(self, n_moons=2, random_state=0):
            self.n_moons, self.random_state = n_moons, random_state

    with pytest.raises(ConfigurationError, match=r"Careless: .* differ in n_moons"):
        register(Careless)


@pytest.mark.parametrize(
    ("alternatives", "good", "bad"),
    [
        (["integer >= 1"], [1, np.int32(7)], [0, 1.0, True, "1", None]),
        (["number > 0 and <= 1"], [1, 0.5, np.float32(0.1)], [0, 1.1, np.nan, True, "0.5"]),
        (["integers >= 1", None], [[1, 2], np.array([3]), None], [[0], [1.5], 3, "12"]),
        (["boolean", {"own"}], [True, np.False_, "own"], [0, 1, "onw", None]),
        (["array-like"], [[1], np.zeros(2)], ["ab", np.float64(1.0), {}, None]),
        (["mapping", "string"], [{}, "a"], [[], 1]),
        (["random_state"], [0, None, np.random.default_rng(0)], [-1, 1.5, "0"]),
    ],
)
def test_an_alternative_holds_for_what_it_says(alternatives, good, bad):
    assert not any(violation("M", "p", value, alternatives) for value in good)
    assert all(violation("M", "p", value, alternatives) for value in bad)


def test_a_wrong_word_comes_with_the_nearest_right_one():
    told = violation("FFCM", "rule", "onw", [{"own", "published"}])
    assert told == "FFCM: expected rule to be 'own' or 'published', got 'onw'. Did you mean 'own'?"


def test_planning_reads_constraints_without_numerical_libraries():
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from fedmix.methods.capabilities import constraints_of\n"
        "from fedmix.methods.constraints import violation\n"
        "assert violation('FedGrEM', 'tol', -1, constraints_of('FedGrEM')['tol'])\n"
        "assert not {'numpy', 'sklearn', 'numba', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
