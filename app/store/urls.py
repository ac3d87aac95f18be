"""The frontier's rows: picking, admitting, recording, promoting. One query of urls.sql each, in the caller's transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("urls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A queued URL as a visit picks it, with what the last fetch left, and what the visit must know of its crawl."""

    revision: int
    has_page_budget: bool
    crawl_id: int
    id: int
    key: bytes
    kind: str
    url: str
    lane: int
    depth: int
    hops: int
    score: float
    attempts: int
    network_failures: int
    server_failures: int
    parse_failures: int
    etag: str | None
    last_modified: str | None
    body_sha256: bytes | None
    text_sha256: bytes | None
    interval_s: float | None
    outcome: str | None
    alias_of: str | None
    fetched_at: datetime | None
    changed_at: datetime | None
    sitemap_id: int | None
    lastmod: datetime | None
    directives: str | None
    opt_out: str | None
    cause: str | None
    sitemaps: str
    honour_opt_outs: bool


class Admission(TypedDict):
    """A URL to be admitted; host_id is filled in by the settle, once the host has a row."""

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
    cause: str | None
    sitemap_id: int | None
    lastmod: str | None


class Result(TypedDict):
    """What came of a queued URL: every column that `record` writes. due_s counts from now; score None: as it was."""

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
    etag: str | None
    last_modified: str | None
    body_sha256: bytes | None
    text_sha256: bytes | None
    status: int | None
    outcome: str | None
    cause: str | None
    directives: str | None
    opt_out: str | None
    alias_of: str | None
    fetched: bool
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """rows: how many were new.   woken: hosts that got a new queued URL."""

    rows: int
    woken: set[int]


def pick(tx: Connection, *, host_id: int, n: int, out_of_reach: Iterable[str] = ()) -> list[Due]:
    """Up to n of each active crawl and lane, best first within these. out_of_reach: origins that are left out."""
    rows = tx.execute(_sql["pick"], {"host_id": host_id, "n": n, "out_of_reach": list(out_of_reach)})
    return [Due(**row._mapping) for row in rows]


def admit(tx: Connection, rows: Sequence[Admission]) -> Admitted:
    """One row per (crawl, key), whoever comes first."""
    if not rows:
        return Admitted(rows=0, woken=set())
    made = tx.execute(_sql["admit"], {"rows": db.rows_param(rows)}).all()
    return Admitted(rows=len(made), woken={row.host_id for row in made if row.state == "queued"})


def count_attempt(tx: Connection, *, host_id: int, crawl_id: int, key: bytes) -> int | None:
    """Attempts now; None when the URL is not queued any more."""
    row = tx.execute(_sql["count_attempt"], {"host_id": host_id, "crawl_id": crawl_id, "key": key}).one_or_none()
    return row.attempts if row else None


def record(tx: Connection, *, host_id: int, rows: Sequence[Result]) -> int:
    """Returns how many rows were queued, as expected, and written."""
    if not rows:
        return 0
    return tx.execute(_sql["record"], {"host_id": host_id, "rows": db.rows_param(rows)}).rowcount


def give_up(
    tx: Connection, *, host_id: int, state: str, cause: str, prefix: str = "", spares_fresh: bool = False
) -> int:
    """The host's queued URLs that start so; spares_fresh: but for crawls that keep fresh. Returns how many."""
    where = {"host_id": host_id, "state": state, "cause": cause, "prefix": prefix, "spares_fresh": spares_fresh}
    return len(tx.execute(_sql["give_up"], where).all())


def promote(tx: Connection, n: int) -> set[int]:
    """Move due retries and recrawls to queued, at most n of each crawl and kind. Returns their hosts."""
    retries = tx.execute(_sql["promote_retries"], {"n": n})
    recrawls = tx.execute(_sql["promote_recrawls"], {"n": n})
    return {row.host_id for row in retries} | {row.host_id for row in recrawls}


def go_round(tx: Connection, crawl_id: int) -> set[int]:
    """Everything that a crawl has settled becomes queued. Returns the hosts."""
    return {row.host_id for row in tx.execute(_sql["go_round"], {"crawl_id": crawl_id})}


def retry(tx: Connection, *, host_id: int, key: bytes, crawl_id: int | None) -> list[int]:
    rows = tx.execute(_sql["retry"], {"host_id": host_id, "key": key, "crawl_id": crawl_id})
    return [row.crawl_id for row in rows]


def forget(tx: Connection, *, host_id: int, key: bytes, crawl_id: int | None) -> list[int]:
    rows = tx.execute(_sql["forget"], {"host_id": host_id, "key": key, "crawl_id": crawl_id})
    return [row.crawl_id for row in rows]


def refused_of_host(tx: Connection, *, host_id: int, after: tuple[int, bytes], n: int) -> list[tuple[int, bytes, str]]:
    """(crawl id, key, URL), a page of n after the last (crawl id, key) of the page before."""
    rows = tx.execute(
        _sql["refused_of_host"], {"host_id": host_id, "after_crawl": after[0], "after_key": after[1], "n": n}
    )
    return [(row.crawl_id, row.key, row.url) for row in rows]


def reopen(tx: Connection, *, host_id: int, rows: Sequence[Mapping[str, Any]]) -> int:
    """rows: crawl_id, key."""
    if not rows:
        return 0
    return len(tx.execute(_sql["reopen"], {"host_id": host_id, "rows": db.rows_param(rows)}).all())


def find(tx: Connection, *, host_id: int, key: bytes) -> list[dict[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["find"], {"host_id": host_id, "key": key}).mappings()]


def states(tx: Connection, crawl_id: int) -> dict[str, int]:
    return {row.state: row.urls for row in tx.execute(_sql["states"], {"crawl_id": crawl_id})}


def hosts_queued(tx: Connection, crawl_id: int) -> list[int]:
    return [row.host_id for row in tx.execute(_sql["hosts_queued"], {"crawl_id": crawl_id})]


def queued_some(tx: Connection, *, crawl_id: int, most: int) -> int:
    return int(tx.execute(_sql["queued_some"], {"crawl_id": crawl_id, "most": most}).scalar_one())


def seeds(tx: Connection, *, crawl_id: int, n: int) -> list[dict[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["seeds"], {"crawl_id": crawl_id, "n": n}).mappings()]


def causes(tx: Connection, *, crawl_id: int, n: int) -> list[dict[str, Any]]:
    """state, cause, urls."""
    return [dict(row) for row in tx.execute(_sql["causes"], {"crawl_id": crawl_id, "n": n}).mappings()]
