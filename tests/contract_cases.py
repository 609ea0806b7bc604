"""Every registered method, ready to fit: a new method takes part without any edit here."""

import inspect

import numpy as np

from fedmix import Clients, methods

SIZES = (60, 42, 30, 36, 50, 27)
CENTRES = np.array([[0.0, 0.0, 0.0], [30.0, -20.0, 10.0]])
MODELS = np.array([[40.0, -10.0, 5.0], [-40.0, 10.0, 30.0]])
#: What a method can need, and limits that keep a fit short.
KNOWN = {
    "n_components": 2,
    "n_clusters": 2,
    "components_per_client": 2,
    "models": MODELS,
    "max_rounds": 6,
    "rounds": 6,
    "tol": 0.0,
    "random_state": 0,
}
CASES = [
    (name, family) for name in sorted(methods.index()) for family in methods.get(name).families
]

GAUSSIAN = [name for name, family in CASES if family == "gaussian"]
NAMES = ["a", "b", "c", "d", "e", "f"]


def arguments(name):
    """Names of a method's constructor arguments."""
    return list(inspect.signature(methods.get(name)).parameters)


def build(name, family, /, **changes):
    """Return an unfitted method with what it needs."""
    given = {**KNOWN, "family": family}
    needed = {argument: given[argument] for argument in arguments(name) if argument in given}
    return methods.get(name)(**{**needed, **changes})


def make_clients(name, family, sizes=SIZES, seed=0):
    """Return clients with two well separated components, or clusters, for the method's level."""
    rng = np.random.default_rng(seed)
    noise = [rng.standard_normal((n, 3)) for n in sizes]
    if methods.get(name).level == "sample":
        components = [np.arange(n) % 2 for n in sizes]
    else:
        components = [np.full(n, k % 2) for k, n in enumerate(sizes)]
    if family == "gaussian":
        xs = [CENTRES[own] + x for own, x in zip(components, noise, strict=True)]
        return Clients.from_arrays(xs)
    responses = [
        (x * MODELS[own]).sum(axis=1) + 0.01 * rng.standard_normal(len(x))
        for own, x in zip(components, noise, strict=True)
    ]
    return Clients.from_arrays(noise, responses)


def named(name, family, clients=None):
    """Return the clients of a case with names."""
    clients = make_clients(name, family) if clients is None else clients
    return Clients(clients.points, clients.offsets, clients.responses, NAMES)


def learned(estimator):
    """Return everything that a fit has learned, by name, but the names of features and clients."""
    names = ("feature_names_in_", "client_names_")
    found = {k: v for k, v in vars(estimator).items() if k.endswith("_") and not k.startswith("_")}
    return {k: v for k, v in found.items() if k not in names}
