"""Choosing parameters without labels, by held-out likelihood, silhouette or stability.

Any parameter of a method can be chosen: for example the number of components, FedGEM's
``final_radius_scale`` (v), or FedGrEM's ``penalty_scale`` (C) and ``initial_penalty`` (lambda[0]).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fedmix.checks import check_integer
from fedmix.clients import Clients, ClientsLike, as_clients, offsets_of
from fedmix.errors import ConfigurationError, DivergenceError, SelectionWarning, nearest_names
from fedmix.metrics.clustering import adjusted_rand_index, silhouette
from fedmix.streams import seed_of

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
#: A federated estimator. No class is imported, because the methods import this module.
Estimator = Any
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]

#: Parameters that may change where a method starts.
_OF_THE_START = {"init", "n_components", "family", "random_state"}
#: Averages over clients of their values, given their numbers of points.
_AVERAGES: dict[str, Callable] = {
    "median": lambda values, sizes: np.median(values),
    "mean": lambda values, sizes: np.mean(values),
    "weighted": lambda values, sizes: np.average(values, weights=sizes),
}


@dataclass(frozen=True)
class Selection:
    """The chosen parameters, with the scores of all candidates.

    Parameters
    ----------
    best_parameters : dict
        The candidate with the best score. The first one wins a tie.
    scores : DataFrame
        One row per candidate, in the given order, with its parameters, its ``score`` and
        ``n_undefined``: the number of clients' values that the criterion could not compute. They
        count as 0. A candidate that diverged has no score.
    by_client : ndarray of shape (n_candidates, n_clients)
        Each client's mean over the folds, for the clients with held-out points. The scores are
        averages of these. NaN if a candidate diverged.
    best_estimator : FederatedEstimator or None
        The estimator fitted to all points with the best parameters; None if ``refit`` is False.
    """

    best_parameters: dict[str, Any]
    scores: pd.DataFrame
    by_client: FloatArray
    best_estimator: Estimator | None = None


@dataclass(frozen=True)
class Criterion:
    """A way to score a candidate on points that it was not fitted to.

    Parameters
    ----------
    measure : callable
        Takes an unfitted estimator, the points to fit and the held-out points. Returns one value
        per client, NaN or None if it is undefined.
    n_folds : int
        Default number of folds.
    relative : bool, default=False
        Whether the values can only be compared within a client. They then become gains over the
        first candidate's value.
    fits_once : bool, default=True
        Whether only the points to fit are fitted to, so that all candidates may share a start.
    """

    measure: Callable[[Estimator, Clients, Clients], Sequence[float | None]]
    n_folds: int
    relative: bool = False
    fits_once: bool = True


def choose(
    estimator: Estimator,
    clients: ClientsLike,
    candidates: Grid,
    criterion: str = "held_out",
    average: str = "median",
    n_folds: int | None = None,
    n_splits: int | None = None,
    refit: bool = True,
    random_state: int = 0,
) -> Selection:
    """Choose an estimator's parameters without labels.

    Each client's points are assigned to folds at random, and each fold is held out in turn. A
    client's score is the mean over folds. A candidate's score is the average over clients. A client
    sends only one number per candidate.

    Parameters
    ----------
    estimator : FederatedEstimator
        Its other parameters are kept. An ``init`` given by name uses only the points that are not
        held out. An ``init`` given in numbers may depend on the held-out points.
    clients : Clients, list of K arrays or data frames of shape (n_k, d), or (X, groups)
        The training data.
    candidates : mapping of str to sequence, or a list of such
        Values of each parameter, combined as by scikit-learn's ``ParameterGrid``. Put the smallest
        value, or the one that pools least, first: it wins ties, and gains are measured from it.
    criterion : {"held_out", "silhouette", "stability"}, default="held_out"
        "held_out" is the mean log-likelihood of the held-out points, as a gain over the first
        candidate at the same client. The method needs ``score_samples``. "silhouette" is the
        silhouette of the held-out points' predicted labels (Rousseeuw 1987), 0 if all have the same
        label. "stability" is the adjusted Rand index on the held-out points between the labels of
        the fit to the other points and those of a fit to the held-out points alone (Lange, Roth,
        Braun and Buhmann 2004). It cannot judge one cluster, which is always stable.
    average : {"median", "mean", "weighted"}, default="median"
        Average over clients. The median is robust against contaminated clients if they are fewer
        than half. The mean, which "weighted" weights by size, is more precise if all are trusted.
    n_folds : int, optional
        Number of folds of each client's points. The default is 5 for "held_out", 3 for "silhouette"
        and 2 for "stability". A client with fewer points than folds has no held-out points.
    n_splits : int, optional
        Number of folds that are held out in turn; all by default.
    refit : bool, default=True
        Whether to fit the best candidate to all points.
    random_state : int, default=0
        Seed of the folds. The folds of client k depend only on it and on k.

    Returns
    -------
    Selection

    Raises
    ------
    ConfigurationError
        If the estimator is not a method or has no such parameter, if there is no candidate, if the
        criterion needs a likelihood that the method does not have, or if a value is not allowed.

    Warns
    -----
    SelectionWarning
        If no client has a point to hold out or all candidates diverged: the first one is chosen.
    """
    from sklearn.model_selection import ParameterGrid

    check_integer("choose", "random_state", random_state, 0)
    clients, grid = as_clients(clients), list(ParameterGrid(candidates))
    judge, over_clients = _criterion(estimator, criterion), _named("average", average, _AVERAGES)
    n_folds = judge.n_folds if n_folds is None else n_folds
    check_integer("choose", "n_folds", n_folds, 2)
    _check_candidates(estimator, grid)
    splits = _splits(clients, n_folds, n_splits, random_state)
    started = _with_starts(judge, estimator, grid, splits)
    measured = [_measure(judge, started, own, splits) for own in grid]
    by_client = _by_client(measured)
    sizes = clients.sizes[clients.sizes >= n_folds]  # of the clients with held-out points
    scores = _scores(grid, measured, by_client, judge.relative, lambda x: over_clients(x, sizes))
    if scores["score"].isna().all():
        warnings.warn(
            f"{type(estimator).__name__}: {' and '.join(grid[0])} cannot be chosen, because no "
            "client has a point for every fold or all candidates diverged. The first candidate is "
            "used.",
            SelectionWarning,
            stacklevel=2,
        )
    best = grid[int(scores["score"].fillna(-np.inf).argmax())]
    fitted = clone(estimator).set_params(**best).fit(clients) if refit else None
    return Selection(best, scores, by_client, fitted)


def tune(
    estimator: Estimator,
    clients: Clients,
    given: Mapping[str, Any] | None = None,
    candidates: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, Any]:
    """Choose the parameters in an estimator's ``tunes`` that are not given; return their values.

    The estimator's other parameters are kept, and its ``random_state`` is the seed of the folds.
    The values to try are the ``candidates`` of a parameter, by default those of
    ``estimator.candidates``.
    """
    found: dict[str, Any] = {}
    for name, how in type(estimator).open_choices(given or {}).items():
        values = (candidates or {}).get(name) or estimator.candidates(name, clients)
        seed = seed_of(estimator.random_state)
        chosen = choose(estimator, clients, {name: values}, refit=False, random_state=seed, **how)
        found |= chosen.best_parameters
    return found


def penalty_candidates(clients: Clients, family: str = "gaussian") -> list[float]:
    """Return values of FedGrEM's ``penalty_scale`` to try, in increasing order.

    The values are the powers of two from 1/2 to 32. For Gaussian data they are multiplied by the
    typical client's standard deviation, because the distances between means scale with it.
    """
    unit = typical_deviation(clients) if family == "gaussian" else 1.0
    return [unit * 2.0**power for power in range(-1, 6)]


def _criterion(estimator: Estimator, name: str) -> Criterion:
    if isinstance(estimator, type) or not hasattr(estimator, "check_parameters"):
        raise ConfigurationError(
            f"choose: expected a method such as FedEM(2), got {estimator!r}. Of a pipeline, give "
            "the last step, and the clients as the other steps transform them."
        )
    criterion = _named("criterion", name, CRITERIA)
    if name == "held_out" and not hasattr(estimator, "score_samples"):
        raise ConfigurationError(
            f"{type(estimator).__name__} has no likelihood (score_samples), so the criterion "
            "'held_out' cannot be used. Use 'silhouette' or 'stability'."
        )
    return criterion


def _named(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise ConfigurationError(f"Unknown {what} {name!r}. {nearest_names(name, known)}")
    return known[name]


def _check_candidates(estimator: Estimator, grid: Sequence[Mapping[str, Any]]) -> None:
    """Raise ConfigurationError for a parameter or a value that the estimator does not take."""
    known = estimator.get_params()
    if not grid:
        raise ConfigurationError("choose: expected at least one candidate, got none.")
    for candidate in grid:
        for name in candidate:
            if name not in known:
                method, hint = type(estimator).__name__, nearest_names(name, known)
                raise ConfigurationError(f"{method} has no parameter {name!r}. {hint}")
        clone(estimator).set_params(**candidate).check_parameters()


def _splits(
    clients: Clients, n_folds: int, n_splits: int | None, random_state: int
) -> list[tuple[Clients, Clients]]:
    """Return the points outside and in each fold; nothing if no client has a point for each."""
    n_splits = n_folds if n_splits is None else n_splits
    if not 1 <= n_splits <= n_folds:
        raise ConfigurationError(
            f"Expected n_folds >= 2 and 1 <= n_splits <= n_folds; got {n_folds} and {n_splits}."
        )
    if clients.sizes.max() < n_folds:
        return []
    own = [_folds(n, n_folds, [random_state, k]) for k, n in enumerate(clients.sizes.tolist())]
    folds = np.concatenate(own)
    return [
        (_part(clients, folds != fold), _part(clients, folds == fold)) for fold in range(n_splits)
    ]


def _folds(n_points: int, n_folds: int, seed: list[int]) -> NDArray[np.int64]:
    """Return each point's fold; -1 if a client has fewer points than folds."""
    if n_points < n_folds:
        return np.full(n_points, -1)
    return np.random.default_rng(seed).permutation(n_points) % n_folds


def _part(clients: Clients, kept: NDArray[np.bool_]) -> Clients:
    """Return the clients with those of their points that are kept."""
    sizes = [np.count_nonzero(own) for own in clients.split(kept)]
    responses = None if clients.responses is None else clients.responses[kept]
    return Clients(clients.points[kept], offsets_of(sizes), responses)


def _with_starts(
    criterion: Criterion,
    estimator: Estimator,
    grid: Sequence[Mapping[str, Any]],
    splits: Sequence[tuple[Clients, Clients]],
) -> list[Estimator]:
    """Return an estimator per split; its start is computed once if all candidates share it."""
    varied = {name for candidate in grid for name in candidate}
    shared = criterion.fits_once and hasattr(estimator, "with_start")
    if not shared or varied & _OF_THE_START:
        return [estimator] * len(splits)
    return [estimator.with_start(seen) for seen, _ in splits]


def _measure(
    criterion: Criterion,
    started: Sequence[Estimator],
    candidate: Mapping[str, Any],
    splits: Sequence[tuple[Clients, Clients]],
) -> FloatArray | None:
    """Return a candidate's values, (splits, clients with held-out points); None if it diverges."""
    measured = []
    for estimator, (seen, held) in zip(started, splits, strict=True):
        fresh = clone(estimator).set_params(**candidate)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SelectionWarning)  # the selection happens here
                values = np.array(criterion.measure(fresh, seen, held), dtype=np.float64)
        except DivergenceError:
            return None
        measured.append(values[held.sizes > 0])
    return np.array(measured) if measured else None


def _by_client(measured: Sequence[FloatArray | None]) -> FloatArray:
    """Return each candidate's means over folds, (candidates, clients), NaN if it diverged."""
    n_clients = next((values.shape[1] for values in measured if values is not None), 0)
    return np.array(
        [
            np.full(n_clients, np.nan)
            if values is None
            else np.where(np.isnan(values), 0.0, values).mean(axis=0)
            for values in measured
        ]
    )


def _scores(
    grid: Sequence[Mapping[str, Any]],
    measured: Sequence[FloatArray | None],
    by_client: FloatArray,
    relative: bool,
    average: Callable,
) -> pd.DataFrame:
    """Return each candidate with its score: the average over clients of their means over folds."""
    import pandas as pd

    first = by_client[np.argmax([values is not None for values in measured])] if relative else 0.0
    return pd.DataFrame(
        {
            **candidate,
            "score": np.nan if values is None else float(average(own - first)),
            "n_undefined": 0 if values is None else int(np.isnan(values).sum()),
        }
        for candidate, values, own in zip(grid, measured, by_client, strict=True)
    )


def _log_likelihoods(estimator: Estimator, seen: Clients, held: Clients) -> list[float]:
    """Return the mean log-likelihood of each client's held-out points."""
    return [own.mean() if own.size else np.nan for own in estimator.fit(seen).score_samples(held)]


def _silhouettes(estimator: Estimator, seen: Clients, held: Clients) -> list[float | None]:
    """Return the silhouette of the predicted labels of each client's held-out points."""
    labels = estimator.fit(seen).predict(held)
    return [silhouette(x, own) for x, own in zip(held, labels, strict=True)]


def _agreements(estimator: Estimator, seen: Clients, held: Clients) -> list[float]:
    """Compare a fit to the other points with a fit to the held-out points, for each client."""
    without, within = clone(estimator).fit(seen).predict(held), estimator.fit(held).predict(held)
    return [_agreement(a, b) for a, b in zip(without, within, strict=True)]


def _agreement(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return the agreement of two labellings; NaN if both have one cluster or there is no point."""
    if max(len(np.unique(one)), len(np.unique(other))) < 2:
        return np.nan
    return adjusted_rand_index(one, other)


def typical_deviation(clients: Clients) -> float:
    """Return the median over clients of the standard deviation (root mean square over columns).

    It is a median because contaminated clients can have any spread. It is 1 if no client has two
    points that differ.
    """
    deviations = np.array([np.sqrt(x.var(axis=0).mean()) for x in clients if len(x)])
    varied = deviations[deviations > 0]
    return float(np.median(varied)) if varied.size else 1.0


CRITERIA = {
    "held_out": Criterion(_log_likelihoods, n_folds=5, relative=True),
    "silhouette": Criterion(_silhouettes, n_folds=3),
    "stability": Criterion(_agreements, n_folds=2, fits_once=False),
}
