"""Index: writes the words of pages for `tiptoe search`, after their settle and beside the crawl.

Several processes take different pages, for some seconds at most; those that wait longer make nobody wait. A crawl that
was switched on has all its pages queued, a lot of hosts at a time, by one process; of one that was switched off the
words are deleted.
"""

import time
from dataclasses import dataclass

import structlog
from sqlalchemy import Engine

from app.features.search import rows, stemmers
from app.features.search.rows import IndexedLot, Switched
from app.store import db, server

_log = structlog.get_logger()
AT_ONCE = 50  # pages: a settle that wants one of them waits for 0.1 s
HOSTS_AT_ONCE = 1_000
MOST_S = 4.0
QUEUE_MOST = 10_000  # pages in the queue above which no further hosts are queued


@dataclass(slots=True, kw_only=True)
class Indexed:
    """Pages whose words were written.   is_whole: nothing of what was asked for is left"""

    pages: int = 0
    is_whole: bool = False


def index_pages(engine: Engine, *, crawl_id: int | None = None, within_s: float = MOST_S) -> Indexed:
    """Index pages for so long, of one crawl or of all; not those that another process indexes."""
    until = time.monotonic() + within_s
    with db.transaction(engine) as tx:
        known = stemmers.stemmers(rows.configs(tx))
    found = Indexed()
    while True:
        switched = _carry_out(engine, crawl_id)
        lot = _index_lot(engine, crawl_id, known)
        found.pages += lot.put
        if lot.are_waiting and not lot.done:  # settles, or others who index, hold all of them
            break
        if not lot.taken and not any(switched):
            found.is_whole = not switched
            break
        if time.monotonic() > until:
            break
    if found.pages:
        _log.info("index.written", pages=found.pages)
    return found


def _index_lot(engine: Engine, crawl_id: int | None, known: dict[str, str]) -> IndexedLot:
    """Index the next pages of the queue."""
    with db.transaction(engine) as tx:
        return rows.index_some(tx, crawl_id=crawl_id, n=AT_ONCE, stemmers=known)


def _carry_out(engine: Engine, crawl_id: int | None) -> list[bool]:
    """The next hosts of each crawl that was switched, and whether it was done here."""
    with db.transaction(engine) as tx:
        crawls = [crawl for crawl in rows.switched(tx) if crawl_id in (None, crawl.crawl_id)]
    return [_carry_out_lot(engine, crawl) for crawl in crawls]


def _carry_out_lot(engine: Engine, crawl: Switched) -> bool:
    with db.transaction(engine) as tx:
        if crawl.search and rows.waiting(tx, crawl_id=crawl.crawl_id, most=QUEUE_MOST) == QUEUE_MOST:
            return False
        lot = rows.next_hosts(tx, after=crawl.search_from, n=HOSTS_AT_ONCE)
        rows.await_settles(tx, after=crawl.search_from, until=lot.until)
    with db.transaction(engine) as tx:
        is_ours = server.be_alone(tx, "search") and crawl in rows.switched(tx)  # nobody has done it meanwhile
        if is_ours:
            rows.carry_out(tx, crawl, lot)
    return is_ours
