"""Transformers of the clients' data, for the first steps of a scikit-learn ``Pipeline``."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fedmix.clients import Clients, ClientsLike, as_clients
from fedmix.fitted import check_features, owners_of, remember
from fedmix.partition.scaling import location_and_scale


class ClientScaler(TransformerMixin, BaseEstimator):
    """Standardise each client by its own means and standard deviations.

    No client sends anything. Differences between the clients' means and scales are removed, so use
    it if they say nothing about the clusters, such as the size of a person's handwriting.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (K, d)
        Means and standard deviations (with n - 1) of each client. The scale of a constant column,
        and of a client without points, is 1.
    n_features_in_, feature_names_in_, client_names_
        As in :class:`fedmix.methods.base.FederatedEstimator`.

    References
    ----------
    The public program of an earlier study by the authors of FedGrEM standardises the pen digits in
    this way. FedGrEM's paper (Tian, Weng and Feng 2024, Section 4.2) does not report a scaling.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from fedmix import methods
    >>> from fedmix.preprocessing import ClientScaler
    >>> xs = [[[0.0], [1.0], [10.0], [11.0]], [[500.0], [510.0], [600.0], [610.0]]]
    >>> model = make_pipeline(ClientScaler(), methods.KFED(n_clusters=2)).fit(xs)
    >>> [own.tolist() for own in model.predict(xs)]
    [[1, 1, 0, 0], [1, 1, 0, 0]]
    """

    mean_: NDArray[np.float64]
    scale_: NDArray[np.float64]

    def fit(self, X: ClientsLike, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Learn each client's means and scales. The data are those that estimators take."""
        data = as_clients(X, y, groups)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        remember(self, data)
        found = [location_and_scale(own) for own in data]
        self.mean_, self.scale_ = (np.array(part) for part in zip(*found, strict=True))
        return self

    def transform(
        self,
        X: ClientsLike,
        clients: Sequence[Hashable] | str | None = None,
        groups: ArrayLike | None = None,
    ) -> Clients:
        """Standardise the clients' points.

        Parameters
        ----------
        X, clients, groups
            As in the methods' ``predict``. A client that was not in ``fit`` is standardised by its
            own points in X. A pipeline passes ``clients`` to this step with scikit-learn's
            metadata routing; see ``docs/scikit_learn.md``.

        Returns
        -------
        Clients
            With the responses and names of X.

        Warns
        -----
        UserWarning
            If clients without names are taken to be new because there are not as many as in
            ``fit``.
        """
        check_is_fitted(self)
        data = as_clients(X, groups=groups)
        check_features(self, data)
        owners = owners_of(self, data, clients)
        named = data.named and self._clients_have_names
        if clients is None and not named and (owners < 0).any():
            warnings.warn(
                f"ClientScaler: the fit had {len(self.client_names_)} clients and the data have "
                f"{len(data)}, without names. They are taken to be new, and scaled by their own "
                "points. Give the clients names, or clients=.",
                UserWarning,
                stacklevel=2,
            )
        scaled = []
        for own, k in zip(data, owners, strict=True):
            mean, scale = location_and_scale(own) if k < 0 else (self.mean_[k], self.scale_[k])
            scaled.append((own - mean) / scale)
        return data.with_points(scaled)

    def fit_transform(
        self, X: ClientsLike, y: Any = None, groups: ArrayLike | None = None
    ) -> Clients:
        """Learn the means and scales, and standardise the same points."""
        data = as_clients(X, y, groups)
        return self.fit(data).transform(data)
