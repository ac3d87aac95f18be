"""Pages of large crawl budgets that a process holds in advance: drawn in lots, granted to visits, returned.

A crawl's row counts the pages done or granted. If every settle drew on it, commits would queue one behind the other:
each holds the row until it is on disk. So a process draws a lot ahead of need, in a short transaction of its own, and
its visits take their pages from the lot. A budget with little left is drawn on page by page, so that no host waits for
pages that another process does not use.

A lot is valid for HELD_SHARE of a lease. Unused pages are then returned, or counted free together with those that
crashes lost (`recount_reserved`): the database knows until when lots are held, and which visits began before.
"""

import math
import threading
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from app.store import crawls, db

LOT_SHARE = 64  # a lot is at most this part of what the budget has left
LOT_LEAST, LOT_MOST = 50, 1_000  # pages; a budget too small for the least is drawn on page by page
HELD_SHARE = 0.5
MARGIN_S = (
    10.0  # before a lot ends: a take-up that uses it is committed by then, or Postgres has ended it (app.store.db)
)
SMALL_S = 10.0  # a budget that was too small for a lot is not asked again before


@dataclass(slots=True, kw_only=True)
class _Pool:
    """The rest of a crawl's lots. until: monotonic second;   held_until: no later, by the database's clock"""

    pages: int = 0
    lot: int = 0
    until: float = -math.inf
    held_until: datetime | None = None
    wanted: bool = False
    small_until: float = -math.inf
    idle_since: float = -math.inf


class Grants:
    """The lots of a process, by crawl. Thread-safe."""

    def __init__(self) -> None:
        self._pools: dict[int, _Pool] = {}
        self._lock = threading.Lock()
        self._drawing = threading.Lock()

    def take(self, crawl_id: int, n: int, now: float) -> int:
        """Take up to n pages for a visit.

        They stay taken even if its transaction fails: lost pages are counted free later.
        """
        with self._lock:
            pool = self._pools.setdefault(crawl_id, _Pool())
            found = min(n, pool.pages) if now < pool.until - MARGIN_S else 0
            pool.pages -= found
            pool.wanted = pool.wanted or found < n or pool.pages < pool.lot // 4
            if found:
                pool.idle_since = now
            return found

    def is_open(self, crawl_id: int, now: float) -> bool:
        """Whether visits may return pages here: the crawl's budget is large, and the last lot is valid for a while."""
        with self._lock:
            pool = self._pools.get(crawl_id)
            return pool is not None and pool.lot >= LOT_LEAST and now < pool.until - MARGIN_S

    def put(self, crawl_id: int, n: int, now: float) -> None:
        """Take back pages that are still valid, after the commit that ended their visit."""
        with self._lock:
            pool = self._pools.get(crawl_id)
            if pool is not None and now < pool.until:
                pool.pages += n

    def top_up(self, engine: Engine, now: float, lease_s: float) -> None:
        """Draw lots where visits found too few pages, and return idle pages.

        Does nothing while another thread does this.
        """
        if not self._drawing.acquire(blocking=False):
            return
        try:
            for crawl_id in self._wanting(now):
                self._draw(engine, crawl_id, now, lease_s * HELD_SHARE)
            for crawl_id, pages, held_until in self._idle(now, lease_s * HELD_SHARE / 2):
                with db.transaction(engine) as tx:
                    crawls.return_lot(tx, crawl_id=crawl_id, n=pages, held_until=held_until)
        finally:
            self._drawing.release()

    def clear(self) -> None:
        """Forget what the database may not know of (app.store.lineage)."""
        with self._lock:
            self._pools.clear()

    def _wanting(self, now: float) -> list[int]:
        with self._lock:
            return [id for id, pool in self._pools.items() if pool.wanted and now >= pool.small_until]

    def _draw(self, engine: Engine, crawl_id: int, now: float, held_s: float) -> None:
        with db.transaction(engine) as tx:
            lot = crawls.draw_lot(tx, crawl_id=crawl_id, share=LOT_SHARE, least=LOT_LEAST, most=LOT_MOST, held_s=held_s)
        with self._lock:
            pool = self._pools.setdefault(crawl_id, _Pool())
            pool.wanted = False
            pool.lot = lot.pages
            if not lot.pages:
                pool.small_until = now + SMALL_S
                return
            if now >= pool.until - MARGIN_S:
                pool.pages = 0  # they were of lots that have ended
            pool.pages += lot.pages
            pool.until, pool.held_until, pool.idle_since = now + held_s, lot.held_until, now

    def _idle(self, now: float, idle_s: float) -> list[tuple[int, int, datetime]]:
        """Remove pages that no visit took lately.

        Those of expired lots are not returned: they may count as free already.
        """
        found = []
        with self._lock:
            for crawl_id, pool in self._pools.items():
                if pool.pages and pool.held_until is not None and now - pool.idle_since > idle_s:
                    if now < pool.until - MARGIN_S:
                        found.append((crawl_id, pool.pages, pool.held_until))
                    pool.pages = 0
        return found
