"""Comparing methods on one's own clients, in a notebook or a program, without Snakemake."""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix import plot
from fedmix.cells.condensed import critical_difference, mean_ranks
from fedmix.cells.equivalence import judge
from fedmix.cells.frame import make_cells
from fedmix.cells.items import Table
from fedmix.cells.measured import LOWEST_FIRST
from fedmix.clients import Clients, ClientsLike, as_clients
from fedmix.comparison_methods import chosen_methods, named_number, with_start
from fedmix.data.dataset import Dataset
from fedmix.errors import ConfigurationError, DataError, SelectionWarning, nearest_names
from fedmix.experiments.runner import Fits, Scenario, run_block, tables_of
from fedmix.methods.constraints import check_parameters
from fedmix.plot.style import style_for
from fedmix.views.tables.build import as_text, to_html
from fedmix.views.tables.layout import lay_out

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Score -> which value is best, and its name in tables.
_SCORES = {
    "ari_pooled": ("highest", "ARI of all points"),
    "ari_per_client": ("highest", "mean ARI of the clients"),
    "misclustering_pooled": ("lowest", "error of all points"),
    "misclustering": ("lowest", "mean error of the clients"),
    "silhouette_pooled": ("highest", "silhouette of all points"),
    "silhouette_per_client": ("highest", "mean silhouette of the clients"),
    "n_clusters": ("none", "clusters"),
    "rounds": ("none", "rounds"),
    "floats": ("none", "floats sent"),
    "seconds": ("none", "seconds"),
}
_DIGITS = {"n_clusters": 1, "rounds": 0, "floats": 0, "seconds": 2}
#: The constants of the workflow's matrix.
PROTOCOL = {
    "train_fraction": 0.8,
    "initialization": "kmeans++10",
    "max_rounds": 100,
    "tol": 1e-3,
    "step_size": 1.0,
    "final_radius_scale": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4],
}
_COUNT = "integer >= 1"
#: The valid values of :func:`compare`'s numbers.
_VALID = {"replications": [_COUNT], "n_components": [_COUNT, None], "random_state": ["integer"]}


@dataclass(frozen=True, repr=False)
class Comparison:
    """The results of :func:`compare`.

    Parameters
    ----------
    results : DataFrame
        One row per method, replication and score, as in a result file of the workflow.
    timings : DataFrame
        One row per method and replication, with its seconds.
    frame : DataFrame
        One row per method and score: means, standard deviations, values and ranks, as in the
        workflow's frame of cells.
    """

    results: pd.DataFrame
    timings: pd.DataFrame
    frame: pd.DataFrame

    def __repr__(self) -> str:
        return self.table().to_string()

    @property
    def failures(self) -> pd.DataFrame:
        """The replications that failed: ``method, replication, status, message``."""
        failed = self.results[self.results["status"] != "ok"]
        return failed[["method", "replication", "status", "message"]].reset_index(drop=True)

    def table(self) -> pd.DataFrame:
        """Return means with standard deviations, a row per method and a column per score.

        Two asterisks on either side mark the best method of a column, and the methods that the
        paired test at the level 1 % finds worse than no other. It needs at least 5 replications.
        """
        shown = self._shown()
        return as_text(lay_out(shown, names=_NAMES), shown, "method")

    def ranks(self, score: str | None = None) -> pd.DataFrame:
        """Return the methods' mean ranks over replications, the best first.

        Parameters
        ----------
        score : str, optional
            The score that is ranked, or its heading in the table. The default is the first one.

        Returns
        -------
        DataFrame
            ``method, label, mean_rank, low, high``, with the ends of a 95 % bootstrap interval.
        """
        return mean_ranks(self.frame, _rank_of(self._score(score)))

    def plot(self, score: str | None = None, axis: Axes | None = None) -> Axes:
        """Draw the mean ranks by one score, with the critical difference over the replications.

        The splits of a replication overlap with those of others, so the critical difference is a
        little too small, and it holds for these clients alone.

        Parameters
        ----------
        score : str, optional
            As in :meth:`ranks`.
        axis : Axes, optional
            Where to draw; by default in a new figure.
        """
        score = self._score(score)
        ranked, n = self.ranks(score), self.results["replication"].nunique()
        width = critical_difference(len(ranked), n) if len(ranked) > 1 else None
        with style_for(axis):
            axis = plot.ranks(ranked, width, axis)
            axis.set_title(_NAMES[score])
        return axis

    def _score(self, score: str | None) -> str:
        known = set(self.frame["metric"])
        there = [n for n, (best, _) in _SCORES.items() if best != "none" and n in known]
        if not there:
            raise ConfigurationError("No scores: all replications failed or have one cluster.")
        score = next((n for n in there if _NAMES[n] == score), score or there[0])
        if score not in there:
            raise ConfigurationError(f"Unknown score {score!r}. {nearest_names(score, there)}")
        return score

    def _shown(self) -> pd.DataFrame:
        return self.frame[self.frame["metric"].isin(_SCORES)]

    def _repr_html_(self) -> str:
        item = {
            "title": "Comparison",
            "caption": "Scores on each client's test points.",
            "options": {"rows": "method", "names": _NAMES},
            "preset": "",
            "direction": "highest",
            "variants": {},
            "datasets": {},
            "left_out": {},
        }
        return to_html(item, self._shown(), "table_part.html")


_NAMES = {score: name for score, (_, name) in _SCORES.items()}


def compare(
    methods: Iterable[Any],
    clients: ClientsLike,
    labels: ArrayLike | Sequence[ArrayLike] | Mapping[Hashable, ArrayLike] | None = None,
    replications: int = 10,
    n_components: int | None = None,
    random_state: int = 0,
    progress: bool = True,
) -> Comparison:
    """Compare methods on the same clients, under the protocol of the workflow's matrix.

    Each replication splits every client's points at random into 80 % for training and 20 % for
    testing, and all methods get the same split and start. Methods iterate until nothing moves by
    more than 0.001, for at most 100 rounds. Parameters that need tuning are chosen without labels.
    An estimator's own values take precedence, except those that equal its class's defaults. An
    estimator with its own number of components has its default start, not the common one. Clients
    need three points to be tested.

    Parameters
    ----------
    methods : iterable of estimators, their classes or names, or "all"
        "all" stands for every registered method that labels the points of Gaussian data. A class
        in a notebook is registered by the decorator :func:`fedmix.methods.base.register`.
    clients : Clients, list or mapping of K arrays or data frames of shape (n_k, d), or (X, groups)
        The data.
    labels : list or mapping of K arrays of shape (n_k,), or array of shape (n,), optional
        The true labels, of any type. One array has the order of the rows of X, or of the data
        frame that the clients came from. Without labels the scores are silhouettes.
    replications : int, default=10
        Number of splits. Ten show a difference of about one standard deviation.
    n_components : int, optional
        Number of clusters of all clients. The default is the number of different labels or else
        the number that the estimators name. Methods that take each client's own number get the
        number of labels among its training points, or ``n_components`` if there are no labels.
    random_state : int, default=0
        Seed of the splits and of the methods.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    Comparison

    Warns
    -----
    UserWarning
        If a method failed, with its first error.

    Raises
    ------
    ConfigurationError
        If a method is not registered or cannot run on such data, if two methods are the same, if
        the number of clusters is not known, or if an argument has another type.
    DataError
        If there is not one label per point, if the clients have responses, or if no client has
        three points or all have fewer than clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from fedmix import compare, methods
    >>> rng = np.random.default_rng(0)
    >>> labels = [rng.integers(2, size=40) for _ in range(3)]
    >>> xs = [8.0 * own[:, None] + rng.normal(size=(40, 2)) for own in labels]
    >>> found = compare(["KFED", methods.FedEM()], xs, labels, replications=5, progress=False)
    >>> found.table()["ARI of all points"].tolist()
    ['**1.000 (0.000)**', '**1.000 (0.000)**']
    """
    import pandas as pd

    given = (replications, n_components, random_state)
    check_parameters("compare", dict(zip(_VALID, given, strict=True)), _VALID)
    data = as_clients(clients)
    if data.responses is not None:
        raise DataError("compare scores labels of points; clients with responses are not taken.")
    chosen = chosen_methods(methods)
    found, n_labels = _numbered(labels, data)
    n_clusters = int(n_components or n_labels or named_number(chosen))
    if data.sizes.max() < 3 or data.n_points < n_clusters:
        raise DataError(
            f"compare: {data!r} are too few points for {n_clusters} clusters and a test part."
        )
    chosen = [with_start(method, n_clusters) for method in chosen]
    scenario = Scenario(
        study="compare",
        variant="default",
        setting=f"seed {random_state}",
        experiment="given_clients",
        values={
            **PROTOCOL,
            "dataset": "clients",
            "n_components": n_clusters,
            "labelled": labels is not None,
        },
        data=Dataset(
            name="clients",
            features=data.points,
            labels=found,
            groups=np.repeat(np.arange(len(data)), data.sizes),
        ),
    )
    fits: Fits = {}
    splits: Iterable[int] = range(replications)
    if progress:
        from tqdm.auto import tqdm

        splits = tqdm(splits, desc="replications", unit="replication")
    # The table has the numbers of clusters.
    with _first_errors() as errors, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*number of clusters depends", SelectionWarning)
        for r in splits:
            run_block(scenario, chosen, [r], fits=fits)
    tables = [tables_of(scenario, method, fits, range(replications)) for method in chosen]
    results, timings = (pd.concat(part, ignore_index=True) for part in zip(*tables, strict=True))
    for name, error in errors.items():
        failed = np.count_nonzero(results.query("method == @name")["status"] != "ok")
        warnings.warn(
            f"{name} failed in {failed} of {replications} replications. The first error is "
            f"{_described(error)}. The attribute `failures` lists them all.",
            UserWarning,
            stacklevel=2,
        )
    measured = set(results["metric"]) | {"rounds", "floats", "seconds"}
    items = [item for score in _SCORES if score in measured for item in _items_of(score)]
    cells = make_cells(results, timings, items, "", "", {}, {"default": ""})
    return Comparison(results, timings, judge(cells))


@contextmanager
def _first_errors() -> Iterator[dict[str, BaseException]]:
    """Yield each method's first error. Otherwise every replication would log its traceback."""
    errors: dict[str, BaseException] = {}

    def keep(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and isinstance(record.args, tuple):
            errors.setdefault(str(record.args[-1]), error)
        return error is None

    logger = logging.getLogger(run_block.__module__)
    logger.addFilter(keep)
    try:
        yield errors
    finally:
        logger.removeFilter(keep)


def _described(error: BaseException) -> str:
    """Return an error and the last line outside of libraries that led to it."""
    lines = traceback.extract_tb(error.__traceback__)
    libraries = ("site-packages", str(Path(__file__).parent))
    own = [line for line in lines if not any(part in line.filename for part in libraries)]
    last = (own or lines)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"


def _items_of(score: str) -> list[Table]:
    """Return the table's column of a score and, if a value of it is best, that of its rank."""
    best, name = _SCORES[score]
    shown = [(score, best, _DIGITS.get(score, 3))]
    if best != "none":
        shown.append((_rank_of(score), "none", 1))
    same = {"paper": "", "caption": "", "study": "compare", "row": "{label}", "column": "{metric}"}
    return [
        Table.model_validate(
            {**same, "title": name, "name": m, "metric": m, "best": direction, "digits": digits}
        )
        for m, direction, digits in shown
    ]


def _rank_of(score: str) -> str:
    return f"{LOWEST_FIRST if _SCORES[score][0] == 'lowest' else 'rank'}: {score}"


def _numbered(labels: Any, data: Clients) -> tuple[NDArray[np.int64], int]:
    """Return the labels as numbers, client after client, and how many different ones there are."""
    import pandas as pd

    if labels is None:
        return np.zeros(data.n_points, dtype=np.int64), 0
    if isinstance(labels, Mapping):
        if unknown := set(labels) - set(data.names):
            raise DataError(f"labels: client {min(map(repr, unknown))} is not among {data.names}.")
        labels = [labels[name] for name in data.names if name in labels]
    each = [np.shape(own) for own in labels] if isinstance(labels, list | tuple) else []
    if each == [(n,) for n in data.sizes]:
        flat = np.concatenate([_objects(own) for own in labels])
    else:
        shape = each if any(each) else np.shape(labels)
        if shape != (data.n_points,):
            raise DataError(
                f"labels: expected one per point of {data!r}, as a list of {len(data)} arrays or "
                f"one array of shape ({data.n_points},); got {shape}."
            )
        flat = _objects(labels)
        flat = flat if data.rows is None else flat[np.argsort(np.argsort(data.rows))]
    numbers, classes = pd.factorize(flat, sort=True)
    if -1 in numbers:
        raise DataError(
            "labels: some are None or NaN, or masked. Remove these points, or give no labels."
        )
    return numbers.astype(np.int64), len(classes)


def _objects(labels: Any) -> NDArray[np.object_]:
    """Return labels as objects, with NaN where they are masked."""
    return np.ma.array(labels, dtype=object).filled(np.nan)
