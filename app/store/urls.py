"""The frontier's rows: picking, admitting, recording, promoting.

One query of urls.sql each, in the caller's transaction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection

from app.model import Cause, RestReason
from app.store import db
from app.store.url_rows import (
    Admission,
    Admitted,
    Due,
    Raise,
    RefusedUrls,
    Result,
    RobotsRefused,
    RoundLot,
    Wanted,
    due_of,
)

_sql = db.queries("urls")
MOST_AHEAD = 10_000
LOT_URLS = 5_000  # of a new round in one transaction, under the locks of their hosts
_AFTER_ALL_KEYS = b"\xff" * 33


def pick(tx: Connection, wanted: Sequence[Wanted]) -> list[Due]:
    """Pick URLs, the best first within each host, crawl and lane."""
    return [due_of(row) for row in db.run(tx, _sql["pick"], {"rows": db.rows_param(wanted)})]


def top(tx: Connection, *, crawl_id: int, n: int) -> list[Mapping[str, Any]]:
    """The queued URLs of a crawl that come first, each at its host. Sorts all that are queued: seconds at millions."""
    return [dict(row) for row in tx.execute(_sql["top"], {"crawl_id": crawl_id, "n": n}).mappings()]


def waiting(tx: Connection, origins: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Those of the origins (host id, scheme://host:port) that have something queued in an active crawl."""
    if not origins:
        return set()
    rows = [{"host_id": host_id, "origin": origin} for host_id, origin in origins]
    return {(row.host_id, row.origin) for row in db.run(tx, _sql["waiting"], {"rows": db.rows_param(rows)})}


def admit(tx: Connection, rows: Sequence[Admission]) -> Admitted:
    """Admit URLs: one row per (crawl, key), by the first to arrive.

    A refused one is queued again for an allowed form.
    """
    if not rows:
        return Admitted(rows=0, queued=Counter())
    made = db.run(tx, _sql["admit"], {"rows": db.rows_param(rows)}).all()
    return Admitted(rows=len(made), queued=Counter([host_id for host_id, state in made if state == "queued"]))


def stand(tx: Connection, keys: Sequence[tuple[int, int, bytes]]) -> set[tuple[int, int, bytes]]:
    """Those of (host id, crawl id, key) with a row that an admission would leave as it is."""
    rows = [{"host_id": host_id, "crawl_id": crawl_id, "key": key} for host_id, crawl_id, key in keys]
    return set(db.run(tx, _sql["stand"], {"rows": db.rows_param(rows)}).all()) if rows else set()


def count_attempt(tx: Connection, *, host_id: int, crawl_id: int, key: bytes) -> int | None:
    """Count an attempt. Returns the attempts so far; None when the URL is not queued any more."""
    row = db.run(tx, _sql["count_attempt"], {"host_id": host_id, "crawl_id": crawl_id, "key": key}).one_or_none()
    return row.attempts if row else None


def uncount_attempt(tx: Connection, *, host_id: int, crawl_id: int, key: bytes) -> None:
    db.run(tx, _sql["uncount_attempt"], {"host_id": host_id, "crawl_id": crawl_id, "key": key})


def raise_scores(tx: Connection, rows: Sequence[Raise]) -> None:
    """Raise the scores of URLs that wait for their first fetch; others stay as they are."""
    if rows:
        db.run(tx, _sql["raise_scores"], {"rows": db.rows_param(rows)})


def record(tx: Connection, rows: Sequence[Result]) -> None:
    """Write results to rows that are still queued; others stay as they are."""
    if rows:
        db.run(tx, _sql["record"], {"rows": db.rows_param(rows)})


def give_up(
    tx: Connection,
    *,
    host_id: int,
    state: str,
    cause: Cause,
    detail: str | None,
    prefix: str = "",
    spares_fresh: bool = False,
) -> int:
    """End the host's queued URLs with this start. spares_fresh: not in crawls that keep fresh.

    Returns how many of them waited for their first fetch, in active crawls.
    """
    where = {
        "host_id": host_id,
        "state": state,
        "cause": cause,
        "detail": detail,
        "prefix": prefix,
        "spares_fresh": spares_fresh,
    }
    return sum(row.is_new for row in db.run(tx, _sql["give_up"], where))


def promote(tx: Connection, n: int) -> set[int]:
    """Move due retries and recrawls to queued, at most n of each crawl and kind. Returns their hosts."""
    retries = tx.execute(_sql["promote_retries"], {"n": n})
    recrawls = tx.execute(_sql["promote_recrawls"], {"n": n})
    return {row.host_id for row in retries} | {row.host_id for row in recrawls}


def lots_of_round(
    tx: Connection, crawl_id: int, *, per_host: int | None = None, per_crawl: int | None = None
) -> list[RoundLot]:
    """The settled URLs of a crawl, in lots of LOT_URLS or less, by host.

    per_host, per_crawl: no more deferred URLs than this are admitted; None: all.
    """
    where = {"crawl_id": crawl_id, "per_host": per_host, "per_crawl": per_crawl}
    lots: list[RoundLot] = []
    together: list[Any] = []
    size = 0
    for row in tx.execute(_sql["round_of_hosts"], where):
        if together and size + row.urls > LOT_URLS:
            lots.append(_lot(together))
            together, size = [], 0
        if row.urls > LOT_URLS:
            lots += _lots_of_host(row)
        else:
            together.append(row)
            size += row.urls
    return [*lots, _lot(together)] if together else lots


def go_round(tx: Connection, crawl_id: int, lot: RoundLot) -> Counter[int]:
    """Queue a lot of a crawl's settled URLs; its hosts are locked. Returns {host: how many were never fetched}."""
    rows = tx.execute(_sql["go_round"], {"crawl_id": crawl_id, **asdict(lot)})
    new: Counter[int] = Counter()
    for row in rows:
        new[row.host_id] += row.is_new
    return new


def _lot(rows: Sequence[Any], lower: bytes = b"", upper: bytes = _AFTER_ALL_KEYS) -> RoundLot:
    return RoundLot(
        ids=[row.host_id for row in rows],
        floor_scores=[row.floor_score for row in rows],
        floor_ids=[row.floor_id for row in rows],
        lower=lower,
        upper=upper,
    )


def _lots_of_host(row: Any) -> list[RoundLot]:
    """Split a host's URLs into lots by key: SHA-256 spreads keys evenly over their range."""
    n = -(-row.urls // LOT_URLS)
    bounds = [b"", *((part * 2**32 // n).to_bytes(4, "big") for part in range(1, n)), _AFTER_ALL_KEYS]
    return [_lot([row], lower, upper) for lower, upper in pairwise(bounds)]


def retry(tx: Connection, *, host_id: int, key: bytes, crawl_id: int | None) -> list[int]:
    rows = tx.execute(_sql["retry"], {"host_id": host_id, "key": key, "crawl_id": crawl_id})
    return [row.crawl_id for row in rows]


def force(tx: Connection, *, host_id: int, key: bytes, crawl_id: int | None) -> list[int]:
    rows = tx.execute(_sql["force"], {"host_id": host_id, "key": key, "crawl_id": crawl_id})
    return [row.crawl_id for row in rows]


def forget(tx: Connection, *, host_id: int, key: bytes, crawl_id: int | None) -> list[int]:
    rows = tx.execute(_sql["forget"], {"host_id": host_id, "key": key, "crawl_id": crawl_id})
    return [row.crawl_id for row in rows]


def refused_of_host(
    tx: Connection, *, host_id: int, after: tuple[int, bytes], n: int, keys: Sequence[bytes] | None = None
) -> list[RobotsRefused]:
    """URLs that robots.txt refuses: a page of n after the last (crawl id, key) of the page before.

    keys: only these
    """
    where = {"host_id": host_id, "after_crawl": after[0], "after_key": after[1], "n": n}
    found = db.run(tx, _sql["refused_of_host"], where | {"keys": None if keys is None else list(keys)})
    return [RobotsRefused(row.crawl_id, row.key, row.url, row.linked, row.cause) for row in found]


def trapped_hosts(tx: Connection, crawl_id: int) -> list[int]:
    return [row.host_id for row in db.run(tx, _sql["trapped_hosts"], {"crawl_id": crawl_id})]


def trapped(
    tx: Connection, *, host_id: int, crawl_id: int, after: bytes, n: int
) -> list[tuple[bytes, str, str | None]]:
    """(key, URL, as linked) of URLs that were refused as traps: a page of n after a key."""
    where = {"host_id": host_id, "crawl_id": crawl_id, "after": after, "n": n}
    return [(row.key, row.url, row.linked) for row in db.run(tx, _sql["trapped"], where)]


def reopen(tx: Connection, *, host_id: int, rows: Sequence[Mapping[str, Any]]) -> int:
    """Queue refused URLs again. rows: crawl_id, key. Returns how many wait for their first fetch, in active crawls."""
    if not rows:
        return 0
    found = db.run(tx, _sql["reopen"], {"host_id": host_id, "rows": db.rows_param(rows)})
    return sum(row.is_new for row in found)


def find(tx: Connection, *, host_id: int, key: bytes) -> list[dict[str, Any]]:
    where = {"host_id": host_id, "key": key, "most": MOST_AHEAD}
    return [dict(row) for row in tx.execute(_sql["find"], where).mappings()]


def states(tx: Connection, crawl_id: int) -> dict[str, int]:
    return {row.said: row.urls for row in tx.execute(_sql["states"], {"crawl_id": crawl_id})}


def hosts_queued(tx: Connection, crawl_id: int) -> list[int]:
    return [row.host_id for row in tx.execute(_sql["hosts_queued"], {"crawl_id": crawl_id})]


def queued_some(tx: Connection, *, crawl_id: int, most: int) -> int:
    return int(tx.execute(_sql["queued_some"], {"crawl_id": crawl_id, "most": most}).scalar_one())


def seeds(tx: Connection, *, crawl_id: int, n: int) -> list[dict[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["seeds"], {"crawl_id": crawl_id, "n": n}).mappings()]


def seed_urls(tx: Connection, crawl_id: int) -> list[str]:
    return list(tx.execute(_sql["seed_urls"], {"crawl_id": crawl_id}).scalars())


def led_to(tx: Connection, *, crawl_id: int, n: int) -> list[str]:
    """URLs that redirects of a crawl's seeds led to, in the end."""
    return list(tx.execute(_sql["led_to"], {"crawl_id": crawl_id, "n": n}).scalars())


def retry_failed(tx: Connection, crawl_id: int) -> list[int]:
    """Queue quarantined URLs again. Returns the host of each."""
    return list(tx.execute(_sql["retry_failed"], {"crawl_id": crawl_id}).scalars())


def ends_of_seeds(tx: Connection, *, crawl_id: int, n: int) -> list[dict[str, Any]]:
    """url, format, entries, state, status, outcome, cause, detail, alias_of, reason, host, is_paused, resting_because,
    resting_detail, total; without aliases of another row.
    """
    where = {"crawl_id": crawl_id, "n": n, "out_of_reach": RestReason.ROBOTS_OUT_OF_REACH}
    return [dict(row) for row in tx.execute(_sql["ends_of_seeds"], where).mappings()]


def redirects_of_seeds(tx: Connection, *, crawl_id: int, n: int) -> dict[str, str]:
    """Those of a crawl's seeds and of their targets that redirect, seeds first, and where each leads."""
    found = tx.execute(_sql["redirects_of_seeds"], {"crawl_id": crawl_id, "n": n})
    return {row.url: row.alias_of for row in found}


def refused(tx: Connection, crawl_id: int) -> list[RefusedUrls]:
    """The refused URLs of a crawl by cause, the most frequent first. Reads all of them."""
    return db.run(tx, _sql["refused"], {"crawl_id": crawl_id}).of(RefusedUrls)


def causes(tx: Connection, *, crawl_id: int, n: int) -> list[dict[str, Any]]:
    """state, cause, detail, urls."""
    return [dict(row) for row in tx.execute(_sql["causes"], {"crawl_id": crawl_id, "n": n}).mappings()]
