"""Random streams keyed by names, so that no result depends on order, block or machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from fedmix.checks import check_integer

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator_of(random_state: RandomState) -> np.random.Generator:
    """Return the generator that an estimator's ``random_state`` stands for.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A generator is used as it is, a RandomState gives the seed of one; None draws fresh entropy.

    Raises
    ------
    ConfigurationError
        If it is anything else, or a negative number.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    if not isinstance(random_state, np.random.Generator | None):
        check_integer("the method", "random_state", random_state, 0)
    return np.random.default_rng(random_state)


def seed_of(random_state: RandomState) -> int:
    """Return an integer seed: the one given, or one drawn from :func:`generator_of`."""
    if isinstance(random_state, Integral):
        check_integer("the method", "random_state", random_state, 0)
        return int(random_state)
    return int(generator_of(random_state).integers(2**31))


@dataclass(frozen=True)
class Streams:
    """The random streams of one replication of one setting of one study.

    Streams with the same key are equal wherever they are asked for: the key, not the order of
    drawing, decides. Methods therefore see the same data (paired comparisons).

    Parameters
    ----------
    study, setting : str
        Names; ``setting`` leaves out the variant, so that variants share their data.
    replication : int
        Replication number, from 0.
    """

    study: str
    setting: str
    replication: int

    def generator(self, purpose: str) -> np.random.Generator:
        """Return the generator of one purpose, e.g. ``"partition"``."""
        return np.random.default_rng(self._sequence(purpose))

    def integer(self, purpose: str) -> int:
        """Return an integer seed below 2**31 for code that takes ``random_state``."""
        return int(self._sequence(purpose).generate_state(1)[0] >> 1)

    def _sequence(self, purpose: str) -> np.random.SeedSequence:
        key = "\x1f".join([self.study, self.setting, str(self.replication), purpose])
        words = np.frombuffer(hashlib.sha256(key.encode()).digest(), dtype="<u4")
        return np.random.SeedSequence(words.tolist())
