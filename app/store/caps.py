"""The caps of the frontier: counts URLs that wait for a first fetch, and evicts the worst.

One query of caps.sql each.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("caps")
Where = tuple[int, int, bytes]  # host id, crawl id, key
WADED = 1_000  # rows that may not be evicted, skipped on the way to those that may


class Weak(NamedTuple):
    """A queued URL that waits for its first fetch and may be evicted for a better one."""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    found_on: str | None
    score: float
    lane: int

    @property
    def where(self) -> Where:
        return self.host_id, self.crawl_id, self.key


def strangers(tx: Connection, keys: Sequence[tuple[int | None, int, bytes]]) -> list[int]:
    """Indexes of those (host id, crawl id, key) that are not in the frontier. host id None: its host has no row."""
    asked = [
        {"place": place, "host_id": host_id, "crawl_id": crawl_id, "key": key}
        for place, (host_id, crawl_id, key) in enumerate(keys)
    ]
    return [row.place for row in db.run(tx, _sql["strangers"], {"rows": db.rows_param(asked)})]


def weakest(
    tx: Connection, *, host_id: int, n: int, below: float = float("inf"), spared: Iterable[bytes] = ()
) -> list[Weak]:
    """Up to n URLs of a host in active crawls, the worst first.

    below   their scores are below this
    spared  keys that are left out"""
    where = {"host_id": host_id, "n": n, "most": n + WADED, "below": below, "spared": list(spared)}
    return db.run(tx, _sql["weakest"], where).of(Weak)


def weakest_of(tx: Connection, crawl_ids: Sequence[int], *, n: int, percent: float) -> list[Weak]:
    """Up to n URLs of whole crawls, the worst first, from a sample of the table."""
    return db.run(tx, _sql["weakest_of"], {"crawl_ids": list(crawl_ids), "n": n, "percent": percent}).of(Weak)


def evict(tx: Connection, rows: Sequence[Weak]) -> set[Where]:
    """Evict URLs from the frontier. Returns those that were there, still queued and never fetched."""
    return {tuple(row) for row in db.run(tx, _sql["evict"], {"rows": _keys(rows)})} if rows else set()


def defer(tx: Connection, rows: Sequence[Weak], *, due_s: float) -> set[Where]:
    """Defer URLs to the next cycle, due in due_s where a crawl keeps fresh.

    Returns those deferred, as `evict` does.
    """
    if not rows:
        return set()
    return {tuple(row) for row in db.run(tx, _sql["defer"], {"rows": _keys(rows), "due_s": due_s})}


def recount(tx: Connection, *, host_id: int, good_s: float, most: int) -> tuple[int, bool] | None:
    """Count the URLs of a host that wait for their first fetch in active crawls.

    None: they were counted less than good_s ago, and no crawl has started or ended since. False: the queue is longer
    than `most`, and there may be more."""
    row = db.run(tx, _sql["recount"], {"host_id": host_id, "good_s": good_s, "most": most}).one_or_none()
    return (row.unfetched, row.whole) if row else None


def estimate(tx: Connection, host_id: int) -> int:
    """The host row's estimate of its URLs that wait for their first fetch."""
    return int(db.run(tx, _sql["estimate"], {"host_id": host_id}).scalar_one())


def counted(tx: Connection, *, host_id: int, unfetched: int) -> None:
    """Set the estimate in the host's row."""
    db.run(tx, _sql["counted"], {"host_id": host_id, "unfetched": unfetched})


def swell(tx: Connection, *, host_id: int, n: int) -> int:
    """Add n to the estimate of URLs that wait for their first fetch; n may be below 0. Returns the new estimate."""
    return int(db.run(tx, _sql["swell"], {"host_id": host_id, "n": n}).scalar_one())


def full_hosts(tx: Connection, *, cap: int, n: int) -> list[Mapping[str, Any]]:
    """(name, unfetched) of hosts at the cap, the fullest first."""
    return [dict(row) for row in tx.execute(_sql["full_hosts"], {"cap": cap, "n": n}).mappings()]


def full_hosts_of(tx: Connection, crawl_id: int, *, cap: int, n: int) -> list[str]:
    """Names of the hosts of a crawl that are at the cap."""
    return [row.name for row in tx.execute(_sql["full_hosts_of"], {"crawl_id": crawl_id, "cap": cap, "n": n})]


def sample_percent(tx: Connection, blocks: int = 512) -> float:  # of the frontier: some 10,000 URLs
    """The share of the frontier in so many of its blocks, in percent; 100: all."""
    return float(tx.execute(_sql["sample_percent"], {"blocks": blocks}).scalar_one())


def unfetched(tx: Connection, percent: float) -> dict[int, dict[float, int]]:
    """{crawl: {score: URLs}} that wait for their first fetch in active crawls, estimated from a sample."""
    found: dict[int, dict[float, int]] = {}
    for row in tx.execute(_sql["unfetched"], {"percent": percent}):
        found.setdefault(row.crawl_id, {})[row.score] = round(row.urls * 100 / percent)
    return found


def floors(tx: Connection) -> dict[int, float | None]:
    """{active crawl: the score that a link must exceed; None: any score is admitted}."""
    return {row.id: row.admits_above for row in tx.execute(_sql["floors"])}


def admit_above(tx: Connection, crawl_id: int, score: float | None) -> None:
    """Set the score that links must exceed to be admitted; None: any score is admitted."""
    tx.execute(_sql["admit_above"], {"crawl_id": crawl_id, "score": score})


def lock_unvisited(tx: Connection, host_ids: Iterable[int]) -> set[int]:
    """Lock the hosts without a visit, so that none can begin until the transaction ends. Returns them."""
    return {row.id for row in tx.execute(_sql["lock_unvisited"], {"ids": sorted(host_ids)})}


def _keys(rows: Sequence[Weak]) -> db.RowsParam:
    return db.rows_param([{"host_id": row.host_id, "crawl_id": row.crawl_id, "key": row.key} for row in rows])
