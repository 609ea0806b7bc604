"""Whatever goes in: a right answer or a clear error, never a hang, a crash or NaN."""

import re
import signal
from contextlib import contextmanager
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.base import BaseEstimator

from contract_cases import CASES, build, learned
from fedmix import Clients, methods
from fedmix.checks import check_choice, check_integer, check_number
from fedmix.errors import ConfigurationError, DataError, FedmixError
from fedmix.methods.base import FederatedEstimator, register
from fedmix.methods.centroids import CentroidClustering
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


def test_a_class_that_is_no_estimator_cannot_be_registered():
    class Alone:
        constraints = {}  # noqa: RUF012

    for alone in (Alone, BaseEstimator):
        with pytest.raises(
            ConfigurationError, match=rf"{alone.__name__} is no method: .* inherits"
        ):
            register(alone)
    assert "Alone" not in methods.index()


def nothing(self, clients):
    """Stand for the functions of a method."""


@pytest.mark.parametrize(
    ("functions", "says"),
    [
        ({}, r"Mine has no _fit. Define _fit\(clients\). Mine has no _predict"),
        ({"_fit": nothing}, r"Mine has no _predict"),
        ({"fit": nothing, "_predict": nothing}, r"Mine replaces fit. Define _fit\(clients\)"),
        ({"_fit": nothing, "_predict": nothing}, "Mine: the parameter random_state has no default"),
    ],
)
def test_an_unfinished_method_cannot_be_registered(functions, says):
    def init(self, random_state):
        pass

    mine = type("Mine", (FederatedEstimator,), {"__init__": init, **functions})
    with pytest.raises(ConfigurationError, match=says):
        register(mine)
    assert "Mine" not in methods.index()


@pytest.mark.parametrize(
    ("centres", "labels", "says"),
    [
        (np.zeros((2, 4)), None, r"expected centres of shape \(K, 3\), got \(2, 4\)"),
        (np.zeros(3), None, r"expected centres of shape \(K, 3\), got \(3,\)"),
        (np.zeros((1, 3)), -1, "expected labels that start from 0, got -1 for client 0"),
    ],
)
def test_centres_and_labels_of_another_form_are_refused(centres, labels, says):
    class Wrong(CentroidClustering):
        def _fit(self, clients):
            self._set_centres(centres)

        def _predict(self, clients):
            return [np.full(n, labels) for n in clients.sizes]

        def check_parameters(self):
            pass

    with pytest.raises(DataError, match=f"Wrong: {says}"):
        Wrong().fit([np.ones((2, 3))])


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


ROOT = Path(__file__).parents[1]
LAYOUTS = {
    "contiguous": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1, ::-1],
    "float32": lambda x: x.astype(np.float32),
    "integers": lambda x: np.clip(np.round(x), -(2**62), 2**62).astype(np.int64),
}
#: What a client's points look like before scaling, from a generator and a shape.
SHAPES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "ties": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "constant": lambda rng, shape: np.full(shape, 3.0),
    "one far point": lambda rng, shape: np.vstack(
        [rng.standard_normal((shape[0], shape[1])), np.full((1, shape[1]), 1e8)]
    )[1:],
    "constant column": lambda rng, shape: rng.standard_normal(shape) * (np.arange(shape[1]) > 0),
}
hurried = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def ragged_arrays(draw, scales=(-150, -20, -3, 0, 3, 20, 140)):
    """Draw one array a client: any sizes, empty ones too, any shape of data, scale and layout."""
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 12]), min_size=1, max_size=6))
    sizes[draw(st.integers(0, len(sizes) - 1))] += 5
    width = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    kind, layout = draw(st.sampled_from(sorted(SHAPES))), draw(st.sampled_from(sorted(LAYOUTS)))
    scale = 10.0 ** draw(st.sampled_from(scales))
    if layout in ("float32", "integers"):
        scale = min(max(scale, 1e-20), 1e10)
    arrays = []
    for n in sizes:
        x = SHAPES[kind](rng, (n, width)) if n else np.empty((0, width))
        x = LAYOUTS[layout](x * scale)
        x.flags.writeable = False
        arrays.append(x)
    return arrays


@contextmanager
def time_limit(seconds):
    """Turn a hang into a failure."""

    def expire(*_):
        raise AssertionError(f"still running after {seconds} s")

    previous = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "family"), CASES)
@hurried
@given(xs=ragged_arrays(), seed=st.integers(0, 99))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_method_answers_in_numbers_or_says_what_is_wrong(name, family, xs, seed):
    responses = None
    if family == "regression":
        rng = np.random.default_rng(seed)
        responses = [np.asarray(x, float).sum(axis=1) + rng.standard_normal(len(x)) for x in xs]
    clients = Clients.from_arrays(xs, responses)
    told = {"models": np.ones((2, clients.n_features))} if name == "OracleClustering" else {}
    estimator = build(name, family, **told)
    try:
        with time_limit(20):
            labels = estimator.fit(clients).predict(clients)
    except FedmixError as error:
        assert len(str(error)) > 20, "an error must say what is wrong"  # noqa: PT017
        return
    assert [len(own) for own in labels] == list(clients.sizes)
    assert all((own >= 0).all() for own in labels)
    for attribute, value in learned(estimator).items():
        assert np.isfinite(_numbers(value)).all(), attribute


def _numbers(value):
    """Return all numbers in a learned attribute, however they are nested."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return np.concatenate([np.empty(0), *(_numbers(v) for v in value)])
    try:
        return np.ravel(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        return np.empty(0)  # words


@pytest.mark.slow
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-160, 1e140])
@pytest.mark.parametrize("spread", [1e-150, 1.0, 1e140])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_responses_of_any_scale_give_numbers_or_a_clear_error(scale, spread):
    rng = np.random.default_rng(3)
    xs = [spread * rng.standard_normal((n, 3)) for n in (5, 0, 12)]
    clients = Clients.from_arrays(xs, [scale * rng.standard_normal(len(x)) for x in xs])
    try:
        fitted = build("FedEM", "regression").fit(clients)
    except FedmixError as error:
        assert re.search("overflow|not finite", str(error))  # noqa: PT017 - small ones are fitted
        assert scale / spread > 1e200
    else:
        assert np.isfinite(fitted.means_).all()


@pytest.mark.slow
@hurried
@given(xs=ragged_arrays())
def test_clients_keep_every_number_and_take_no_part_in_later_changes(xs):
    clients = Clients.from_arrays(xs)
    assert len(clients) == len(xs)
    for k, x in enumerate(xs):
        np.testing.assert_array_equal(clients[k], np.asarray(x, dtype=np.float64))
        assert clients[k].flags.c_contiguous
    assert clients.pooled().n_points == sum(map(len, xs))
    for part, x in zip(clients.split(clients.points), xs, strict=True):
        assert len(part) == len(x)


@pytest.mark.slow
@hurried
@given(xs=ragged_arrays(scales=(0,)), bad=st.sampled_from([np.nan, np.inf, -np.inf]))
def test_a_number_that_is_none_is_found_and_its_client_named(xs, bad):
    xs = [np.array(x, dtype=np.float64) for x in xs]
    k = max(range(len(xs)), key=lambda k: len(xs[k]))
    xs[k][-1, -1] = bad
    with pytest.raises(DataError, match=f"Client {k}: points hold NaN or infinity"):
        Clients.from_arrays(xs)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_points_of_another_width_are_refused_in_prediction(name):
    family = dict(CASES)[name]
    rng = np.random.default_rng(0)

    def some(width):
        xs = [rng.standard_normal((12, width)) for _ in range(6)]
        return Clients.from_arrays(xs, [x[:, 0] for x in xs] if family == "regression" else None)

    estimator = build(name, family).fit(some(3))
    with pytest.raises(ValueError, match=r"feature|shape|width|d="):
        estimator.predict(some(4))


UNSAFE = {
    "pickle": r"allow_pickle\s*=\s*True|\bimport pickle|\bfrom pickle|read_pickle|\bcloudpickle",
    "eval": r"(?<![\w.])(eval|exec)\(",
    "unsafe YAML": r"yaml\.(unsafe_load|full_load|Loader|UnsafeLoader)",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", UNSAFE)
def test_nothing_read_from_disk_or_network_can_run_code(what):
    files = [p for d in ("src", "workflow", "docs", "benchmarks") for p in (ROOT / d).rglob("*")]
    files = [p for p in files if p.suffix in {".py", ".smk"}]
    assert len(files) > 50
    found = [p for p in files if re.search(UNSAFE[what], p.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.slow
def test_every_archive_is_read_without_pickle_and_yaml_by_a_safe_loader():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for call in re.findall(r"np\.load\([^)]*\)", text):
            assert "allow_pickle=False" in call, path
        for call in re.findall(r"yaml\.load\(.*\)", text):
            assert "Safe" in call or "_StrictLoader" in call, path
