"""What the live line of a crawl is made of. Each function runs one query of live.sql and reads a bounded number of rows."""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("live")


class Slice(NamedTuple):
    """The rows after a given id. seen: how many there were.   last: the id of the last one, None: there was none."""

    seen: int
    last: int | None
    sums: Counter[str]


def state(tx: Connection, crawl_id: int) -> str:
    """Of one crawl."""
    return str(db.run(tx, _sql["state"], {"crawl_id": crawl_id}).scalar_one())


def fetched(tx: Connection, *, crawl_id: int, after: int, n: int) -> Slice:
    """pages, failed, bytes of the next n hosts of a crawl, by id."""
    row = db.run(tx, _sql["fetched"], {"crawl_id": crawl_id, "after": after, "n": n}).one()
    return Slice(row.seen, row.last, Counter(pages=row.pages, failed=row.failed, bytes=row.bytes))


def waiting(tx: Connection, *, after: int, n: int) -> Slice:
    """Hosts by what they wait for, of the next n, by id. Those that wait for nothing are seen and not counted."""
    rows = db.run(tx, _sql["waiting"], {"after": after, "n": n}).all()
    return Slice(
        sum(row.hosts for row in rows),
        max((row.last for row in rows), default=None),
        Counter({row.because: row.hosts for row in rows if row.because is not None}),
    )
