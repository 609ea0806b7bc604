"""FedGEM: federated generalised EM with an unknown number of components."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedmix.clients import Clients, offsets_of
from fedmix.errors import DataError, SelectionWarning
from fedmix.families import Gaussian, Sample
from fedmix.kernels import fedgem as kernels
from fedmix.methods.base import Constraints, FederatedEstimator, FloatArray, IntArray, register
from fedmix.methods.centroids import components_of, given_means, seed_clients, without_repeats
from fedmix.methods.fedgem_client import (
    GaussianMechanism,
    MaximisationStep,
    MergedClustersMixin,
    Mixtures,
    final_radii,
    maximise,
    uncertainty_radii,
)
from fedmix.methods.fedgem_server import Server
from fedmix.methods.likelihood import LikelihoodMixin, draw_gaussian
from fedmix.methods.local_kmeans import LocalKMeans
from fedmix.streams import generator_of


@register
class FedGEM(MergedClustersMixin, LikelihoodMixin, FederatedEstimator):
    """Federated generalised EM for isotropic unit-variance mixtures (Algorithm 1).

    Each client has its own components. The server lets components of different clients learn from
    each other if their uncertainty sets overlap. At the end it merges components within a given
    radius, which estimates the number of clusters. A client without points has no components.

    Parameters
    ----------
    components_per_client : int or sequence of G ints, default=2
        The known number K_g of components, one for all clients or one per client. The default is
        the smallest number of interest. A client with fewer different points has equal starts.
        They are fitted and counted as one component, which is repeated in the attributes below.
    max_rounds : int, default=10
        Maximum number T of training rounds. One more client step and the final aggregation follow.
        The default is that of Appendix D.3.
    local_steps : int, default=1
        Number S of EM steps per client and round.
    radius : {"exact", "theorem4", "half"}, default="exact"
        Squared radius of an uncertainty set: the solution of problem (3), that of the printed
        reformulation (7), or half of the former as in the published program.
    direction : {"towards", "away"}, default="towards"
        Whether a common maximiser moves towards the other centre, which keeps it in both sets, or
        away from it, as in the paper and the published program.
    one_component_per_client : bool, default=False
        Whether a super-cluster contains at most one component of each client, as in the published
        program. The result then depends on the order of the clients.
    server : {"pairwise", "kdtree", "none"}, default="pairwise"
        How overlaps are found. The KD-tree (B.5.1) is faster if they are few. With "none" there is
        neither collaborative training nor final aggregation: local EM runs from the same starts
        without any exchange, which shows what federation adds.
    final_radius_scale : float, default=1.0
        The constant v in the squared radius v R_min / (pi sqrt(N_g)) of the final aggregation. It
        should be chosen for the data, see :func:`fedmix.selection.choose`. R_min is the smallest
        distance between two means of a client before its last step. A client with one component
        has none, so its radius is 0 for every v.
    init : sequence of G arrays of shape (K_g, d), or "kmeans10", optional
        Initial means. By default one draw of k-means++ at every client, as in Algorithm 1.
        "kmeans10" takes the centres of :class:`~fedmix.methods.local_kmeans.LocalKMeans`, the best
        of ten starts at every client. The number of clusters is then found more often.
    tol : float, default=0.0
        Training stops when no mean moves further than this in a round.
    privacy : mapping, optional
        The parameters ``{"rho", "mu", "B_x", "B_gamma"}`` of noise on the maximisers that clients
        send (Theorem 9). By default there is no noise.
    random_state : int, Generator or None, default=0
        Seed of the initial means and the noise.
    learn_weights : bool, default=False
        Whether the mixing weights are learned locally (Appendix F.3) or stay 1/K_g (Section 6).
    repeat_joining_pairs : bool, optional
        Whether the common maximiser of a pair that joins two super-clusters counts twice, as in the
        published program. The result then depends on the order of the clients. The default is the
        value of ``one_component_per_client``.
    smallest_density : float, default=0.0
        A point's density under its client's mixture counts as at least this when responsibilities
        are divided by it. The published program has 1e-12 for Fashion-MNIST, EMNIST and CIFAR-10.
        With many features all densities are smaller. Then each component moves to the mean of the
        points weighted by its own density, as in the mean shift algorithm. Learned weights would
        then sum to less than 1, so it is meant for fixed ones.

    Attributes
    ----------
    means_ : list of G arrays of shape (K_g, d)
        Means after the final aggregation.
    weights_ : list of G arrays of shape (K_g,)
        Mixing weights.
    superclusters_ : list of G int arrays of shape (K_g,)
        The global cluster of each component.
    n_clusters_ : int
        Estimated number of clusters, K-hat.
    n_clusters_by_scale_ : dict of float to int
        K-hat at half of v, at v and at twice v, by the scale. If they differ, ``fit`` warns with a
        SelectionWarning.
    cluster_centers_ : ndarray of shape (n_clusters_, d)
        Means of the global clusters.
    radii_ : list of G arrays of shape (K_g,)
        Squared radii epsilon of the last client step's uncertainty sets.
    final_radii_ : list of G arrays of shape (K_g,)
        Squared radii of the final aggregation.
    history_ : list of dict
        For each training round ``n_clusters``, ``movement`` (the largest distance that a mean
        moved), ``log_likelihood`` (before the round's last local step) and ``n_empty`` (the number
        of empty components in that step). With privacy also ``n_below_bound``: the number of
        components whose mass is below B_gamma, for which Theorem 9 does not hold.
    n_rounds_, converged_, communication_
        See :class:`fedmix.methods.base.FederatedEstimator`. Communication is counted as in Section
        B.5.2 and includes the final exchange.

    References
    ----------
    Ibrahim, Gebraeel, Xie (2026). A federated generalized expectation-maximization algorithm for
    mixture models with an unknown number of components. Algorithms 1 to 3.
    """

    needs: ClassVar[tuple[str, ...]] = ("components_per_client",)
    starts_from: ClassVar[str | None] = "means"
    of_clients: ClassVar[tuple[str, ...]] = ("means_", "weights_", "superclusters_")
    tunes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "final_radius_scale": {"criterion": "silhouette"}
    }
    constraints: ClassVar[Constraints] = {
        "components_per_client": ["integer >= 1", "integers >= 1"],
        "max_rounds": ["integer >= 0"],
        "local_steps": ["integer >= 1"],
        "radius": [{"exact", "theorem4", "half"}],
        "direction": [{"towards", "away"}],
        "one_component_per_client": ["boolean"],
        "server": [{"pairwise", "kdtree", "none"}],
        "final_radius_scale": ["number >= 0"],
        "init": ["array-like", {"kmeans10"}, None],
        "tol": ["number >= 0"],
        "privacy": ["mapping", None],
        "learn_weights": ["boolean"],
        "repeat_joining_pairs": ["boolean", None],
        "smallest_density": ["number >= 0"],
    }

    def __init__(
        self,
        components_per_client: int | Sequence[int] = 2,
        max_rounds: int = 10,
        local_steps: int = 1,
        radius: str = "exact",
        direction: str = "towards",
        one_component_per_client: bool = False,
        server: str = "pairwise",
        final_radius_scale: float = 1.0,
        init: Sequence[ArrayLike] | None = None,
        tol: float = 0.0,
        privacy: Mapping[str, float] | None = None,
        random_state: int | np.random.Generator | None = 0,
        learn_weights: bool = False,
        repeat_joining_pairs: bool | None = None,
        smallest_density: float = 0.0,
    ) -> None:
        self.components_per_client = components_per_client
        self.max_rounds = max_rounds
        self.local_steps = local_steps
        self.radius = radius
        self.direction = direction
        self.one_component_per_client = one_component_per_client
        self.server = server
        self.final_radius_scale = final_radius_scale
        self.init = init
        self.tol = tol
        self.privacy = privacy
        self.random_state = random_state
        self.learn_weights = learn_weights
        self.repeat_joining_pairs = repeat_joining_pairs
        self.smallest_density = smallest_density

    @classmethod
    def open_choices(cls, given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return the parameters left to choose: none if the clients exchange nothing."""
        return {} if given.get("server") == "none" else super().open_choices(given)

    def _fit(self, clients: Clients) -> None:
        """Train on the clients' data, then merge their components into global clusters."""
        self._mechanism = GaussianMechanism.of(self.privacy)
        self._rng = generator_of(self.random_state)
        if self._mechanism is not None:
            clients = Clients(self._mechanism.clip(clients.points), clients.offsets)
        server, sample = self._server(), Sample.of(clients)
        mixtures = self._start(clients)
        self.history_: list[dict[str, Any]] = []
        for _ in self._rounds(self.max_rounds):
            before = mixtures.means
            mixtures, radii, step = self._client_step(sample, mixtures)
            means, labels = server.update(mixtures.means, radii, mixtures.client)
            mixtures = replace(mixtures, means=means)
            movement = float(np.linalg.norm(means - before, axis=1).max())
            self.history_.append(self._record(labels, movement, step))
            self._count_floats(mixtures)
            self.converged_ = movement <= self.tol
        self._aggregate(server, sample, mixtures)

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point with the most probable of its client's own components."""
        mixtures = self._mixtures_of(clients)
        own = mixtures.means, mixtures.offsets, mixtures.log_weights
        return clients.split(kernels.assign(clients.points, clients.offsets, *own))

    def _log_joint(self, clients: Clients) -> list[FloatArray]:
        """Return log(w_k p_k(x)) under each client's own mixture: G arrays (n_g, K_g)."""
        mixtures = self._mixtures_of(clients)
        log_weights = mixtures.split(mixtures.log_weights)
        return [
            Gaussian().log_density(x, None, means) + own
            for x, means, own in zip(clients, self.means_, log_weights, strict=True)
        ]

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Draw components and points of client k."""
        if not len(self.means_[k]):
            raise DataError(
                f"Client {self.client_names_[k]} had no points in fit: nothing to draw. Leave it "
                "out of clients."
            )
        return draw_gaussian(self.weights_[k], self.means_[k], size, rng)

    def _n_parameters(self) -> int:
        """Count the different means and, if they are learned, the mixing weights."""
        n_means = len(np.unique(np.concatenate(self.means_), axis=0))
        n_weights = sum(max(0, len(own) - 1) for own in self.weights_)
        return n_means * self.n_features_in_ + self.learn_weights * n_weights

    def _start(self, clients: Clients) -> Mixtures:
        """Return the mixtures before the first round."""
        n_components = components_of(clients, self.components_per_client)
        if self.init is None:
            means = seed_clients(clients, n_components, self._rng)
        elif isinstance(self.init, str):
            local = LocalKMeans(self.components_per_client, random_state=self._rng)
            means = local.fit(clients).means_
        else:
            means = given_means(self, "init", self.init, n_components, clients)
        # Equal starts would stay equal, and the server never compares components of one client.
        different, self._origins = zip(*map(without_repeats, means), strict=True)
        n_components = np.array([len(own) for own in different])
        weights = np.repeat(1.0 / np.maximum(n_components, 1), n_components)
        return Mixtures(np.concatenate(different), weights, offsets_of(n_components))

    def _client_step(
        self, sample: Sample, mixtures: Mixtures
    ) -> tuple[Mixtures, FloatArray, MaximisationStep]:
        """Do S local EM steps; return the mixtures and squared radii (C,) that clients send."""
        for _ in range(self.local_steps):
            previous = mixtures
            step = maximise(sample, previous, self.smallest_density)
            mixtures = replace(previous, means=step.means)
            if self.learn_weights:
                sizes = sample.sizes[mixtures.client]
                mixtures = replace(mixtures, weights=step.mass / sizes)
        if self._mechanism is not None:
            noisy = self._mechanism.perturb(step.means, mixtures.n_components, self._rng)
            mixtures = replace(mixtures, means=noisy)
        squared_step = np.sum((mixtures.means - previous.means) ** 2, axis=1)
        return mixtures, uncertainty_radii(self.radius, squared_step, step.spread), step

    def _aggregate(self, server: Server, sample: Sample, mixtures: Mixtures) -> None:
        """Do the last client step and the final aggregation; set the fitted attributes."""
        final = final_radii(mixtures, sample.sizes, self.final_radius_scale)
        mixtures, radii, _ = self._client_step(sample, mixtures)
        means, labels = server.merge(mixtures.means, final, mixtures.client)
        self.means_ = mixtures.split(means)
        self.weights_ = mixtures.split(mixtures.weights)
        self._set_clusters(mixtures, means, labels)
        self.radii_ = mixtures.split(radii)
        self.final_radii_ = mixtures.split(final)
        self._repeat_components()
        self._check_scale(server, mixtures, final)
        self._count_floats(mixtures)

    def _repeat_components(self) -> None:
        """Repeat the components of equal starts, which share their weight."""
        for name in ("means_", "superclusters_", "radii_", "final_radii_", "weights_"):
            once = zip(getattr(self, name), self._origins, strict=True)
            setattr(self, name, [own[origin] for own, origin in once])
        copies = [np.bincount(origin)[origin] for origin in self._origins]
        self.weights_ = [own / n for own, n in zip(self.weights_, copies, strict=True)]

    def _check_scale(self, server: Server, mixtures: Mixtures, final: FloatArray) -> None:
        """Count the clusters at half of v and at twice v, and warn if the counts differ."""
        counts = {self.final_radius_scale: self.n_clusters_}
        for factor in (0.5, 2.0):
            _, labels = server.merge(mixtures.means, factor * final, mixtures.client)
            counts[factor * self.final_radius_scale] = int(labels.max(initial=-1)) + 1
        self.n_clusters_by_scale_ = dict(sorted(counts.items()))
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{n} at {v:g}" for v, n in self.n_clusters_by_scale_.items())
            warnings.warn(
                f"FedGEM: the number of clusters depends on final_radius_scale: {found}. Choose "
                "it with fedmix.selection.choose.",
                SelectionWarning,
                stacklevel=2,
            )

    def _count_floats(self, mixtures: Mixtures) -> None:
        """Count a mean and a radius per component up, and a mean down; none without a server."""
        if self.server == "none":
            return
        size = mixtures.means.size
        self._send(up=size + len(mixtures.means), down=size)

    def _record(self, labels: IntArray, movement: float, step: MaximisationStep) -> dict[str, Any]:
        """Return the entry of ``history_`` for a training round."""
        record = {
            "n_clusters": int(labels.max()) + 1,
            "movement": movement,
            "log_likelihood": step.log_likelihood,
            "n_empty": int(step.empty.sum()),
        }
        if self._mechanism is not None:
            record["n_below_bound"] = int(np.sum(step.mass < self._mechanism.B_gamma))
        return record

    def _server(self) -> Server:
        repeat = self.repeat_joining_pairs
        return Server(
            search=self.server,
            direction=self.direction,
            one_component_per_client=self.one_component_per_client,
            repeat_joining_pairs=self.one_component_per_client if repeat is None else repeat,
        )

    def _mixtures_of(self, clients: Clients) -> Mixtures:
        """Return the mixtures of the given clients, or raise DataError if one has none."""
        sizes = [len(own) for own in self.means_]
        unknown = [clients.names[g] for g, n in enumerate(sizes) if not n and clients.sizes[g]]
        if unknown:
            raise DataError(f"Clients {unknown} had no points in fit, so they have no components.")
        return Mixtures(
            np.concatenate(self.means_), np.concatenate(self.weights_), offsets_of(sizes)
        )

    def _new_client(self, clients: Clients) -> dict[str, NDArray]:
        """Return the global clusters as a new client's components; none without a server.

        The weight of a cluster is its mean weight over the clients with components.
        """
        if self.server == "none":
            return super()._new_client(clients)
        weights = np.zeros(self.n_clusters_)
        np.add.at(weights, np.concatenate(self.superclusters_), np.concatenate(self.weights_))
        return {
            "means_": self.cluster_centers_,
            "weights_": weights / weights.sum(),
            "superclusters_": np.arange(self.n_clusters_),
        }
