"""Random streams keyed by names, so that results do not depend on order, block or machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from fedmix.checks import check_integer

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator_of(random_state: RandomState) -> np.random.Generator:
    """Return the generator for an estimator's ``random_state``.

    A Generator is used as it is. A RandomState draws the seed. None takes a new random seed. A
    negative number or another type raises ConfigurationError.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    if not isinstance(random_state, np.random.Generator | None):
        check_integer("the method", "random_state", random_state, 0)
    return np.random.default_rng(random_state)


def seed_of(random_state: RandomState) -> int:
    """Return an integer seed: the one given, or one drawn from :func:`generator_of`.

    A seed is below 2**32, because scikit-learn takes no larger one.
    """
    if isinstance(random_state, Integral) and random_state < 2**32:
        check_integer("the method", "random_state", random_state, 0)
        return int(random_state)
    return int(generator_of(random_state).integers(2**31))


@dataclass(frozen=True)
class Streams:
    """The random streams of one replication of one setting of one study.

    A stream depends only on its key, not on the order in which streams are used. All methods
    therefore get the same data, and comparisons are paired.

    Parameters
    ----------
    study, setting : str
        Names. ``setting`` does not include the variant, so that variants share their data.
    replication : int
        Replication number, from 0.

    Examples
    --------
    >>> from fedmix.streams import Streams
    >>> Streams("study", "n=100", 0).integer("partition")
    1976928023
    """

    study: str
    setting: str
    replication: int

    def generator(self, purpose: str) -> np.random.Generator:
        """Return the generator for one purpose, such as ``"partition"``."""
        return np.random.default_rng(self._sequence(purpose))

    def integer(self, purpose: str) -> int:
        """Return an integer seed below 2**31, for code that takes ``random_state``."""
        return int(self._sequence(purpose).generate_state(1)[0] >> 1)

    def _sequence(self, purpose: str) -> np.random.SeedSequence:
        key = "\x1f".join([self.study, self.setting, str(self.replication), purpose])
        words = np.frombuffer(hashlib.sha256(key.encode()).digest(), dtype="<u4")
        return np.random.SeedSequence(words.tolist())
