"""What the live view of a crawl shows: queries that stay small however large the frontier is. One of progress.sql each."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("progress")
MOST_HOSTS = 60
EACH_QUEUE = 8
NEWEST_REQUESTS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """A crawl in this round. active_s: seconds since its start or last resumption; hosts: that were asked for something."""

    name: str
    state: str
    ended_because: str | None
    max_pages: int | None
    max_bytes: int | None
    max_seconds: float | None
    active_s: float
    pages: int
    failed: int
    bytes: int
    hosts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """A host of the crawl. next_s: seconds to its next contact, negative where it is late, None under a lease."""

    host: str
    waits_for: str
    delay_s: float
    next_s: float | None


def counts(tx: Connection, crawl_id: int) -> Counts:
    return Counts(**tx.execute(_sql["counts"], {"crawl_id": crawl_id}).one()._mapping)


def failures(tx: Connection, crawl_id: int) -> list[tuple[str, int]]:
    """(class, requests) of the last minute, the most frequent first."""
    rows = tx.execute(_sql["failures"], {"crawl_id": crawl_id, "n": NEWEST_REQUESTS})
    return [(str(row._mapping["class"]), int(row.n)) for row in rows]


def hosts(tx: Connection, *, crawl_id: int, queues: Sequence[str]) -> list[HostRow]:
    """Those under a lease first, then the next due. queues: all that hosts may be on."""
    where = {"crawl_id": crawl_id, "queues": list(queues), "most": MOST_HOSTS, "each": EACH_QUEUE}
    return [HostRow(**row._mapping) for row in tx.execute(_sql["hosts"], where)]
