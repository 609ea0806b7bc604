"""Random streams keyed by names, so that no result depends on order, block or machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


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
