"""A URL that a page, a sitemap, a redirect or a person names, on its way into the frontier.

It is parsed already, and stays so.

It does not know the id of its host: `app.store.url_rows.admission` makes its row, once the host has one.

Decides which URL is evicted from a full frontier (promise F7): the lowest score, then the last lane, then the
youngest.

Only URLs that wait for their first fetch count: a URL that was fetched once keeps its row. The caller says which of
them may be evicted at all.

The order in which lanes, the front queues, are served (promise F5). A profile says which lane a URL is in.
"""

from collections.abc import Mapping, Sequence
from random import Random
from struct import Struct
from types import MappingProxyType
from typing import NamedTuple

from app.model import Cause, RequestKind, Url
from app.policy.lifecycle import URL_TRANSITIONS, UrlEvent, UrlState, url_after

# What can happen to a URL that is not in the frontier, and the state that it gets there.
_ENTERING = {event: url_after(None, event) for state, event in URL_TRANSITIONS if state is None}
_CAUSES = {UrlEvent.DISALLOWED: Cause.ROBOTS, UrlEvent.TRAPPED: Cause.TRAP, UrlEvent.FORCED: Cause.FORCED}
# Of a seed, and of a sitemap: the best, all of it by itself (`app.policy.focus.score.SEED`, packed).
SEED_SCORE = 1.0
SEED_PARTS = 60 << 24
Standing = tuple[float, int]
_REAL = Struct("f")
SEED_LANE = 0  # of seeds, and of sitemaps
LAST_LANE = 3
WEIGHTS: Mapping[int, int] = MappingProxyType({0: 8, 1: 4, 2: 2, 3: 1})  # of the draws, unless a profile says


class Candidate(NamedTuple):
    """A URL that may enter the frontier.

    A page has dozens: those of its links are made by place, which takes half as long.

    score       the order within its lane, the highest first
    depth       links between it and a seed
    hops        redirects that led to it
    found_on    the URL that names it; None: a person did
    event       how it enters: this gives the state and the cause
    reopens     its robots.txt allows this form: it replaces another form of the same URL that was refused
    seen        most likely it has a row already
    due_s       when it is due, counted from its admission, if it was deferred
    sitemap_id  the sitemap that says when it changed;   lastmod: what that says, in ISO 8601
    detail      more of its cause;   score_parts: components of the score, packed
    """

    crawl_id: int
    url: Url
    kind: RequestKind
    lane: int
    score: float
    depth: int
    hops: int
    found_on: str | None
    event: UrlEvent = UrlEvent.ADMITTED
    reopens: bool = False
    seen: bool = False
    due_s: float | None = None
    sitemap_id: int | None = None
    lastmod: str | None = None
    detail: str | None = None
    score_parts: int | None = None

    @property
    def state(self) -> UrlState:
        """By the transition table. Raises KeyError for an event that brings nothing in: a bug."""
        return _ENTERING[self.event]

    @property
    def cause(self) -> Cause | None:
        return _CAUSES.get(self.event)

    @property
    def form(self) -> tuple[int, bytes]:
        """Its crawl and its spelling: a page may name several of one URL."""
        return self.crawl_id, self.url.form


def in_front(crawl_id: int, url: Url, kind: RequestKind, *, depth: int = 0, found_on: str | None = None) -> Candidate:
    """A seed or a sitemap: served before what pages link to. depth: of a sitemap, the index files above it."""
    return Candidate(
        crawl_id,
        url,
        kind,
        lane=SEED_LANE,
        score=SEED_SCORE,
        depth=depth,
        hops=0,
        found_on=found_on,
        score_parts=SEED_PARTS,
    )


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
