"""Data for the live view of a crawl. Each function runs one query of live.sql and reads a bounded number of rows."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from app.model import RestReason
from app.store import db

_sql = db.queries("live")
EACH_QUEUE = 8
NEWEST_REQUESTS = 4_000


class HostRow(NamedTuple):
    """A host of the crawl.

    waits_for  for a person; None: its delay;   detail: more of its rest or its wait
    because    what it waits for in the words of v_host_status, by which others decide
    next_s     seconds to its next contact, negative where it is late, None under a lease
    """

    host: str
    waits_for: str | None
    delay_s: float
    next_s: float | None
    because: str
    detail: str | None = None


def failures(tx: Connection, crawl_id: int) -> list[tuple[str, int]]:
    """(class, requests) of a crawl's URLs in the last minute, and since its start, the most frequent first."""
    rows = db.run(tx, _sql["failures"], {"crawl_id": crawl_id, "n": NEWEST_REQUESTS})
    return [(row.class_, row.n) for row in rows]


def newest(tx: Connection, crawl_id: int) -> str | None:
    """The URL of a crawl's newest request in the last minute."""
    found = db.run(tx, _sql["newest"], {"crawl_id": crawl_id, "n": NEWEST_REQUESTS})
    return next((row.url for row in found), None)


def hosts(tx: Connection, *, crawl_id: int, queues: Sequence[str]) -> list[HostRow]:
    """Hosts of a crawl: those that are paused or under a lease, then the next due. queues: all that hosts may be on."""
    where = {
        "crawl_id": crawl_id,
        "queues": list(queues),
        "most": 60,
        "each": EACH_QUEUE,
        "out_of_reach": RestReason.ROBOTS_OUT_OF_REACH,
    }
    return db.run(tx, _sql["hosts"], where).of(HostRow)
