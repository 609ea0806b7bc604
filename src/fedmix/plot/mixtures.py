"""The parameters of fitted mixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmix.errors import DataError
from fedmix.plot.points import colors_of
from fedmix.plot.style import drawing_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            f"weights: {type(model).__name__} has no mixing weights of each client. Fit a mixture "
            "whose clients have weights of their own, such as FedGrEM, FedEM or FedGEM."
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
        axis.set_yticks(range(len(names)), [str(name) for name in names])
        axis.set(xlim=(0, 1), xlabel="mixing weight", ylabel="client")
        axis.invert_yaxis()
        axis.grid(visible=False)
        title = "cluster" if hasattr(model, "superclusters_") else "component"
        axis.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axis
