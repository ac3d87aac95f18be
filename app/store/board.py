"""Data for the dashboard. Each function runs one query of board.sql and reads a bounded number of rows.

Lists are read by key: a page begins after the last place of the one before.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.store import db
from app.store.border import Rows
from app.store.crawls import deleted

_sql = db.queries("board")
Row = Mapping[str, Any]
END = (datetime(9999, 1, 1, tzinfo=UTC), 2**63 - 1)  # before it: the newest
START = (datetime(1, 1, 2, tzinfo=UTC), 0)
FAILED_ROWS = 500  # of hosts and their classes
NEWEST = 20_000  # requests of the log that a page of sums may read


class CrawlLine(NamedTuple):
    """A crawl on the overview."""

    id: int
    name: str
    state: str
    ended_because: str | None
    ended_detail: str | None
    round: int
    max_pages: int | None
    max_bytes: int | None
    max_seconds: float | None
    keep_fresh: bool
    archive: bool
    search: bool
    active_since: datetime
    finished_at: datetime | None
    now: datetime
    active_s: float


class Step(NamedTuple):
    """Requests in a step of time. at: seconds since the epoch"""

    at: int
    pages: int
    failed: int
    bytes: int


class RunningVisit(NamedTuple):
    """A visit that runs."""

    host: str
    worker: str
    queue: str
    taken_at: datetime
    lease_until: datetime | None
    delay_s: float
    now: datetime


def crawls(tx: Connection, n: int) -> Sequence[CrawlLine]:
    return db.run(tx, _sql["crawls"], {"n": n}).of(CrawlLine)


def history(tx: Connection, *, crawl_id: int | None, within_s: float, step_s: int) -> Sequence[Step]:
    where = {"crawl_id": crawl_id, "within_s": within_s, "step_s": step_s, "n": NEWEST}
    return db.run(tx, _sql["history"], where).of(Step)


def visiting(tx: Connection, n: int) -> Sequence[RunningVisit]:
    return db.run(tx, _sql["visiting"], {"n": n}).of(RunningVisit)


def requests(tx: Connection, *, before: tuple[datetime, int] = END, n: int) -> list[Row]:
    return _rows(db.run(tx, _sql["requests"], {"before": before[0], "before_id": before[1], "n": n}))


def requests_of_host(tx: Connection, *, host_id: int, before: datetime = END[0], n: int) -> list[Row]:
    return _rows(db.run(tx, _sql["requests_of_host"], {"host_id": host_id, "before": before, "n": n}))


def errors(tx: Connection, *, crawl_id: int | None) -> list[Row]:
    return _rows(db.run(tx, _sql["errors"], {"crawl_id": crawl_id, "n": NEWEST}))


def failing(tx: Connection, *, crawl_id: int | None, rows: int) -> list[Row]:
    """Failed requests by host, kind and class, the hosts that fail first; each with the sums of all."""
    return _rows(db.run(tx, _sql["failing"], {"crawl_id": crawl_id, "n": NEWEST, "rows": rows}))


def names_after(tx: Connection, *, after: str, n: int) -> list[Row]:
    return _rows(db.run(tx, _sql["names_after"], {"after": after, "n": n}))


def names_of_crawl(tx: Connection, *, crawl_id: int, after: int, n: int) -> list[Row]:
    return _rows(db.run(tx, _sql["names_of_crawl"], {"crawl_id": crawl_id, "after": after, "n": n}))


def names_by_contact(
    tx: Connection, *, queues: Sequence[str], after: tuple[datetime, int] = START, n: int
) -> list[Row]:
    return _rows(
        db.run(tx, _sql["names_by_contact"], {"queues": list(queues), "after": after[0], "after_id": after[1], "n": n})
    )


def hosts(tx: Connection, *, names: Sequence[str], waits_for: str | None) -> list[Row]:
    """These hosts, in no order.   waits_for: the beginning of what they wait for"""
    return _rows(db.run(tx, _sql["hosts"], {"names": list(names), "waits_for": waits_for}))


def domain_delays(tx: Connection, names: Sequence[str]) -> dict[str, float]:
    """Operators' delays for these registrable domains, by name."""
    return {row.name: row.delay_override_s for row in db.run(tx, _sql["domain_delays"], {"names": list(names)})}


def traps(tx: Connection, *, after: tuple[int, int, str], n: int) -> list[Row]:
    host, crawl, pattern = after
    return _rows(
        db.run(tx, _sql["traps"], {"after_host": host, "after_crawl": crawl, "after_pattern": pattern, "n": n})
    )


def duplicates(tx: Connection, *, after: tuple[int, int, str], n: int) -> list[Row]:
    host, crawl, key = after
    return _rows(db.run(tx, _sql["duplicates"], {"after_host": host, "after_crawl": crawl, "after_key": key, "n": n}))


def items(tx: Connection, *, after: tuple[int, int, str, str, int], n: int) -> list[Row]:
    names = ("after_host", "after_crawl", "after_key", "after_handler", "after_n")
    return _rows(db.run(tx, _sql["items"], dict(n=n, **dict(zip(names, after, strict=True)))))


def pages(tx: Connection, *, crawl_id: int, after: tuple[int, str], n: int) -> tuple[list[Row], int | None]:
    """The next n pages of a crawl, by host and key; and the last host that was looked at, if more may follow it.

    after: host id, and key in hexadecimal digits
    """
    where = {"crawl_id": crawl_id, "after_host": after[0], "after_key": after[1], "n": n}
    walked = [row.host_id for row in db.run(tx, _sql["page_hosts"], where)]
    found = _rows(db.run(tx, _sql["pages"], {**where, "hosts": walked}))
    is_cut = len(found) == n or len(walked) > n
    return found, walked[-1] if is_cut else None


def page(tx: Connection, *, host_id: int, crawl_id: int, key: bytes) -> Row | None:
    """Read what is stored of a page; None: nothing is."""
    found = _rows(db.run(tx, _sql["page"], {"host_id": host_id, "crawl_id": crawl_id, "key": key}))
    return next(iter(found), None)


def refused_links(tx: Connection, *, crawl_id: int, reason: str | None, before: datetime = END[0], n: int) -> list[Row]:
    """Read the next n links, and return those of a reason, or all; and the n-th. place: from 1"""
    return _rows(db.run(tx, _sql["refused_links"], {"crawl_id": crawl_id, "reason": reason, "before": before, "n": n}))


def percents(tx: Connection, *, blocks: int) -> dict[str, float]:
    """By table: the share that so many of its blocks are, in percent. 100: all of it."""
    return {row.name: float(row.percent) for row in db.run(tx, _sql["percents"], {"blocks": blocks})}


def urls_read(tx: Connection, *, crawl_id: int, percent: float) -> list[Row]:
    """URLs of a crawl in so many percent of the frontier: state, cause, detail, depth, lane, urls, fetched."""
    return _rows(db.run(tx, _sql["urls_read"], {"crawl_id": crawl_id, "percent": percent}))


def requests_read(tx: Connection, *, crawl_id: int, percent: float, days: int) -> list[Row]:
    """Requests of a crawl in so many percent of the log: kind, outcome, status, fetches; of the last days, recrawls."""
    return _rows(db.run(tx, _sql["requests_read"], {"crawl_id": crawl_id, "percent": percent, "days": days}))


def refused_read(tx: Connection, *, crawl_id: int, percent: float) -> list[Row]:
    """Refused links of a crawl in so many percent of them: reason, links, times."""
    return _rows(db.run(tx, _sql["refused_read"], {"crawl_id": crawl_id, "percent": percent}))


def crawl(tx: Connection, crawl_id: int) -> CrawlLine:
    """A crawl as on the overview. Raises InputError where it was deleted."""
    found = db.run(tx, _sql["crawl"], {"crawl_id": crawl_id}).of(CrawlLine)
    if not found:
        raise deleted()
    return found[0]


def items_of_url(tx: Connection, *, host_id: int, crawl_id: int, key: bytes) -> list[Row]:
    return _rows(db.run(tx, _sql["items_of_url"], {"host_id": host_id, "crawl_id": crawl_id, "key": key}))


def workers(tx: Connection, n: int) -> list[Row]:
    return _rows(db.run(tx, _sql["workers"], {"n": n}))


def sizes(tx: Connection) -> dict[str, int]:
    """Rows of the large tables, as Postgres estimates them; it counts while it cleans."""
    return {row.name: row.rows for row in db.run(tx, _sql["sizes"])}


def _rows(found: Rows) -> list[Row]:
    return [row._asdict() for row in found]
