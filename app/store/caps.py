"""The caps of the frontier: who waits for a first fetch, how many they are, and who gives way. One query of caps.sql each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("caps")
Where = tuple[int, int, bytes]  # host id, crawl id, key
WADED = 1_000  # rows that may not give way, passed over on the way to those that may


class Weak(NamedTuple):
    """A queued URL that waits for its first fetch and may give way to a better one."""

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
    """Which of these (host id, crawl id, key) are not in the frontier: their indexes. host id None: its host has no row."""
    asked = [
        {"place": place, "host_id": host_id, "crawl_id": crawl_id, "key": key}
        for place, (host_id, crawl_id, key) in enumerate(keys)
    ]
    return [row.place for row in db.run(tx, _sql["strangers"], {"rows": db.rows_param(asked)})]


def weakest(
    tx: Connection, *, host_id: int, n: int, below: float = float("inf"), spared: Iterable[bytes] = ()
) -> list[Weak]:
    """Up to n of a host in active crawls, the worst first. below: their scores are.   spared: keys that are left out."""
    where = {"host_id": host_id, "n": n, "most": n + WADED, "below": below, "spared": list(spared)}
    return db.run(tx, _sql["weakest"], where).of(Weak)


def weakest_of(tx: Connection, crawl_ids: Sequence[int], *, n: int, percent: float) -> list[Weak]:
    """The same of whole crawls, from a sample of the table."""
    return db.run(tx, _sql["weakest_of"], {"crawl_ids": list(crawl_ids), "n": n, "percent": percent}).of(Weak)


def give_way(tx: Connection, rows: Sequence[Weak]) -> set[Where]:
    """Take them out of the frontier. Returns those that were there, still queued and never fetched."""
    return {tuple(row) for row in db.run(tx, _sql["give_way"], {"rows": _keys(rows)})} if rows else set()


def put_off(tx: Connection, rows: Sequence[Weak], *, due_s: float) -> set[Where]:
    """Let them wait for the next cycle, which is due then where a crawl keeps fresh. Returns as give_way does."""
    if not rows:
        return set()
    return {tuple(row) for row in db.run(tx, _sql["put_off"], {"rows": _keys(rows), "due_s": due_s})}


def recount(tx: Connection, *, host_id: int, good_s: float, most: int) -> tuple[int, bool] | None:
    """How many URLs of a host wait for their first fetch in active crawls. None: they were counted less than good_s ago, and no
    crawl has started or ended since. False: the queue is longer than `most`, and there may be more."""
    row = db.run(tx, _sql["recount"], {"host_id": host_id, "good_s": good_s, "most": most}).one_or_none()
    return (row.unfetched, row.whole) if row else None


def estimate(tx: Connection, host_id: int) -> int:
    """How many they are, as far as the host's row knows."""
    return int(db.run(tx, _sql["estimate"], {"host_id": host_id}).scalar_one())


def counted(tx: Connection, *, host_id: int, unfetched: int) -> None:
    """The row says so from now on."""
    db.run(tx, _sql["counted"], {"host_id": host_id, "unfetched": unfetched})


def swell(tx: Connection, *, host_id: int, n: int) -> int:
    """n further URLs wait for their first fetch; below 0: fewer. Returns how many there are by that estimate."""
    return int(db.run(tx, _sql["swell"], {"host_id": host_id, "n": n}).scalar_one())


def full_hosts(tx: Connection, *, cap: int, n: int) -> list[Mapping[str, Any]]:
    """name, unfetched: of hosts at the cap, the fullest first."""
    return [dict(row) for row in tx.execute(_sql["full_hosts"], {"cap": cap, "n": n}).mappings()]


def full_hosts_of(tx: Connection, crawl_id: int, *, cap: int, n: int) -> list[str]:
    """Their names, in a crawl."""
    return [row.name for row in tx.execute(_sql["full_hosts_of"], {"crawl_id": crawl_id, "cap": cap, "n": n})]


def sample_percent(tx: Connection, blocks: int) -> float:
    """How much of the frontier that many blocks of it are; 100: all."""
    return float(tx.execute(_sql["sample_percent"], {"blocks": blocks}).scalar_one())


def unfetched(tx: Connection, percent: float) -> dict[int, dict[float, int]]:
    """{crawl: {score: URLs}} of those that wait for their first fetch in active crawls, reckoned from a sample."""
    found: dict[int, dict[float, int]] = {}
    for row in tx.execute(_sql["unfetched"], {"percent": percent}):
        found.setdefault(row.crawl_id, {})[row.score] = round(row.urls * 100 / percent)
    return found


def floors(tx: Connection) -> dict[int, float | None]:
    """{active crawl: the score that a link must exceed; None: any will do}."""
    return {row.id: row.admits_above for row in tx.execute(_sql["floors"])}


def admit_above(tx: Connection, crawl_id: int, score: float | None) -> None:
    """Links must have a higher score than that to be admitted; None: any will do."""
    tx.execute(_sql["admit_above"], {"crawl_id": crawl_id, "score": score})


def lock_unvisited(tx: Connection, host_ids: Iterable[int]) -> set[int]:
    """Those that nobody visits, nor can until the transaction ends."""
    return {row.id for row in tx.execute(_sql["lock_unvisited"], {"ids": sorted(host_ids)})}


def _keys(rows: Sequence[Weak]) -> str:
    return db.rows_param([{"host_id": row.host_id, "crawl_id": row.crawl_id, "key": row.key} for row in rows])
