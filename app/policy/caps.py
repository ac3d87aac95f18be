"""Decides which URL is evicted from a full frontier (promise F7): the lowest score, then the last lane, then the
youngest.

Only URLs that wait for their first fetch count: a URL that was fetched once keeps its row. The caller says which of
them may be evicted at all.
"""

from collections.abc import Mapping, Sequence
from struct import Struct

Standing = tuple[float, int]
_REAL = Struct("f")


def as_real(score: float) -> float:
    """The score in Postgres' `real`: scores are compared as they are stored."""
    (real,) = _REAL.unpack(_REAL.pack(score))
    return float(real)


def standing(score: float, lane: int) -> Standing:
    """The rank of a URL. The greater one stays; of equals, the one that was there first."""
    return as_real(score), -lane


def places(newcomers: Sequence[Standing], weakest: Sequence[Standing], room: int) -> tuple[int, int]:
    """How many of the newcomers are admitted, and how many of the weakest are evicted.

    newcomers  the best first
    weakest    URLs of the frontier that may be evicted, the worst first
    room       free places; below 0: the frontier is over its cap by so many
    """
    come, give = max(min(room, len(newcomers)), 0), min(max(-room, 0), len(weakest))
    while come < len(newcomers) and give < len(weakest) and newcomers[come] > weakest[give]:
        come, give = come + 1, give + 1
    return come, give


def floor(waiting: Mapping[float, int], cap: int | None) -> float | None:
    """The score that a newcomer must exceed. None: there is room.   waiting: {score: URLs that have it}."""
    if cap is None:
        return None
    reached = 0
    for score in sorted(waiting, reverse=True):
        reached += waiting[score]
        if reached >= cap:
            return score
    return None


def higher(one: float | None, other: float | None) -> float | None:
    """The stricter of two floors; None: there is no floor."""
    return one if other is None else other if one is None else max(one, other)
