"""Random streams are keyed by names, and `random_state` takes what scikit-learn users give it."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fedmix import Clients, methods
from fedmix.errors import DivergenceError
from fedmix.streams import Streams, generator_of, seed_of


def test_any_part_of_the_key_changes_the_stream():
    keys = [
        ("a", "b", 0, "data"),
        ("b", "b", 0, "data"),
        ("a", "c", 0, "data"),
        ("a", "b", 1, "data"),
        ("a", "b", 0, "initial values"),
        ("ab", "", 0, "data"),
    ]
    draws = {Streams(s, t, r).integer(p) for s, t, r, p in keys}
    assert len(draws) == len(keys)


def test_streams_are_the_same_on_every_machine():
    assert Streams("study", "setting", 0).integer("data") == 958396225
    assert Streams("study", "setting", 0).generator("data").integers(1000, size=3).tolist() == [
        225,
        531,
        199,
    ]


SEEDED = [
    methods.FedGrEM(2, max_rounds=2),
    methods.FedGMM(2, max_rounds=2),
    methods.FedGEM(2, max_rounds=2),
    methods.FedKMeans(2, max_rounds=2),
    methods.AFCL(2, max_rounds=2),
    methods.KFED(2),
    methods.CentralGMM(2),
    methods.OneShotClustering(2, rounds=2),
    methods.IFCA(2, rounds=2),
]


def some_clients(method) -> Clients:
    generator = np.random.default_rng(0)
    xs = [generator.normal(size=(12, 2)) for _ in range(4)]
    regression = "regression" in method.families and "gaussian" not in method.families
    return Clients.from_arrays(xs, [x.sum(axis=1) for x in xs] if regression else None)


@pytest.mark.parametrize("method", SEEDED, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", [None, np.random.RandomState, np.random.default_rng])
def test_every_kind_of_random_state_is_taken(method, kind):
    state = kind and kind(0)
    method.set_params(random_state=state).fit(some_clients(method))
    assert method.n_rounds_ >= 0


def test_an_integer_seeds_as_it_is_and_generators_move_on():
    assert seed_of(7) == 7
    generator = np.random.default_rng(0)
    assert generator_of(generator) is generator
    assert seed_of(generator) != seed_of(generator)
    assert seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    assert seed_of(None) != seed_of(None)


def test_a_fit_that_diverged_names_its_round_and_predicts_nothing():
    clients = Clients.from_arrays([[[0.0], [1.0]]])
    start = (np.ones((1, 1)), np.full((1, 1, 1), 3.0))
    method = methods.LocalGradientEM(1, init=start, max_rounds=1, step_size=1.7e308)
    with np.errstate(over="ignore"), pytest.raises(DivergenceError) as error:
        method.fit(clients)
    assert "in round 1" in str(error.value)
    with pytest.raises(NotFittedError):
        method.predict(clients)


@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**32, 2**64 + 1])
def test_an_integer_of_any_size_is_a_seed(seed):
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal((8, 2)) for _ in range(4)]
    clients = Clients.from_arrays(xs, [x @ [1.0, 2.0] for x in xs])
    fits = [
        methods.OneShotClustering(n_clusters=2, rounds=2, random_state=seed).fit(clients)
        for _ in range(2)
    ]
    assert np.isfinite(fits[0].models_).all()
    np.testing.assert_array_equal(fits[0].models_, fits[1].models_)
    assert 0 <= seed_of(seed) < 2**32
    assert seed >= 2**32 or seed_of(seed) == seed
