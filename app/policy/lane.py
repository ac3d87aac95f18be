"""Chooses the front queue (lane) of a URL, and the order in which lanes are served (promise F5).

Seeds are p0. Otherwise the first segment of the path that the table below knows decides; any other page is ordinary,
p1. Only the path counts, never the content.
"""

from collections.abc import Mapping
from random import Random

from app.model import Url

# Lane → its share of the draws while URLs wait in all of them. No weight is 0, so no lane starves.
WEIGHTS: dict[int, int] = {0: 8, 1: 4, 2: 2, 3: 1}

_SEED, _ORDINARY, _NEWS, _LONG_TAIL = 0, 1, 2, 3

_LANES: dict[str, int] = {
    **dict.fromkeys(("docs", "doc", "documentation", "guide", "guides", "api", "reference", "manual"), _ORDINARY),
    **dict.fromkeys(("blog", "blogs", "news", "press", "posts"), _NEWS),
    **dict.fromkeys(("tag", "tags", "archive", "archives"), _LONG_TAIL),
}


def lane_for(url: Url, depth: int) -> int:
    """The lane, 0 (first) to 3 (last), of a URL `depth` links from a seed."""
    if depth == 0:
        return _SEED
    for segment in url.target.partition("?")[0].lower().split("/"):
        if segment in _LANES:
            return _LANES[segment]
    return _ORDINARY


def score_for(depth: int) -> float:
    """The order within a lane, highest first: 1.0 for a seed, falling with each link away from it."""
    return 1 / (1 + depth)


def draw(waiting: Mapping[int, int], n: int, rng: Random) -> list[int]:
    """The lanes to take the next URLs from, in order; each as often as `waiting` (lane → URLs there) allows.

    min(n, all that wait) draws, each by weight among the lanes that still hold something. They are drawn and
    not dealt in turn, because a slow host takes one URL at a time: a fixed turn would start with p0 each time.
    """
    left = {lane: count for lane, count in waiting.items() if count > 0}
    lanes: list[int] = []
    while left and len(lanes) < n:
        lane = rng.choices(list(left), [WEIGHTS[lane] for lane in left])[0]
        lanes.append(lane)
        left[lane] -= 1
        if not left[lane]:
            del left[lane]
    return lanes
