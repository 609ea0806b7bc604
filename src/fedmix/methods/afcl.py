"""AFCL: asynchronous federated clustering with an unknown number of clusters.

Given the random numbers, the server's rounds are those of the authors' program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedmix.clients import Clients
from fedmix.kernels.afcl import add_members, describe, group, largest_ratios, near
from fedmix.kernels.competition import compete, local_order, nearest
from fedmix.methods.base import Constraints, FloatArray, IntArray, register
from fedmix.methods.centroids import (
    CentroidClustering,
    components_of,
    without_repeats,
)
from fedmix.streams import generator_of

_WEIGHT_EXPONENT = 7


@register
class AFCL(CentroidClustering):
    """Asynchronous federated clustering by competition among too many seeds.

    In each round a random part of the clients sends its points, masked, to the server. The seeds
    compete for each point, and a seed with many earlier wins has a handicap. The winner moves
    towards the point, together with the seeds that are as close to the winner as the point. Seeds
    that meet form one cluster. All seeds can end in a single cluster.

    Parameters
    ----------
    components_per_client : int or sequence of G ints, default=2
        The known number K_g of clusters of each client. The default is the smallest number of
        interest. The sum over clients is the number of seeds (FedGEM's Appendix D.3).
    training : {"competition", "none"}, default="competition"
        "competition" is AFCL's own algorithm, on features scaled to [0, 1]. "none" is FedGEM's
        published re-implementation, which never trains: the clients' k-means++ seeds are the
        centres. Each seed is drawn from one candidate. This gives AFCL's ARI on MNIST in FedGEM's
        Table 1 (.038); scikit-learn's several candidates give .033.
    max_rounds : int, default=100
        Maximum number of rounds; the default of the authors' program.
    step : float, default=0.001
        Mean learning rate over the features; the default of the authors' program.
    merge_distance : float, default=0.001
        Seeds that differ by less than this in every scaled feature are one cluster. Its centre is
        the seed with the lowest number. The default is the authors' program's.
    stop_tolerance : float, default=0.0001
        The rounds end when an index of the clients' clusters changes by no more than this. The
        default is the authors' program's.
    random_state : int, Generator or None, default=0
        Seed of the initial seeds, the features' first rates and the clients' participation.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, d)
        The seeds that remain after merging.
    n_clusters_ : int
        Their number.

    Notes
    -----
    The competition follows the authors' program step by step. Two of its choices look
    unintentional. They are kept because they are part of the program. First, a feature for which
    nothing was sent gets a rate of 0, which the server replaces by 1. If no client takes part in
    the first round, all rates are 0 from then on, and only seeds within a hundredth of one another
    still move. Second, the index that ends the rounds is computed before the seeds move, from
    labels that often do not change. The index can therefore stay constant while the seeds still
    move, and the rounds end early.

    On thousands of points without wide gaps, the seeds collapse into one. The reason is that the
    step is per point, and every point pulls all seeds that are as close to the winner as itself.
    The authors' averages exclude runs with one cluster; ours include them.

    The server knows a masked point up to the client's weight, so points count as sent. If a client
    does not take part and has taken part less often than average, its last message is used again.

    References
    ----------
    Zhang, Zhang, Lu, Li, Chen, Cheung (2025). Asynchronous federated clustering with unknown number
    of clusters.
    """

    needs: ClassVar[tuple[str, ...]] = ("components_per_client",)
    constraints: ClassVar[Constraints] = {
        "components_per_client": ["integer >= 1", "integers >= 1"],
        "training": [{"competition", "none"}],
        "max_rounds": ["integer >= 1"],
        "step": ["number > 0 and < 1"],
        "merge_distance": ["number >= 0"],
        "stop_tolerance": ["number >= 0"],
    }

    def __init__(
        self,
        components_per_client: int | Sequence[int] = 2,
        training: str = "competition",
        max_rounds: int = 100,
        step: float = 0.001,
        merge_distance: float = 0.001,
        stop_tolerance: float = 0.0001,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.components_per_client = components_per_client
        self.training = training
        self.max_rounds = max_rounds
        self.step = step
        self.merge_distance = merge_distance
        self.stop_tolerance = stop_tolerance
        self.random_state = random_state

    def _fit(self, clients: Clients) -> None:
        """Let the seeds compete for the clients' points."""
        n_components = components_of(clients, self.components_per_client)
        rng = generator_of(self.random_state)
        if self.training == "none":
            draws = zip(clients, n_components, rng.spawn(len(clients)), strict=True)
            seeds = np.concatenate([_seed(own, k, draw) for own, k, draw in draws])
            self._set_centres(seeds)
            self._send(up=seeds.size, down=np.count_nonzero(clients.sizes) * seeds.size)
            return
        low, width = _range(clients.points)
        scaled = Clients((clients.points - low) / width, clients.offsets)
        server, heard = self._train(scaled.subset(np.flatnonzero(clients.sizes)), n_components, rng)
        self._set_centres(low + width * server.merged())
        self._count_floats(server, heard)

    def _predict(self, clients: Clients) -> list[IntArray]:
        """Label each point with its nearest centre."""
        order = local_order(self.cluster_centers_)
        guesses = np.zeros(clients.n_points, dtype=np.int64)
        labels = nearest(clients.points, self.cluster_centers_[order], order, guesses)
        return clients.split(labels)

    def _train(
        self, clients: Clients, n_components: IntArray, rng: np.random.Generator
    ) -> tuple[Server, IntArray]:
        """Run the rounds; return the server and how often each client took part, (G,)."""
        n_seeds = int(n_components.sum())
        seeds = np.concatenate([_seed(own, n_seeds, rng) for own in clients])
        server = Server(
            clients,
            _seed(seeds, n_seeds, rng),
            rng.uniform(size=clients.n_features),
            self.step,
            self.merge_distance,
            self.stop_tolerance,
        )
        probability = rng.uniform(size=len(clients))
        heard = np.zeros(len(clients), dtype=np.int64)
        for _ in self._rounds(self.max_rounds):
            speaks = rng.uniform(size=len(clients)) < probability
            server.round(speaks)
            heard += speaks
            self.converged_ = server.stopped
        return server, heard

    def _count_floats(self, server: Server, heard: IntArray) -> None:
        """Count the floats of clients that took part ``heard`` times, (G,).

        At first each client sends its features' ranges and its own seeds. Whenever it takes part,
        it receives the seeds and the features' rates, and sends all its points and every seed's
        spread and centre.
        """
        n_seeds, n_features = server.seeds.shape
        sizes = server.clients.sizes
        first = (2 + np.minimum(sizes, n_seeds)) * n_features
        each = sizes * n_features + n_seeds * (1 + n_features)
        self._send(
            up=first.sum() + heard @ each,
            down=heard.sum() * (n_seeds + 1) * n_features,
        )


def _range(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each feature's minimum and width, (d,); a constant feature is scaled to 1."""
    low = points.min(axis=0)
    width = points.max(axis=0) - low
    return np.where(width > 0, low, low - 1.0), np.where(width > 0, width, 1.0)


def _seed(points: FloatArray, n_seeds: int, rng: np.random.Generator) -> FloatArray:
    """Draw k-means++ seeds, one candidate each; every point is a seed if there are no more."""
    from sklearn.cluster import kmeans_plusplus

    if len(points) <= n_seeds:
        return points
    seed = int(rng.integers(2**31))
    return kmeans_plusplus(points, n_seeds, n_local_trials=1, random_state=seed)[0]


class Server:
    """AFCL's server and its clients, with seeds and points in the unit cube.

    Between rounds it keeps the seeds, the features' rates and, for each client, the number of
    participations, its last message and the seeds it last received.

    Parameters
    ----------
    clients : Clients
        None of them empty; features in [0, 1].
    seeds : ndarray of shape (k, d)
        The initial seeds.
    raw_weights : ndarray of shape (d,)
        Random numbers; divided by their sum and scaled, they are the features' first rates.
    step, merge_distance, stop_tolerance : float
        See :class:`AFCL`.

    Attributes
    ----------
    rates : ndarray of shape (d,)
        The current learning rate of each feature.
    participations : ndarray of shape (G,)
        How often each client took part, with a new or a repeated message.
    client_weights : ndarray of shape (G,)
        1 / (1 + share of all participations); NaN while there are none.
    taking_part : ndarray of int
        The clients that took part in the last round, with a new or a repeated message.
    wins : ndarray of shape (k,)
        Number of wins of each seed in the last round, starting from 1.
    index : float
        The index of the last round, see :meth:`_index`; NaN if it is undefined.
    stopped : bool
        Whether the index has ended the rounds.
    """

    def __init__(
        self,
        clients: Clients,
        seeds: FloatArray,
        raw_weights: FloatArray,
        step: float,
        merge_distance: float,
        stop_tolerance: float,
    ) -> None:
        n_clients = len(clients)
        self.clients = clients
        self.seeds = seeds
        self.step = step
        self.merge_distance = merge_distance
        self.stop_tolerance = stop_tolerance
        self.rates = raw_weights / raw_weights.sum() * step * clients.n_features
        self.participations = np.zeros(n_clients, dtype=np.int64)
        self.client_weights = np.full(n_clients, np.nan)
        self.taking_part = np.zeros(0, dtype=np.int64)
        self.wins = np.ones(len(seeds))
        self.index = -1.0
        self.stopped = False
        self._copies = [seeds] * n_clients
        self._labels = np.zeros(clients.n_points, dtype=np.int64)  # each point's nearest seed
        # The clients' messages: rate times (point - nearest seed), each with its seed's number;
        # the mean distance of a seed's points from their centre, and that centre.
        self._differences: dict[int, tuple[FloatArray, IntArray]] = {}
        self._spreads = np.zeros((n_clients, len(seeds)))
        self._centres = np.zeros((n_clients, *seeds.shape))

    def round(self, speaks: NDArray[np.bool_]) -> None:
        """Do one round in which the given clients (G,) send their points.

        If the index has changed by no more than the tolerance, AFCL stops and no seed moves.
        """
        places, place_of = _places(self.seeds)
        first = np.unique(place_of, return_index=True)[1]  # of equally near seeds the first counts
        guesses = place_of[self._labels]
        self._labels = nearest(self.clients.points, places, first, guesses)
        labels = self.clients.split(self._labels)
        for g in np.flatnonzero(speaks).tolist():
            self._copies[g] = self.seeds
            self._speak(g, labels[g])
        self._count_participations(speaks)
        previous, self.index = self.index, self._index(labels)
        if abs(self.index - previous) <= self.stop_tolerance:
            self.stopped = True
            return
        self._compete(places, place_of)
        for g in self.taking_part.tolist():
            self._copies[g] = self.seeds
        self._update_rates()

    def merged(self) -> FloatArray:
        """Return the merged seeds: those without a near one, then the first of each group."""
        places, place_of = without_repeats(self.seeds)
        members, _ = group(near(places, self.merge_distance), place_of[None])
        alone = np.setdiff1d(np.arange(len(self.seeds)), members[:, 2])
        first = members[np.unique(members[:, 0], return_index=True)[1], 2]
        return self.seeds[np.concatenate([alone, first])]

    def _speak(self, g: int, labels: IntArray) -> None:
        """Store client g's message; the first difference of every seed is zero."""
        points, n_seeds = self.clients[g], len(self.seeds)
        seeds = np.concatenate([np.arange(n_seeds), labels])
        order = np.argsort(seeds, kind="stable")
        differences = np.zeros((len(seeds), points.shape[1]))
        differences[n_seeds:] = self.rates * (points - self.seeds[labels])
        self._differences[g] = differences[order], seeds[order]
        self._spreads[g], self._centres[g] = describe(points, labels, n_seeds)

    def _count_participations(self, speaks: NDArray[np.bool_]) -> None:
        """Count the clients that send, and those whose last message is used again."""
        self.participations += speaks
        if not self.participations.any():
            self.client_weights = np.full(len(speaks), np.nan)
            self.taking_part = np.zeros(0, dtype=np.int64)
            return
        weights = 1 / (1 + self.participations / self.participations.sum())
        replayed = ~speaks & (weights > weights.mean()) & (self.participations > 0)
        self.participations += replayed
        shares = self.participations / self.participations.sum()
        self.client_weights = np.where(replayed, 1 / (1 + shares), weights)
        self.taking_part = np.flatnonzero(speaks | replayed)

    def _compete(self, places: FloatArray, place_of: IntArray) -> None:
        """Recover the points sent, client by client, and let the new seeds compete for them."""
        rates = np.where(self.rates == 0, 1.0, self.rates)
        self.wins = np.ones(len(self.seeds))
        for g in self.taking_part.tolist():
            differences, of_seed = self._differences[g]
            own_rates = rates * self.client_weights[g]
            objects = differences / own_rates + self._copies[g][of_seed]
            compete(objects, of_seed, places, place_of, self.wins, own_rates)
        self.seeds = places[place_of]

    def _update_rates(self) -> None:
        """Set the features' rates by the differences sent; a feature without any gets 0."""
        sent = np.zeros(len(self.rates))
        for g in self.taking_part.tolist():
            sent += np.abs(self._differences[g][0]).sum(axis=0)
        some = sent > 0
        inverse = np.power(sent[some], -1 / _WEIGHT_EXPONENT).sum()
        self.rates = np.zeros(len(sent))
        self.rates[some] = np.power(sent[some], -1 / _WEIGHT_EXPONENT) / inverse
        self.rates *= self.step * len(sent)

    def _index(self, labels: list[IntArray]) -> float:
        """Return the index that ends the rounds when it stops changing (a Davies-Bouldin index).

        Its clusters are the groups of the clients' copies of the seeds. A copy without a near one
        is a cluster at the origin. A group's spread and centre are sums over its copies at clients
        that take part, weighted by the clients and by the copies' shares of the group's points.
        """
        n_seeds = len(self.seeds)
        versions = {id(copy): copy for copy in self._copies}
        number = {key: i for i, key in enumerate(versions)}
        copy_of = np.array([number[id(copy)] for copy in self._copies])
        places, place_of = without_repeats(np.concatenate(list(versions.values())))
        of_version = place_of.reshape(len(versions), n_seeds)
        members, n_alone = group(near(places, self.merge_distance), of_version[copy_of])
        n_groups = int(members[:, 0].max(initial=-1)) + 1
        sizes = np.stack([np.bincount(own, minlength=n_seeds) for own in labels])
        points = sizes[members[:, 1], members[:, 2]]
        with np.errstate(invalid="ignore"):  # a group without points is undefined
            shares = points / np.bincount(members[:, 0], points, n_groups)[members[:, 0]]
        counted = np.isin(members[:, 1], self.taking_part)
        members, shares = members[counted], shares[counted]
        weights = self.client_weights[members[:, 1]]
        # One cluster at the origin represents all: their ratios to each other are undefined.
        times = np.append(np.ones(n_groups), [n_alone] if n_alone else [])
        spreads, centres = np.zeros((len(times), 1)), np.zeros((len(times), self.seeds.shape[1]))
        add_members(members, 1 + shares, weights, self._spreads[:, :, None], spreads)
        add_members(members, shares, weights, self._centres, centres)
        return _davies_bouldin(spreads[:, 0], centres, times)


def _places(seeds: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the different seeds, near ones together, and each seed's index there."""
    places, place_of = without_repeats(seeds)
    order = local_order(places)
    return places[order], np.argsort(order)[place_of]


def _davies_bouldin(spreads: FloatArray, centres: FloatArray, times: FloatArray) -> float:
    """Return the mean over clusters of their largest (spread + spread) / distance; 0 becomes NaN.

    Cluster c counts ``times[c]`` times in the mean.
    """
    index = float(np.average(largest_ratios(spreads, centres), weights=times))
    return index if index != 0 else np.nan
