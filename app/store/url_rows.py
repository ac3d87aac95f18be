"""The rows of `urls` as they go in and come out, and the one place where a candidate becomes a row."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple, NotRequired, TypedDict

from app.model import Cause
from app.policy.candidate import Candidate
from app.store import db

Where = tuple[int, int, bytes]  # host id, crawl id, URL key


def places(pages: Iterable[Where]) -> db.RowsParam:
    """Places as rows for a query."""
    return db.rows_param([{"host_id": host_id, "crawl_id": crawl_id, "key": key} for host_id, crawl_id, key in pages])


class Wanted(TypedDict):
    """A visit's request for URLs: up to n of each active crawl and lane. out_of_reach: origins that are left out."""

    host_id: int
    n: int
    out_of_reach: list[str]


class DueCrawl(NamedTuple):
    """A crawl at the pick of its URL: what changes without its order.   revision: of the order, of which a visit has a
    copy
    """

    revision: int
    has_page_budget: bool
    admits_above: float | None
    recrawl_price_s: float | None


class InARow(NamedTuple):
    """Failures of a URL in a row, by their class."""

    network: int
    server: int
    parse: int


class DueDocument(NamedTuple):
    """A URL's document as it was fetched last.

    reader  version of what found the text that text_sha256 is of; None, 0: of a release that noted none
    """

    etag: str | None
    last_modified: str | None
    body_sha256: bytes | None
    text_sha256: bytes | None
    reader: int | None


class Rhythm(NamedTuple):
    """How often a URL is looked at, and what is believed of its changes (`app.policy.recrawl`)."""

    interval_s: float | None
    change_shape: float | None
    change_s: float | None


class Due(NamedTuple):
    """A queued URL as a visit picks it, with results of its last fetch."""

    crawl: DueCrawl
    failures: InARow
    known: DueDocument
    rhythm: Rhythm
    host_id: int
    crawl_id: int
    key: bytes
    kind: str
    url: str
    linked: str | None
    lane: int
    depth: int
    hops: int
    score: float
    attempts: int
    outcome: str | None
    alias_of: str | None
    fetched_at: datetime | None
    sitemap_id: int | None
    lastmod: datetime | None
    directives: str | None
    opt_out: str | None
    cause: str | None
    detail: str | None
    honour_opt_outs: bool
    found_on: str | None
    score_parts: int | None
    gone_at: datetime | None


_crawl_of = attrgetter(*DueCrawl._fields)
_failures_of = attrgetter(*(f"{name}_failures" for name in InARow._fields))
_known_of = attrgetter(*DueDocument._fields)
_rhythm_of = attrgetter(*Rhythm._fields)
_rest_of = attrgetter(*Due._fields[4:])


def due_of(row: Any) -> Due:
    """A URL that was picked, from the row of a query. Their own constructors would take twice the time."""
    new = tuple.__new__
    parts = (
        new(DueCrawl, _crawl_of(row)),
        new(InARow, _failures_of(row)),
        new(DueDocument, _known_of(row)),
        new(Rhythm, _rhythm_of(row)),
    )
    return new(Due, (*parts, *_rest_of(row)))


class Admission(TypedDict):
    """A URL to be admitted, as `admission` makes it.

    linked   as in app.model.Url
    reopens  it replaces another form of the same URL that robots.txt refused
    due_s    of one that is deferred
    """

    host_id: int
    crawl_id: int
    kind: str
    key: bytes
    url: str
    state: str
    lane: int
    score: float
    depth: int
    hops: int
    found_on: str | None
    cause: Cause | None
    detail: str | None
    score_parts: int | None
    sitemap_id: int | None
    lastmod: str | None
    linked: NotRequired[str | None]
    reopens: NotRequired[bool]
    due_s: NotRequired[float]


def admission(candidate: Candidate, host_id: int) -> Admission:
    """The row of a candidate, now that its host has an id. The one place that makes it."""
    url = candidate.url
    row: Admission = {
        "host_id": host_id,
        "crawl_id": candidate.crawl_id,
        "kind": candidate.kind,
        "key": url.key,
        "url": url.text,
        "state": candidate.state,
        "lane": candidate.lane,
        "score": candidate.score,
        "depth": candidate.depth,
        "hops": candidate.hops,
        "found_on": candidate.found_on,
        "cause": candidate.cause,
        "detail": candidate.detail,
        "score_parts": candidate.score_parts,
        "sitemap_id": candidate.sitemap_id,
        "lastmod": candidate.lastmod,
    }
    if url.linked is not None:
        row["linked"] = url.linked
    if candidate.reopens:
        row["reopens"] = True
    if candidate.due_s is not None:
        row["due_s"] = candidate.due_s
    return row


class Raise(TypedDict):
    """A URL that waits for its first fetch, and is worth more than its score says.   score_parts: packed"""

    host_id: int
    crawl_id: int
    key: bytes
    score: float
    score_parts: int


class Result(TypedDict):
    """The result of a queued URL: every column that `record` writes. due_s counts from now; score None leaves it.

    moved: it had a page, which is gone from it and at another URL now
    sends: another form of it that is sent from now on.   kind: of a page that turned out to be a feed or a sitemap
    """

    host_id: int
    crawl_id: int
    key: bytes
    state: str
    attempts: int
    network_failures: int
    server_failures: int
    parse_failures: int
    retrying: bool
    score: float | None
    due_s: float | None
    interval_s: float | None
    change_shape: float | None
    change_s: float | None
    etag: str | None
    last_modified: str | None
    body_sha256: bytes | None
    text_sha256: bytes | None
    reader: int | None
    status: int | None
    outcome: str | None
    cause: str | None
    detail: str | None
    directives: str | None
    opt_out: str | None
    alias_of: str | None
    moved: bool
    fetched: bool
    changed: bool
    sends: NotRequired[str]
    kind: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundLot:
    """URLs of a crawl that one transaction queues for a new round: of these hosts, with keys from lower to below upper.

    floor_scores, floor_ids  by host: deferred URLs keep waiting from there on, the best first; None: none does
    """

    ids: list[int]
    floor_scores: list[float | None]
    floor_ids: list[int | None]
    lower: bytes
    upper: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The result of an admission. rows: how many were new; queued: how many of these each host got to fetch."""

    rows: int
    queued: Counter[int]

    @property
    def woken(self) -> set[int]:
        return set(self.queued)


class RobotsRefused(NamedTuple):
    """A URL that robots.txt refuses.   linked: as it was found, where its canonical form differs"""

    crawl_id: int
    key: bytes
    url: str
    linked: str | None
    cause: str


class RefusedUrls(NamedTuple):
    """The URLs that a crawl refused for one cause.   hosts: how many have such; host: the one that has most"""

    cause: str
    urls: int
    hosts: int
    host: str
