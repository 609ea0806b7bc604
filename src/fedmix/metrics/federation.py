"""The clients' gain from federation, compared with their own fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fedmix.errors import DataError


def federation_gain(
    together: ArrayLike, alone: ArrayLike, noticed: float = 0.0
) -> dict[str, float]:
    """Return the clients' gain from federation.

    Parameters
    ----------
    together, alone : array-like of shape (K,)
        Each client's error as a member, and that of its own fit without exchange.
    noticed : float, default=0.0
        A client is harmed by a rise of its error beyond this. Errors on test points differ by
        chance: with 0, a client that gains nothing is harmed half of the time.

    Returns
    -------
    dict
        ``gain``, the mean fall of the error; ``harmed``, the share of clients that are harmed;
        ``worst_decile``, the gain that nine clients of ten reach.

    Raises
    ------
    DataError
        If there is no client, if the two differ in length, or if an error is NaN.
    """
    together, alone = np.asarray(together, float), np.asarray(alone, float)
    if together.shape != alone.shape or not together.size:
        raise DataError(
            f"Errors of shapes {together.shape} and {alone.shape}: expected one a client."
        )
    if np.isnan(together).any() or np.isnan(alone).any():
        raise DataError("Errors hold NaN: a failed fit has no gain. Leave the client out of both.")
    gains = alone - together
    return {
        "gain": float(gains.mean()),
        "harmed": float(np.mean(gains < -noticed)),
        "worst_decile": float(np.quantile(gains, 0.1)),
    }
