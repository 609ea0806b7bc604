"""Points in the plane of two principal axes, and the clients' mixing weights."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.clients import ClientsLike, as_clients
from fedmix.errors import DataError
from fedmix.inputs import has_bool, point_labels
from fedmix.plot.style import COLORS, MANY, drawing_on, style_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

_COLUMNS = 4  # of small multiples
_MARGIN = 0.1  # of the range of the good clients' points
_TITLE = 24  # characters in a line of a client's title
_MAX_POINTS = 4_000  # more points of an embedding than this only hide each other


def clusters(
    clients: ClientsLike,
    labels: Sequence[ArrayLike] | Mapping[Hashable, ArrayLike],
    contaminated: Iterable[Hashable] = (),
    axes: ArrayLike | None = None,
) -> NDArray:
    """Draw each client's points, coloured by label, in the plane of the first principal axes.

    The axes are those of the good clients' points together, and so is the section that is shown, so
    that far points of a contaminated client do not hide the others.

    Parameters
    ----------
    clients : Clients, list or mapping of K arrays or data frames of shape (n_k, d), or (X, groups)
        The points.
    labels : sequence or mapping of K int arrays of shape (n_k,)
        What ``predict`` or ``predict_clusters`` returns, or the true labels. The same label has the
        same colour at all clients.
    contaminated : iterable of names, optional
        Clients to mark, by their names or, if they have none, their positions.
    axes : array-like of K Axes, optional
        Where to draw; by default small multiples in a new figure.

    Returns
    -------
    ndarray of K Axes

    Raises
    ------
    DataError
        If there is not one label per point, a label is missing, there is not one axis per client,
        ``contaminated`` is no list of clients, or no client is good.
    """
    import pandas as pd

    data = as_clients(clients)
    marked = _marked(contaminated, data.names)
    named = marked.union(labels) if isinstance(labels, Mapping) else marked
    if unknown := named - set(data.names):
        raise DataError(f"clusters: client {min(map(repr, unknown))} is not among {data.names}.")
    if isinstance(labels, Mapping):
        labels = [labels[name] for name in data.names if name in labels]
    if [np.shape(own) for own in labels] != [(n,) for n in data.sizes]:
        raise DataError(
            f"clusters: expected one label per point of {data!r}, as a list of {len(data)} arrays."
        )
    flat = [point_labels(own, "labels", "Remove these points.") for own in labels]
    numbers, classes = pd.factorize(np.concatenate(flat), sort=True)
    good = [k for k, name in enumerate(data.names) if name not in marked and data.sizes[k]]
    if not good:
        raise DataError("clusters: expected at least one client with points that is not marked.")
    seen = data.subset(good).points
    names, centre, directions = principal_axes(seen)
    there = (seen - centre) @ directions
    low, high = there.min(axis=0), there.max(axis=0)
    margin = _MARGIN * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    colors = colors_of(len(classes))[numbers]
    with style_for(axes):
        drawn = _grid(len(data), names) if axes is None else np.ravel(np.asarray(axes, object))
        if len(drawn) != len(data):
            raise DataError(
                f"clusters: expected {len(data)} axes, one per client; got {len(drawn)}."
            )
        for axis, name, points, own in zip(
            drawn, data.names, data, data.split(colors), strict=True
        ):
            positions = (points - centre) @ directions
            axis.scatter(*positions.T, s=6, linewidths=0, c=own)
            axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            outside = np.count_nonzero(((positions < low) | (positions > high)).any(axis=1))
            if outside:
                text = f"{outside} point{'' if outside == 1 else 's'} outside"
                axis.text(0.03, 0.03, text, transform=axis.transAxes, fontsize="small")
            _name(axis, name, name in marked)
    return drawn


def weights(model: Any, axis: Axes | None = None) -> Axes:
    """Draw the mixing weights of each client as a bar, a colour per component.

    Parameters
    ----------
    model : fitted estimator
        With ``weights_``: an array of shape (K, R), or a list of K arrays. If its clients have
        components of their own that belong to common clusters (``superclusters_``, as of FedGEM),
        colours are those of the clusters.
    axis : Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    DataError
        If the model has no mixing weights of each client.
    """
    shares = getattr(model, "weights_", None)
    names = getattr(model, "client_names_", [])
    if shares is None or len(shares) != len(names) or np.ndim(shares[0]) != 1:
        raise DataError(
            f"weights: {type(model).__name__} has no mixing weights of each client. Give a fitted "
            "mixture whose clients have weights of their own, such as FedGrEM, FedEM or FedGEM: "
            "call its fit first."
        )
    clusters = getattr(model, "superclusters_", [np.arange(len(own)) for own in shares])
    n_clusters = 1 + max((int(own.max()) for own in clusters if len(own)), default=0)
    table = np.zeros((len(names), n_clusters))
    for k, (own, of) in enumerate(zip(shares, clusters, strict=True)):
        np.add.at(table[k], of, own)
    with drawing_on(axis, (4.8, 1.0 + 0.25 * len(names))) as axis:
        ends = np.cumsum(table, axis=1)
        for r, color in enumerate(colors_of(n_clusters)):
            own = table[:, r]
            axis.barh(range(len(names)), own, left=ends[:, r] - own, color=color, label=r)
        axis.set_yticks(range(len(names)), [str(name) for name in names], parse_math=False)
        axis.set(xlim=(0, 1), xlabel="mixing weight", ylabel="client")
        axis.invert_yaxis()
        axis.grid(visible=False)
        title = "cluster" if hasattr(model, "superclusters_") else "component"
        columns = math.ceil(n_clusters / (len(names) + 4))  # no higher than the figure
        axis.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns)
    return axis


def embedding_figure(embedding: NDArray, labels: NDArray, title: str = "") -> Figure:
    """Draw the first two principal axes of an embedding (n, q), coloured by class.

    Of more than 4,000 points, a random subset is drawn. Points are pixels even in a vector file.
    Call it within ``house_style``. Labels that do not match the embedding are an error.
    """
    from matplotlib.figure import Figure

    embedding, labels = np.asarray(embedding, dtype=float), np.asarray(labels)
    if embedding.ndim != 2 or labels.shape != embedding.shape[:1]:
        raise DataError(
            f"embedding of shape {embedding.shape} with labels of shape {labels.shape}: "
            "expected (n, q) and (n,)."
        )
    axes_names, centre, directions = principal_axes(embedding)
    positions = (embedding - centre) @ directions
    classes, numbers = np.unique(labels, return_inverse=True)
    colors = colors_of(len(classes))
    shown = np.random.default_rng(0).permutation(len(labels))[:_MAX_POINTS]
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    # Plain colours with hard edges take a quarter of the bytes.
    look = {"c": colors[numbers[shown]], "s": 3, "linewidths": 0, "antialiased": False, **MANY}
    axes.scatter(*positions[shown].T, **look)
    for place, label in enumerate(classes):
        axes.scatter([], [], s=24, color=colors[place], label=str(label))
    columns = -(-len(classes) // 24)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns, handletextpad=0.2)
    axes.set(xlabel=axes_names[0], ylabel=axes_names[1], aspect="equal", title=title)
    axes.grid(False)
    return figure


def principal_axes(points: FloatArray) -> tuple[list[str], FloatArray, FloatArray]:
    """Return the first two principal axes of points (n, d): names, the centre, directions (d, 2).

    The names have the shares of the variance. The second axis is zero if d is 1.
    """
    centre = points.mean(axis=0)
    centred = points - centre
    variances, vectors = np.linalg.eigh(centred.T @ centred)
    shares = variances[::-1] / max(variances.sum(), np.finfo(float).tiny)
    n_axes = min(2, points.shape[1])
    directions = np.zeros((points.shape[1], 2))
    directions[:, :n_axes] = vectors[:, ::-1][:, :n_axes]
    shares = [*shares[:n_axes], *[0.0] * (2 - n_axes)]
    names = [
        f"{which} principal axis ({share:z.0%} of variance)"
        for which, share in zip(("First", "Second"), shares, strict=True)
    ]
    return names, centre, directions


def colors_of(n_classes: int) -> FloatArray:
    """Return one colour per class, of shape (n_classes, 4)."""
    from matplotlib import colormaps

    if n_classes <= 20:
        return colormaps["tab10" if n_classes <= 10 else "tab20"](np.arange(n_classes))
    return colormaps["turbo"](np.linspace(0, 1, n_classes))


def _grid(n_clients: int, names: list[str]) -> NDArray:
    """Return the axes of small multiples in a new figure, with the names of its axes."""
    import matplotlib.pyplot as plt

    n_columns = min(n_clients, _COLUMNS)
    n_rows = math.ceil(n_clients / n_columns)
    size = (2.0 * n_columns + 0.4, 1.9 * n_rows + 0.4)
    figure, grid = plt.subplots(
        n_rows, n_columns, sharex=True, sharey=True, squeeze=False, figsize=size
    )
    for spare, above in zip(grid.ravel()[n_clients:], grid[-2:-1].ravel()[::-1], strict=False):
        spare.remove()
        above.tick_params(labelbottom=True)
    figure.supxlabel(names[0], fontsize="medium")
    figure.supylabel(names[1].replace(" (", "\n("), fontsize="medium")  # a single row is not tall
    return grid.ravel()[:n_clients]


def _marked(contaminated: Iterable[Hashable], names: Iterable[Hashable]) -> set[Hashable]:
    """Return the names of the marked clients, or raise DataError for one name or a mask."""
    if isinstance(contaminated, str) or not isinstance(contaminated, Iterable):
        raise DataError(f"clusters: expected a list of clients, got {contaminated!r}.")
    marked = set(contaminated)
    if has_bool(marked) and not has_bool(names):
        raise DataError(
            "clusters: expected contaminated to be names or positions, got a mask. "
            "np.flatnonzero(mask) gives the positions."
        )
    return marked


def _name(axis: Axes, name: Hashable, marked: bool) -> None:
    text = f"client {name}" if isinstance(name, int) else str(name)
    if not marked:
        axis.set_title(textwrap.fill(text, _TITLE), parse_math=False)
        return
    text = textwrap.fill(f"{text}, contaminated", _TITLE)
    axis.set_title(text, color=COLORS["vermillion"], parse_math=False)
    axis.patch.set_facecolor("#fbeee6")
    for spine in axis.spines.values():
        spine.set(color=COLORS["vermillion"], visible=True)
