"""Choosing parameters without labels: held-out likelihood, silhouette or stability.

What has to be chosen is the number of components, FedGEM's ``final_radius_scale`` (v), FedGrEM's
``penalty_scale`` (C) and ``initial_penalty`` (lambda[0]), or anything else that a method takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fedmix.clients import Clients, ClientsLike, as_clients
from fedmix.errors import (
    ConfigurationError,
    DivergenceError,
    SelectionWarning,
    nearest_names,
)
from fedmix.metrics.clustering import adjusted_rand_index, silhouette
from fedmix.streams import seed_of

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
#: A federated estimator; methods stand above this module, as scikit-learn's do above its selection.
Estimator = Any
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]

_AVERAGES: dict[str, Callable] = {"median": np.median, "mean": np.mean}


@dataclass(frozen=True)
class Selection:
    """What was chosen, and by how much.

    Parameters
    ----------
    best_parameters : dict
        The candidate of the best score; of those that tie, the first.
    scores : DataFrame
        One row a candidate, in their order: its parameters, ``score``, and ``n_undefined``, the
        clients' values that the criterion could not compute and counted as 0. A candidate that
        diverged has no score.
    by_client : ndarray of shape (n_candidates, n_clients)
        What the scores are averages of: each client's mean over folds, of the clients with points
        held out; NaN where a candidate diverged.
    best_estimator : FederatedEstimator or None
        Fitted with the best parameters to all points; None without ``refit``.
    """

    best_parameters: dict[str, Any]
    scores: pd.DataFrame
    by_client: FloatArray
    best_estimator: Estimator | None = None


@dataclass(frozen=True)
class Criterion:
    """A way to judge a candidate by points that it was not fitted to.

    Parameters
    ----------
    measure : callable
        From an unfitted estimator, the points to fit and those held out to one value a client, NaN
        or None where it is undefined.
    n_folds : int
        Folds by default.
    relative : bool
        Whether a client's values only compare with its own: they become gains over the first
        candidate's.
    """

    measure: Callable[[Estimator, Clients, Clients], Sequence[float | None]]
    n_folds: int
    relative: bool = False


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

    Each client's points are dealt to folds at random; each fold is held out in turn. A client's
    score is the mean over folds, a candidate's the average over clients: nothing but one number a
    client and candidate has to leave the client.

    Parameters
    ----------
    estimator : FederatedEstimator
        All its other parameters are kept. A named ``init`` starts from the points that are not
        held out; a start given in numbers may know the others.
    clients : Clients, list of K arrays or data frames of shape (n_k, d), or (X, groups)
        The training data.
    candidates : mapping of str to sequence, or a list of such
        Values of each parameter, combined as by scikit-learn's ``ParameterGrid``. Put first what
        pools least or is smallest: it wins ties, and gains are counted from it.
    criterion : {"held_out", "silhouette", "stability"}, default="held_out"
        "held_out": mean log-likelihood of the points held out, as a gain over the first candidate
        at the same client; for methods that have ``score_samples``. "silhouette": that of the
        labels of the points held out (Rousseeuw 1987), 0 where all have one label. "stability":
        adjusted Rand index, on the points held out, between their labels by the fit that has not
        seen them and those of a fit to them alone (Lange, Roth, Braun and Buhmann 2004); one
        cluster is always stable and no candidate here.
    average : {"median", "mean"}, default="median"
        Over clients. A median stands up to contaminated clients, which lose by any pooling, while
        they are fewer than half; a mean is more exact where all clients can be trusted.
    n_folds : int, optional
        Folds of each client's points; by default 5 for "held_out", 3 for "silhouette" (as in
        FedGEM's experiments) and 2, two halves, for "stability". A client with fewer points than
        folds has none held out.
    n_splits : int, optional
        How many of the folds are held out in turn; by default all.
    refit : bool, default=True
        Whether to fit the best candidate to all points.
    random_state : int, default=0
        Seed of the folds; client k's depend on it and on k alone.

    Returns
    -------
    Selection

    Raises
    ------
    ConfigurationError
        If the estimator has no such parameter, a candidate is not what it may be, there is no such
        criterion or the method lacks the likelihood that it needs.

    Warns
    -----
    SelectionWarning
        If there was nothing to choose by: no client has a point to hold out, or all candidates
        diverged. The first candidate is taken.

    References
    ----------
    Rousseeuw (1987). Silhouettes. Lange, Roth, Braun, Buhmann (2004). Stability-based validation of
    clustering solutions.
    """
    from sklearn.model_selection import ParameterGrid

    clients, grid = as_clients(clients), list(ParameterGrid(candidates))
    judge, over_clients = _criterion(estimator, criterion), _named("average", average, _AVERAGES)
    _check_candidates(estimator, grid)
    splits = _splits(clients, n_folds or judge.n_folds, n_splits, random_state)
    measured = [_measure(judge, estimator, own, splits) for own in grid]
    scores = _table(grid, measured, judge.relative, over_clients)
    if scores["score"].isna().all():
        warnings.warn(
            f"{type(estimator).__name__}: nothing to choose {' and '.join(grid[0])} by: no client "
            "has a point for every fold, or all candidates diverged. The first is taken.",
            SelectionWarning,
            stacklevel=2,
        )
    best = grid[int(scores["score"].fillna(-np.inf).argmax())]
    fitted = clone(estimator).set_params(**best).fit(clients) if refit else None
    return Selection(best, scores, _by_client(measured), fitted)


def tune(
    estimator: Estimator,
    clients: Clients,
    given: Mapping[str, Any] | None = None,
    candidates: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, Any]:
    """Choose the parameters that an estimator leaves open, each as its class says in ``tunes``.

    Parameters
    ----------
    estimator : FederatedEstimator
        Its other parameters are kept; the seed of the folds is its own.
    clients : Clients
        The training data.
    given : mapping, optional
        Parameters that are configured; none of them is chosen.
    candidates : mapping of str to sequence, optional
        Values to try by parameter; by default the estimator's own, ``estimator.candidates``.

    Returns
    -------
    dict
        The chosen values by parameter.
    """
    found: dict[str, Any] = {}
    for name, how in type(estimator).open_choices(given or {}).items():
        values = (candidates or {}).get(name) or estimator.candidates(name, clients)
        seed = seed_of(estimator.random_state)
        chosen = choose(estimator, clients, {name: values}, refit=False, random_state=seed, **how)
        found |= chosen.best_parameters
    return found


def choose_penalty(method: Estimator, clients: Clients) -> float:
    """Return the penalty scale of :func:`penalty_candidates` that FedGrEM's pipeline would choose.

    By held-out log-likelihood, of one fold of five; the fold's seed is the method's.

    Parameters
    ----------
    method : FedGrEM
        All its parameters but ``penalty_scale`` are kept.
    clients : Clients
        The training data.
    """
    return float(tune(method, clients)["penalty_scale"])


def penalty_candidates(clients: Clients, family: str = "gaussian") -> list[float]:
    """Return values of FedGrEM's ``penalty_scale`` worth trying, from the smallest.

    Powers of two from 1/2 to 32; for Gaussian data times the typical client's standard deviation,
    as the means that the penalty ties together grow with it.
    """
    unit = typical_deviation(clients) if family == "gaussian" else 1.0
    return [unit * 2.0**power for power in range(-1, 6)]


def _criterion(estimator: Estimator, name: str) -> Criterion:
    criterion = _named("criterion", name, CRITERIA)
    if name == "held_out" and not hasattr(estimator, "score_samples"):
        raise ConfigurationError(
            f"{type(estimator).__name__} has no likelihood (score_samples) to hold points out for. "
            "Choose by 'silhouette' or 'stability'."
        )
    return criterion


def _named(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise ConfigurationError(f"Unknown {what} {name!r}. {nearest_names(name, known)}")
    return known[name]


def _check_candidates(estimator: Estimator, grid: Sequence[Mapping[str, Any]]) -> None:
    """Raise ConfigurationError for a parameter or a value that the estimator does not take."""
    known = estimator.get_params()
    for candidate in grid:
        for name in candidate:
            if name not in known:
                raise ConfigurationError(
                    f"{type(estimator).__name__} has no parameter {name!r}. "
                    f"{nearest_names(name, known)}"
                )
        clone(estimator).set_params(**candidate).check_parameters()


def _splits(
    clients: Clients, n_folds: int, n_splits: int | None, random_state: int
) -> list[tuple[Clients, Clients]]:
    """Return the points outside and in each fold; nothing where no client has a point for each."""
    n_splits = n_folds if n_splits is None else n_splits
    if not 1 <= n_splits <= n_folds or n_folds < 2:
        raise ConfigurationError(
            f"Expected n_folds >= 2 and 1 <= n_splits <= n_folds; got {n_folds} and {n_splits}."
        )
    folds = [_folds(n, n_folds, [random_state, k]) for k, n in enumerate(clients.sizes.tolist())]
    if clients.sizes.max() < n_folds:
        return []
    return [
        (
            _part(clients, [own != fold for own in folds]),
            _part(clients, [own == fold for own in folds]),
        )
        for fold in range(n_splits)
    ]


def _folds(n_points: int, n_folds: int, seed: list[int]) -> NDArray[np.int64]:
    """Return each point's fold; -1 for a client with too few points for all folds."""
    if n_points < n_folds:
        return np.full(n_points, -1)
    return np.random.default_rng(seed).permutation(n_points) % n_folds


def _part(clients: Clients, rows: list[NDArray[np.bool_]]) -> Clients:
    """Return some of each client's rows."""
    responses = None
    if clients.responses is not None:
        responses = [clients.responses_of(k)[own] for k, own in enumerate(rows)]
    return Clients.from_arrays([clients[k][own] for k, own in enumerate(rows)], responses)


def _measure(
    criterion: Criterion,
    estimator: Estimator,
    candidate: Mapping[str, Any],
    splits: Sequence[tuple[Clients, Clients]],
) -> FloatArray | None:
    """Return a candidate's values, (splits, clients with points held out); None if it diverges."""
    measured = []
    for seen, held in splits:
        fresh = clone(estimator).set_params(**candidate)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SelectionWarning)  # what it asks for is done here
                values = np.array(criterion.measure(fresh, seen, held), dtype=np.float64)
        except DivergenceError:
            return None
        measured.append(values[held.sizes > 0])
    return np.array(measured) if measured else None


def _by_client(measured: Sequence[FloatArray | None]) -> FloatArray:
    """Return each candidate's means over folds, (candidates, clients), NaN where it diverged."""
    n_clients = next((own.shape[1] for own in measured if own is not None), 0)
    return np.array(
        [
            np.full(n_clients, np.nan) if own is None else np.nan_to_num(own).mean(axis=0)
            for own in measured
        ]
    )


def _table(
    grid: Sequence[Mapping[str, Any]],
    measured: Sequence[FloatArray | None],
    relative: bool,
    average: Callable,
) -> pd.DataFrame:
    """Return each candidate with its score, the average over clients of their means over folds."""
    import pandas as pd

    means = [
        None if own is None else np.where(np.isnan(own), 0.0, own).mean(axis=0) for own in measured
    ]
    first = next((own for own in means if own is not None), 0.0) if relative else 0.0
    return pd.DataFrame(
        {
            **candidate,
            "score": np.nan if own is None else float(average(own - first)),
            "n_undefined": 0 if values is None else int(np.isnan(values).sum()),
        }
        for candidate, values, own in zip(grid, measured, means, strict=True)
    )


def _log_likelihoods(estimator: Estimator, seen: Clients, held: Clients) -> list[float]:
    """Return the mean log-likelihood of each client's points held out."""
    points = estimator.fit(seen).score_samples(held)
    return [own.mean() if own.size else np.nan for own in points]


def _silhouettes(estimator: Estimator, seen: Clients, held: Clients) -> list[float | None]:
    """Return the silhouette of each client's points held out, by their predicted labels."""
    labels = estimator.fit(seen).predict(held)
    return [silhouette(x, own) for x, own in zip(held, labels, strict=True)]


def _agreements(estimator: Estimator, seen: Clients, held: Clients) -> list[float]:
    """Return how far two fits agree on each client's points held out: the one saw them alone."""
    without, within = clone(estimator).fit(seen).predict(held), estimator.fit(held).predict(held)
    return [_agreement(a, b) for a, b in zip(without, within, strict=True)]


def _agreement(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return how far two labellings agree; NaN where both are of one cluster, or of no point."""
    if max(len(np.unique(one)), len(np.unique(other))) < 2:
        return np.nan
    return adjusted_rand_index(one, other)


def typical_deviation(clients: Clients) -> float:
    """Return the median over clients of the standard deviation, in root mean square over columns.

    A median, for contaminated clients may lie anywhere. It is 1 where no client has two points
    that differ.
    """
    filled = np.flatnonzero(clients.sizes)
    deviations = np.array([np.sqrt(clients[int(k)].var(axis=0).mean()) for k in filled])
    varied = deviations[deviations > 0]
    return float(np.median(varied)) if varied.size else 1.0


CRITERIA = {
    "held_out": Criterion(_log_likelihoods, n_folds=5, relative=True),
    "silhouette": Criterion(_silhouettes, n_folds=3),
    "stability": Criterion(_agreements, n_folds=2),
}
