"""A URL that a page, a sitemap, a redirect or a person names, on its way into the frontier.

It is parsed already, and stays so.

It does not know the id of its host: `app.store.url_rows.admission` makes its row, once the host has one.
"""

from typing import NamedTuple

from app.model import Cause, RequestKind, Url
from app.policy.lane import SEED_LANE
from app.policy.lifecycle import URL_TRANSITIONS, UrlEvent, UrlState, url_after

# What can happen to a URL that is not in the frontier, and the state that it gets there.
_ENTERING = {event: url_after(None, event) for state, event in URL_TRANSITIONS if state is None}
_CAUSES = {UrlEvent.DISALLOWED: Cause.ROBOTS, UrlEvent.TRAPPED: Cause.TRAP, UrlEvent.FORCED: Cause.FORCED}
# Of a seed, and of a sitemap: the best, all of it by itself (`app.policy.focus.score.SEED`, packed).
SEED_SCORE = 1.0
SEED_PARTS = 60 << 24


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
