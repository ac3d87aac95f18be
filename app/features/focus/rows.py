"""Patterns: shapes of URLs, and what they have brought (promise T1). One query of patterns.sql each, in the caller's
transaction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("patterns", __file__)


class PatternRow(NamedTuple):
    """A shape and its counts, as `app.policy.focus.patterns.Yield` has them."""

    pattern: str
    urls: int
    fetched: int
    new: int
    refused: int
    lately: float
    new_lately: float
    rendered: int
    gain: int
    told: int
    spared: int
    grown: int


class Kept(TypedDict):
    """A row to be written."""

    host_id: int
    crawl_id: int
    pattern: str
    urls: int
    fetched: int
    new: int
    refused: int
    lately: float
    new_lately: float
    rendered: int
    gain: int
    told: int
    spared: int
    grown: int


class Turned(TypedDict):
    """A shape whose refused URLs are queued again."""

    host_id: int
    crawl_id: int
    pattern: str


class FileEnding(TypedDict):
    """An ending of files on a host, and its row among the patterns."""

    host: str
    crawl_id: int
    ending: str
    pattern: str


def without_page(tx: Connection, rows: Sequence[FileEnding], *, tries: int) -> set[tuple[str, int, str]]:
    """Those of which so many URLs were asked for, and none was a page: (host, crawl id, ending)."""
    found = db.run(tx, _sql["endings"], {"rows": db.rows_param(rows), "tries": tries})
    return {(row.host, row.crawl_id, row.ending) for row in found}


class SecondLook(TypedDict):
    """A host's refused URLs of a crawl, of which so many are tried."""

    host_id: int
    crawl_id: int
    n: int


class Sought(TypedDict):
    """Refused URLs of a pattern, of which so many are sought."""

    host_id: int
    crawl_id: int
    pattern: str
    n: int


class RefusedUrl(NamedTuple):
    """A URL that was refused for a pattern."""

    host_id: int
    crawl_id: int
    id: int
    url: str
    pattern: str


class LeftOut(NamedTuple):
    """A pattern whose URLs are refused as a trap: how many, how many requests it took, and one of them."""

    host: str
    pattern: str
    urls: int
    fetched: int
    url: str


class Spared(TypedDict):
    """A refused URL that is queued; copies: it is not, and this is the pattern that it is refused for."""

    host_id: int
    id: int
    copies: str | None


def of_host(tx: Connection, *, host_id: int, crawl_id: int) -> list[PatternRow]:
    # Shapes of a host that a visit knows: the most fetched.
    where = {"host_id": host_id, "crawl_id": crawl_id, "n": 2_000}
    return db.run(tx, _sql["of_host"], where).of(PatternRow)


def keep(tx: Connection, rows: Sequence[Kept]) -> None:
    """Write the shapes of hosts that this transaction holds."""
    if rows:
        db.run(tx, _sql["keep"], {"rows": db.rows_param(rows)})


def reopen(tx: Connection, rows: Sequence[Turned]) -> Counter[int]:
    """Queue the refused URLs of shapes. Returns {host: how many of them were never fetched}."""
    queued: Counter[int] = Counter()
    if rows:
        for row in db.run(tx, _sql["reopen"], {"rows": db.rows_param(rows)}):
            queued[row.host_id] += row.is_new
    return queued


def try_refused(tx: Connection, rows: Sequence[SecondLook]) -> list[int]:
    """Queue the most promising refused URLs, never fetched. Returns the crawl of each."""
    return [row.crawl_id for row in db.run(tx, _sql["try_refused"], {"rows": db.rows_param(rows)})] if rows else []


def refused_for(tx: Connection, *, host_id: int, crawl_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """How many URLs of a host are refused for each pattern, never fetched, by crawl."""
    found: dict[int, dict[str, int]] = {crawl_id: {} for crawl_id in crawl_ids}
    where = {"host_id": host_id, "crawl_ids": db.array_param(list(crawl_ids))}
    for row in db.run(tx, _sql["refused_for"], where) if crawl_ids else ():
        found[row.crawl_id][row.pattern] = row.urls
    return found


def refused_of(tx: Connection, rows: Sequence[Sought]) -> list[RefusedUrl]:
    """The best refused URLs of patterns, never fetched, those that are first of their pattern first."""
    return db.run(tx, _sql["refused_of"], {"rows": db.rows_param(rows)}).of(RefusedUrl) if rows else []


def spare(tx: Connection, rows: Sequence[Spared]) -> None:
    if rows:
        db.run(tx, _sql["spare"], {"rows": db.rows_param(rows)})


def left(tx: Connection, crawl_id: int, *, n: int) -> list[LeftOut]:
    """The patterns of a crawl of which the most URLs are refused."""
    return db.run(tx, _sql["left"], {"crawl_id": crawl_id, "n": n}).of(LeftOut)


def report(tx: Connection, *, host_id: int, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["report"], {"host_id": host_id, "n": n}).mappings()]


def hosts_deleted(tx: Connection, crawl_id: int, *, after: int, until: int) -> None:
    """Delete the rows of a crawl that is deleted, of the hosts with ids above `after`, up to `until`."""
    db.run(tx, _sql["hosts_deleted"], {"crawl_id": crawl_id, "after": after, "until": until})
