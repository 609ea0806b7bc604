"""FedGEM's server: overlaps, super-clusters and aggregation (Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmix.kernels import fedgem as kernels
from fedmix.methods.base import FloatArray, IntArray

#: Largest number of entries of the overlap test's mask at a time.
_MASK_ENTRIES = 2_000_000
#: Number of components per KD-tree query.
_QUERY_ROWS = 4_096


@dataclass(frozen=True)
class Server:
    """FedGEM's server (Algorithms 2 and 3).

    The parameters are those of :class:`~fedmix.methods.fedgem.FedGEM`, where ``search`` is called
    ``server``: overlaps are found by all pairs (Algorithm 2) or by a KD-tree (Section B.5.1), with
    the same result, or not searched, so that every component stays separate.
    """

    search: str = "pairwise"
    direction: str = "towards"
    one_component_per_client: bool = False
    repeat_joining_pairs: bool = False

    def update(
        self, centres: FloatArray, squared_radii: FloatArray, client: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """Do the server's part of a training round (Algorithm 2).

        The centres (C, d) are the maximisers, client after client, and ``client`` (C,) tells whose
        they are. Components of one client are never compared, as in Section 4.2 and the published
        program. The pseudo-code's loop over g_2 begins at g_1, so that it also compares a component
        with itself.

        Returns the means (C, d) of the sets T, and super-clusters (C,) numbered by first
        appearance. Such a set holds a component's own maximiser and the maximisers that it has in
        common with others.
        """
        radii = np.sqrt(squared_radii)
        total, count = centres.copy(), np.ones(len(centres))
        sign = 1.0 if self.direction == "towards" else -1.0
        groups = _SuperClusters(client, self.one_component_per_client)
        for left, right in self._overlaps(centres, radii, client):
            joined = groups.join(left, right)
            copies = 1 + joined if self.repeat_joining_pairs else np.ones(len(left), np.int64)
            kernels.add_common_maximisers(left, right, copies, centres, radii, sign, total, count)
        return total / count[:, None], groups.labels()

    def merge(
        self, centres: FloatArray, squared_radii: FloatArray, client: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """Do the final aggregation (Algorithm 3): the unweighted mean of each super-cluster.

        All members get it, as in Section 4.2. The pseudo-code adds a late member's maximiser only
        to the set of the component that it overlaps, so that the means of members can differ there.

        The parameters and the result are those of :meth:`update`.
        """
        groups = _SuperClusters(client, self.one_component_per_client)
        for left, right in self._overlaps(centres, np.sqrt(squared_radii), client):
            groups.join(left, right)
        labels = groups.labels()
        total = np.zeros((labels.max(initial=-1) + 1, centres.shape[1]))
        np.add.at(total, labels, centres)
        return (total / np.bincount(labels)[:, None])[labels], labels

    def _overlaps(
        self, centres: FloatArray, radii: FloatArray, client: IntArray
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield overlapping pairs (i, j) of different clients, i < j, in lexicographic order."""
        if self.search == "none":
            return iter(())
        if self.search == "kdtree":
            return _overlaps_by_tree(centres, radii, client)
        return _overlaps_by_pairs(centres, radii, client)


class _SuperClusters:
    """Components connected by overlaps, optionally with at most one of each client."""

    def __init__(self, client: IntArray, one_component_per_client: bool) -> None:
        self.client = client
        self.one_component_per_client = one_component_per_client
        self.parent = np.arange(len(client))
        self.ring = np.arange(len(client))
        self.size = np.ones(len(client), dtype=np.int64)

    def join(self, left: IntArray, right: IntArray) -> NDArray[np.bool_]:
        """Join the pairs in turn and return whether each joined two super-clusters."""
        return kernels.join_pairs(
            left,
            right,
            self.client,
            self.one_component_per_client,
            self.parent,
            self.ring,
            self.size,
        )

    def labels(self) -> IntArray:
        """Return each component's super-cluster, numbered by first appearance."""
        roots = kernels.find_roots(self.parent)
        _, first, inverse = np.unique(roots, return_index=True, return_inverse=True)
        return np.unique(first[inverse], return_inverse=True)[1]


def _overlaps_by_pairs(
    centres: FloatArray, radii: FloatArray, client: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    next_client = np.searchsorted(client, client, side="right")
    rows = max(1, _MASK_ENTRIES // max(1, len(centres)))
    for start in range(0, len(centres), rows):
        stop = min(start + rows, len(centres))
        mask = kernels.overlap_rows(centres, radii, next_client, start, stop)
        left, right = np.divmod(np.flatnonzero(mask), len(centres))  # faster than np.nonzero
        yield left + start, right


def _overlaps_by_tree(
    centres: FloatArray, radii: FloatArray, client: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Search around each ball for balls of at most its radius, within twice that radius."""
    from scipy.spatial import KDTree

    tree = KDTree(centres)
    found = []
    for start in range(0, len(centres), _QUERY_ROWS):
        rows = slice(start, start + _QUERY_ROWS)
        reach = 2 * radii[rows] * (1 + 1e-9)
        near = tree.query_ball_point(centres[rows], reach, return_sorted=False)
        i = np.repeat(np.arange(len(centres))[rows], [len(n) for n in near])
        j = np.concatenate([np.asarray(n, dtype=np.int64) for n in near])
        keep = (client[i] != client[j]) & (
            (radii[j] < radii[i]) | ((radii[j] == radii[i]) & (i < j))
        )
        left, right = np.minimum(i, j)[keep], np.maximum(i, j)[keep]
        overlap = kernels.overlap_pairs(centres, radii, left, right)
        found.append(np.stack([left[overlap], right[overlap]]))
    left, right = np.concatenate(found, axis=1)
    order = np.lexsort((right, left))
    yield left[order], right[order]
