"""The order in which lanes, the front queues, are served (promise F5). A profile says which lane a URL is in."""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

SEED_LANE = 0  # of seeds, and of sitemaps
LAST_LANE = 3
WEIGHTS: Mapping[int, int] = MappingProxyType({0: 8, 1: 4, 2: 2, 3: 1})  # of the draws, unless a profile says


def draw(waiting: Mapping[int, int], n: int, rng: Random, weights: Mapping[int, int]) -> list[int]:
    """The lanes to take the next URLs from, in order; each as often as `waiting` (lane → URLs there) allows.

    min(n, all that wait) draws, each by weight among the lanes that still hold something; no weight is 0. They are
    drawn and not dealt in turn, because a slow host takes one URL at a time: a fixed turn would start with p0 each
    time.
    """
    left = {lane: count for lane, count in waiting.items() if count > 0}
    lanes: list[int] = []
    while left and len(lanes) < n:
        lane = rng.choices(list(left), [weights[lane] for lane in left])[0]
        lanes.append(lane)
        left[lane] -= 1
        if not left[lane]:
            del left[lane]
    return lanes
