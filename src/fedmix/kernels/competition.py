"""Hot loops of AFCL over seeds in blocks: the nearest seed, and the competition among the seeds.

A block holds places of seeds that are near one another, and lies in a box. The distance of a point
from the box is at most that from any of the places, so most blocks need no distances at all. What
is skipped cannot change a result, so results are those of a search without blocks, to the last bit.
"""

from __future__ import annotations

import numpy as np

from fedmix.kernels.compiler import njit

COOPERATION_FLOOR = 1e-4  # squared distance within which a seed always moves with the winner
WIDTH = 32  # places in a block
TOGETHER = 32  # features after which a block may be given up
PADDING = 8  # boxes and small blocks are filled up to a multiple, for vector instructions
# Boxes are wider than their places by these shares of the largest coordinate. Places may move by
# the first before their box is computed again. The second is far above all rounding errors.
ROOM, SLACK = 1e-2, 1e-6
TINY = 1e-300  # products below can be equal though their factors are not


def local_order(places):
    """Return an order of places (m, d) that has near ones together, in blocks of ``WIDTH``.

    Places are halved by the feature in which they differ most, until a block is left.
    """
    order = np.arange(len(places))
    waiting = [(0, len(places))]
    while waiting:
        start, stop = waiting.pop()
        if stop - start > WIDTH:
            own = order[start:stop]
            values = places[own]
            widest = np.argmax(np.ptp(values, axis=0))
            half = -(-len(own) // WIDTH) // 2 * WIDTH
            own[:] = own[np.argpartition(values[:, widest], half)]
            waiting += [(start, start + half), (start + half, stop)]
    return order


@njit(cache=True)
def nearest(points, places, numbers, guesses):
    """Return the number of the place nearest to each point, (n,).

    The points are (n, d) and the places (m, d), best in their :func:`local_order`. Of equally near
    places that with the lowest of the ``numbers`` (m,) counts. ``guesses`` (n,) are the indices of
    places that are probably near the points; good ones save time.
    """
    blocks, low, high = _blocks_of(places)
    n_blocks, _, width = blocks.shape
    bounds, squared, ones = np.zeros(low.shape[1]), np.empty(width), np.ones(width)
    labels = np.empty(len(points), dtype=np.int64)
    for i in range(len(points)):
        point = points[i]
        if n_blocks > 1:
            _distances_of_boxes(point, low, high, bounds)
        best, label = np.inf, numbers.max()
        first = guesses[i] // width
        for turn in range(-1, n_blocks):
            b = first if turn < 0 else turn
            if turn == first or bounds[b] > best:
                continue
            if not _any_near(point, blocks[b], ones, best, squared):
                continue
            for j in range(min(width, len(places) - b * width)):
                if squared[j] <= best:
                    number = numbers[b * width + j]
                    if squared[j] < best or number < label:
                        best, label = squared[j], number
        labels[i] = label
    return labels


@njit(cache=True)
def compete(points, guesses, places, place_of, wins, rates, floor=COOPERATION_FLOOR):
    """Present points one by one: the winner and the seeds near it move towards the point.

    The points (n, d) are those of one client, as the server rebuilds them. Equal seeds always move
    alike, so each of the ``places`` (m, d) where seeds are is moved once, in place. ``place_of``
    (k,) is the place of each seed, and ``wins`` (k,) counts its wins, in place. Each feature has a
    learning rate, (d,). Seeds within the squared distance ``floor`` of the winner always move, and
    so do those that are no farther from it than the point. Places are best in their
    :func:`local_order`; ``guesses`` (n,) are seeds that are probably near the points.
    """
    scale, fastest = max(np.abs(points).max(), np.abs(places).max()), rates.max()
    room = ROOM * scale if len(places) > WIDTH else np.inf
    # Steps beyond the point can carry seeds to any distance: nothing is skipped then.
    slack = (ROOM + SLACK) * scale if fastest < 1 else np.inf
    blocks, low, high = _blocks_of(places)
    low -= slack
    high += slack
    n_blocks, n_features, width = blocks.shape
    bounds, travelled = np.zeros(low.shape[1]), np.zeros(n_blocks)
    squared, handicaps, ones = np.empty(width), np.empty(width), np.ones(width)
    centre = np.empty(n_features)
    starts, seeds = _seeds_of_places(place_of, len(places))
    # Of a place's seeds the leader wins, the first of those with the fewest wins.
    leaders, fewest = np.empty(len(places), dtype=np.int64), np.full((n_blocks, width), np.inf)
    for place in range(len(places)):
        leaders[place] = _first_with_fewest(wins, seeds, starts[place], starts[place + 1])
        fewest[place // width, place % width] = wins[seeds[leaders[place]]]
    fewest_of_block = np.array([_least(own) for own in fewest])
    total = wins.sum()
    for i in range(len(points)):
        point = points[i]
        if n_blocks > 1:
            _distances_of_boxes(point, low, high, bounds)
        best, limit, winner, reach = np.inf, np.inf, 0, np.inf
        first = place_of[guesses[i]] // width
        for turn in range(-1, n_blocks):
            b = first if turn < 0 else turn
            if turn == first or fewest_of_block[b] * bounds[b] > limit:
                continue
            for j in range(width):
                handicaps[j] = fewest[b, j] / total
            if not _any_near(point, blocks[b], handicaps, best, squared):
                continue
            for j in range(min(width, len(places) - b * width)):
                value = handicaps[j] * squared[j]
                if value <= best:
                    place = b * width + j
                    s = leaders[place]
                    if value < TINY:  # all may win whose product is as small
                        s = starts[place]
                        while wins[seeds[s]] / total * squared[j] > value:
                            s += 1
                    if value < best or seeds[s] < winner:
                        best, winner, reach = value, seeds[s], squared[j]
            limit = best * total + TINY
        place = place_of[winner]
        b, j = place // width, place % width
        wins[winner] += 1
        total += 1
        s = leaders[place]
        if winner == seeds[s]:  # the next one with as many wins leads, or the first with more
            while s < starts[place + 1] and wins[seeds[s]] > fewest[b, j]:
                s += 1
            if s == starts[place + 1]:
                s = _first_with_fewest(wins, seeds, starts[place], s)
            leaders[place] = s
            fewest[b, j] = wins[seeds[s]]
            fewest_of_block[b] = _least(fewest[b])
        for f in range(n_features):
            centre[f] = blocks[b, f, j]
        # What moves is at most this far from the point, by the triangle inequality.
        farthest = np.sqrt(reach) + np.sqrt(max(reach, floor))
        reach = max(reach, floor)
        for b in range(n_blocks):
            if bounds[b] > farthest * farthest:
                continue
            if not _any_near(centre, blocks[b], ones, reach, squared):
                continue
            _move(blocks[b], squared, reach, point, rates)
            travelled[b] += fastest * farthest
            if travelled[b] > room:
                travelled[b] = 0.0
                for f in range(n_features):
                    low[f, b] = _least(blocks[b, f]) - slack
                    high[f, b] = _most(blocks[b, f]) + slack
    for place in range(len(places)):
        for f in range(n_features):
            places[place, f] = blocks[place // width, f, place % width]


@njit(cache=True)
def _blocks_of(places):
    """Return places (m, d) in blocks (b, d, width) and their boxes' sides, low and high (d, >= b).

    The last place fills the last block. Boxes that only pad are at infinity.
    """
    n_places, n_features = places.shape
    width = min(WIDTH, -(-n_places // PADDING) * PADDING)
    n_blocks = -(-n_places // width)
    blocks = np.empty((n_blocks, n_features, width))
    shape = n_features, -(-n_blocks // PADDING) * PADDING
    low, high = np.full(shape, np.inf), np.full(shape, np.inf)
    for b in range(n_blocks):
        for f in range(n_features):
            row = blocks[b, f]
            for j in range(width):
                row[j] = places[min(b * width + j, n_places - 1), f]
            low[f, b], high[f, b] = _least(row), _most(row)
    return blocks, low, high


@njit(cache=True)
def _seeds_of_places(place_of, n_places):
    """Return where each place's seeds start (m + 1,) among the seeds ordered by place (k,)."""
    starts = np.zeros(n_places + 1, dtype=np.int64)
    for place in place_of:
        starts[place + 1] += 1
    return np.cumsum(starts), np.argsort(place_of, kind="mergesort")


@njit(cache=True)
def _first_with_fewest(wins, seeds, start, stop):
    """Return where the first of the ``seeds[start:stop]`` with the fewest wins is."""
    first = start
    for s in range(start, stop):
        if wins[seeds[s]] < wins[seeds[first]]:
            first = s
    return first


@njit(cache=True)
def _least(values):
    """Return the least value; unlike ``min`` of an array, the loop is compiled to few steps."""
    least = values[0]
    for value in values:
        least = value if value < least else least
    return least


@njit(cache=True)
def _most(values):
    """Return the largest value."""
    most = values[0]
    for value in values:
        most = value if value > most else most
    return most


@njit(cache=True, inline="always")
def _distances_of_boxes(point, low, high, squared):
    """Set ``squared`` to the squared distances of boxes from a point (d,)."""
    squared[:] = 0.0
    for f in range(len(point)):
        lows, highs, value = low[f], high[f], point[f]
        for b in range(len(squared)):
            below, above = lows[b] - value, value - highs[b]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            squared[b] += gap * gap


@njit(cache=True, inline="always")
def _any_near(point, block, factors, limit, squared):
    """Set ``squared`` to the squared distances of a block's places from a point (d,).

    Returns whether a factor times a squared distance is within the limit. If not, the distances
    are not complete.
    """
    squared[:] = 0.0
    for start in range(0, len(point), TOGETHER):
        _add_squares(point, block, start, min(start + TOGETHER, len(point)), squared)
        n_near = 0
        for j in range(len(squared)):
            n_near += factors[j] * squared[j] <= limit
        if n_near == 0:
            return False
    return True


@njit(cache=True, inline="always")
def _add_squares(point, block, start, stop, squared):
    """Add the squared differences in some features, one after the other.

    Four features at a time need less memory traffic. The order of the sum stays.
    """
    f = start
    while f + 4 <= stop:
        first, second, third, fourth = block[f], block[f + 1], block[f + 2], block[f + 3]
        a, b, c, d = point[f], point[f + 1], point[f + 2], point[f + 3]
        for j in range(len(squared)):
            total = squared[j] + (a - first[j]) * (a - first[j])
            total += (b - second[j]) * (b - second[j])
            total += (c - third[j]) * (c - third[j])
            squared[j] = total + (d - fourth[j]) * (d - fourth[j])
        f += 4
    for g in range(f, stop):
        row, value = block[g], point[g]
        for j in range(len(squared)):
            squared[j] += (value - row[j]) * (value - row[j])


@njit(cache=True, inline="always")
def _move(block, squared, reach, point, rates):
    """Move the places of a block that are within the squared distance ``reach`` of the winner."""
    for f in range(len(point)):
        row, rate, target = block[f], rates[f], point[f]
        for j in range(len(row)):
            moved = row[j] + rate * (target - row[j])
            row[j] = moved if squared[j] <= reach else row[j]
