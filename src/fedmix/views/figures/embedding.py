"""Draw an embedding: its first two principal axes, coloured by class."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from fedmix.errors import DataError
from fedmix.plot.points import colors_of, principal_axes

_MAX_POINTS = 4_000  # more points than this only hide each other


def embedding_figure(embedding: np.ndarray, labels: np.ndarray, title: str = "") -> Figure:
    """Draw the first two principal axes of an embedding (n, q), coloured by class.

    Of more than 4,000 points, a random subset is drawn. Points are pixels even in a vector file.
    Call it within ``house_style``. Labels that do not match the embedding are an error.
    """
    embedding, labels = np.asarray(embedding, dtype=float), np.asarray(labels)
    if embedding.ndim != 2 or labels.shape != embedding.shape[:1]:
        raise DataError(
            f"embedding of shape {embedding.shape} with labels of shape {labels.shape}: "
            "expected (n, q) and (n,)."
        )
    axes_names, centre, directions = principal_axes(embedding)
    positions = (embedding - centre) @ directions
    classes = np.unique(labels)
    colors = colors_of(len(classes))
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
    axes.set(xlabel=axes_names[0], ylabel=axes_names[1], aspect="equal", title=title)
    axes.grid(False)
    return figure
