"""Embeddings: from raw features to the few dimensions in which mixtures are fitted.

A data set's entry in the configuration asks for them by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from fedmix.embed.base import EmbeddingResult, check_features
from fedmix.embed.linear import frozen, identity, pca, standardize
from fedmix.embed.tsne import Progress, tsne
from fedmix.embed.vae import vae as _vae
from fedmix.errors import ConfigurationError, nearest_names

__all__ = ["EMBEDDINGS", "EmbeddingResult", "Progress", "embed", "tsne"]

_HIDDEN = ("threads", "callback", "return_details")  # no parameters of a specification


@wraps(tsne)
def _tsne(features: np.ndarray, **parameters: Any) -> EmbeddingResult:
    result = tsne(features, **parameters, return_details=True)
    assert isinstance(result, EmbeddingResult)  # as return_details asks for
    return result


#: Kinds of embedding: functions of the features and of parameters, to an EmbeddingResult.
EMBEDDINGS: dict[str, Callable[..., EmbeddingResult]] = {
    "identity": identity,
    "standardize": standardize,
    "pca": pca,
    "tsne": _tsne,
    "vae": _vae,
    "file": frozen,
}


def embed(
    spec: str | dict[str, Any],
    features: np.ndarray,
    random_state: int = 0,
    threads: int = 1,
    callback: Callable[[Any], None] | None = None,
) -> EmbeddingResult:
    """Embed a data set's features as its configuration asks.

    Parameters
    ----------
    spec : dict or str
        ``{"kind": "tsne", "n_components": 10, ...}``: a kind of ``EMBEDDINGS`` and its parameters;
        a bare name takes the kind's defaults. A ``random_state`` in it wins over the argument.
    features : array-like of shape (n, d)
        Finite features.
    random_state : int, default=0
        Seed.
    threads : int, default=1
        Threads to use; the embedding does not depend on it.
    callback : callable, optional
        Receives progress, which prints as a line of text, from the kinds that take long.

    Returns
    -------
    EmbeddingResult

    Raises
    ------
    ConfigurationError
        An unknown kind or parameter, with the nearest valid names, or a value out of range.
    DataError
        Features that are not finite, or a frozen embedding that is not what was promised.
    MissingExtraError
        The kind needs an optional dependency; the message says what to install.

    Examples
    --------
    >>> features = np.array([[0.0, 2.0], [4.0, 2.0]])
    >>> embed({"kind": "pca", "n_components": 1}, features).embedding.shape
    (2, 1)
    """
    kind, parameters = _parse(spec, random_state)
    function = EMBEDDINGS[kind]
    given = {"threads": threads, "callback": callback}
    taken = {name: given[name] for name in inspect.signature(function).parameters if name in given}
    result = function(check_features(features), **parameters, **taken)
    seed = parameters.pop("random_state", None)
    details = {"kind": kind, "seed": seed, "parameters": parameters, **result.details}
    return EmbeddingResult(np.ascontiguousarray(result.embedding, dtype=np.float64), details)


def _parse(spec: str | dict[str, Any], random_state: int) -> tuple[str, dict[str, Any]]:
    """Return the kind and all its parameters, with defaults for those that are not given."""
    chosen = {"kind": spec} if isinstance(spec, str) else dict(spec)
    kind = chosen.pop("kind", None)
    if kind not in EMBEDDINGS:
        raise ConfigurationError(
            f"embedding: unknown kind {kind!r}. {nearest_names(str(kind), EMBEDDINGS)}"
        )
    _, *known = inspect.signature(EMBEDDINGS[kind]).parameters.values()
    parameters = {p.name: p.default for p in known if p.name not in _HIDDEN}
    for name in chosen:
        if name not in parameters:
            raise ConfigurationError(
                f"embedding {kind!r}: unknown parameter {name!r}. {nearest_names(name, parameters)}"
            )
    if "random_state" in parameters:
        parameters["random_state"] = random_state
    parameters.update(chosen)
    missing = [name for name, value in parameters.items() if value is inspect.Parameter.empty]
    if missing:
        raise ConfigurationError(f"embedding {kind!r}: {', '.join(missing)} is missing.")
    return kind, parameters
