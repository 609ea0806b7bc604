"""Draw an embedding: its first two principal axes, coloured by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmix.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_POINTS = 4_000  # more points than this only hide each other


def embedding_figure(
    embedding: np.ndarray,
    labels: np.ndarray,
    title: str | None = None,
) -> Figure:
    """Draw the first two principal axes of an embedding, coloured by class.

    Parameters
    ----------
    embedding : ndarray of shape (n, q)
        Any number of dimensions. Of more than 4,000 points, an evenly spaced subset is drawn.
    labels : ndarray of int, shape (n,)
        Class of each point.
    title : str, optional
        Heading, e.g. the data set's and the embedding's name.

    Returns
    -------
    matplotlib.figure.Figure
        Drawn without ``house_style``: call it within that context. Points are pixels even in a
        vector file.

    Raises
    ------
    DataError
        If the labels do not match the embedding.
    """
    from matplotlib.figure import Figure

    embedding, labels = np.asarray(embedding, dtype=float), np.asarray(labels)
    if embedding.ndim != 2 or labels.shape != embedding.shape[:1]:
        raise DataError(
            f"embedding of shape {embedding.shape} with labels of shape {labels.shape}: "
            "expected (n, q) and (n,)."
        )
    axes_names, positions = _principal_axes(embedding)
    classes = np.unique(labels)
    colors = _colors(len(classes))
    shown = np.random.default_rng(0).permutation(len(labels))[:_MAX_POINTS]
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    order = np.searchsorted(classes, labels[shown])
    first, second = positions[shown].T
    # Plain colours with hard edges take a quarter of the bytes.
    points = axes.scatter(first, second, s=3, linewidths=0, c=colors[order], antialiased=False)
    points.set_rasterized(True)
    for place, label in enumerate(classes):
        axes.scatter([], [], s=24, color=colors[place], label=str(label))
    columns = -(-len(classes) // 24)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns, handletextpad=0.2)
    axes.set(xlabel=axes_names[0], ylabel=axes_names[1], aspect="equal")
    axes.grid(False)
    if title is not None:
        axes.set_title(title)
    return figure


def _principal_axes(embedding: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the axes' names with their shares of variance, and positions of shape (n, 2)."""
    centred = embedding - embedding.mean(axis=0)
    variances, directions = np.linalg.eigh(centred.T @ centred)
    shares = variances[::-1] / max(variances.sum(), np.finfo(float).tiny)
    positions = np.zeros((len(embedding), 2))
    n_axes = min(2, embedding.shape[1])
    positions[:, :n_axes] = centred @ directions[:, ::-1][:, :n_axes]
    shares = [*shares[:n_axes], *[0.0] * (2 - n_axes)]
    names = [
        f"{which} principal axis ({share:.0%} of variance)"
        for which, share in zip(("First", "Second"), shares, strict=True)
    ]
    return names, positions


def _colors(n_classes: int) -> np.ndarray:
    """Return one colour per class, shape (n_classes, 4)."""
    from matplotlib import colormaps

    if n_classes <= 20:
        return colormaps["tab10" if n_classes <= 10 else "tab20"](np.arange(n_classes))
    return colormaps["turbo"](np.linspace(0, 1, n_classes))
