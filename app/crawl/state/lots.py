"""Lots: what a process has drawn of a budget in advance, so that its visits need not ask the database each time.

    draw ▶ take from it until it ends ▶ return what is left

Pages of a crawl (`Grants`), starts below the fleet's ceiling (`Ceiling`) and starts where hosts share an address
(`app.crawl.state.line`) are drawn so: if every visit drew on the row itself, commits would queue one behind the other.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from app.clock import monotonic
from app.crawl.state.line import Lot
from app.store import budgets, crawls, db
from app.store.budgets import Budget, BudgetKind, StartTerms

LOT_SHARE = 64  # a lot of pages is at most this part of what the budget has left
LOT_LEAST, LOT_MOST = 50, 1_000  # pages; a budget too small for the least is drawn on page by page
HELD_SHARE = 0.5  # of a lease, for which a lot of pages is held
MARGIN_S = (
    10.0  # before that ends: a take-up that uses it is committed by then, or Postgres has ended it (app.store.db)
)
SMALL_S = 10.0  # a budget that was too small for a lot is not asked again before
LOT_S = 0.1  # of the ceiling's schedule
RETURNED_WITHIN_S = 1.0  # after that its unused starts are lost: the schedule has passed them


@dataclass(slots=True, kw_only=True)
class _PageLot(Lot):
    """The rest of a crawl's lots.   held_until: they are, by the database's clock"""

    held_until: datetime | None = None
    wanted: bool = False
    small_until: float = -math.inf
    idle_since: float = -math.inf


class Grants:
    """The pages of large budgets that a process holds, by crawl. Thread-safe.

    A crawl's row counts the pages done or granted. A lot is drawn ahead of need, in a short transaction of its own. A
    budget with little left is drawn on page by page, so that no host waits for pages that another process does not use.

    Unused pages are returned, or counted free together with those that crashes lost (`recount_reserved`): the database
    knows until when lots are held, and which visits began before.
    """

    def __init__(self) -> None:
        self._lots: dict[int, _PageLot] = {}
        self._lock = threading.Lock()
        self._is_drawing = False

    def take(self, crawl_id: int, n: int, now: float) -> int:
        """Take up to n pages for a visit.

        They stay taken even if its transaction fails: lost pages are counted free later.
        """
        with self._lock:
            lot = self._lots.setdefault(crawl_id, _PageLot())
            found = lot.take(n, now)
            lot.wanted = lot.wanted or found < n or lot.left < lot.size // 4
            if found:
                lot.idle_since = now
            return found

    def is_open(self, crawl_id: int, now: float) -> bool:
        """Whether visits may return pages here: the crawl's budget is large, and the last lot is valid for a while."""
        with self._lock:
            lot = self._lots.get(crawl_id)
            return lot is not None and lot.size >= LOT_LEAST and now <= lot.ends

    def put(self, crawl_id: int, n: int, now: float) -> None:
        """Take back pages that are still valid, after the commit that ended their visit."""
        with self._lock:
            lot = self._lots.get(crawl_id)
            if lot is not None and now <= lot.ends:
                lot.left += n

    def top_up(self, engine: Engine, now: float, lease_s: float) -> None:
        """Draw lots where visits found too few pages, and return idle pages.

        Does nothing while another thread does this.
        """
        with self._lock:
            if self._is_drawing:
                return
            self._is_drawing = True
        try:
            for crawl_id in self._wanting(now):
                self._draw(engine, crawl_id, now, lease_s * HELD_SHARE)
            for crawl_id, pages, held_until in self._idle(now, lease_s * HELD_SHARE / 2):
                with db.transaction(engine) as tx:
                    crawls.return_lot(tx, crawl_id=crawl_id, n=pages, held_until=held_until)
        finally:
            self._is_drawing = False

    def clear(self) -> None:
        """Forget what the database may not know of (app.store.lineage)."""
        with self._lock:
            self._lots.clear()

    def _wanting(self, now: float) -> list[int]:
        with self._lock:
            return [id for id, lot in self._lots.items() if lot.wanted and now >= lot.small_until]

    def _draw(self, engine: Engine, crawl_id: int, now: float, held_s: float) -> None:
        with db.transaction(engine) as tx:
            drawn = crawls.draw_lot(
                tx, crawl_id=crawl_id, share=LOT_SHARE, least=LOT_LEAST, most=LOT_MOST, held_s=held_s
            )
        with self._lock:
            lot = self._lots.setdefault(crawl_id, _PageLot())
            lot.wanted, lot.size = False, drawn.pages
            if not drawn.pages:
                lot.small_until = now + SMALL_S
                return
            lot.left = drawn.pages + lot.close(now)
            lot.ends, lot.held_until, lot.idle_since = now + held_s - MARGIN_S, drawn.held_until, now

    def _idle(self, now: float, idle_s: float) -> list[tuple[int, int, datetime]]:
        """Remove pages that no visit took lately.

        Those of expired lots are not returned: they may count as free already.
        """
        with self._lock:
            idle = [(id, lot) for id, lot in self._lots.items() if lot.left and now - lot.idle_since > idle_s]
            closed = [(id, lot.close(now), lot.held_until) for id, lot in idle]
        return [(id, pages, until) for id, pages, until in closed if pages and until is not None]


class Ceiling:
    """Hands out starts below the fleet's ceiling. Thread-safe.   per_s: requests a second of the fleet

    The ceiling is a schedule: a start every 1/`requests_per_s_max` seconds, and a lot is a piece of it. None of its
    starts is used before its moment, and all are valid for LOT_S from the first. So in any T seconds the fleet starts
    no more requests than T + LOT_S allow, and no start is used twice. A process returns its unused starts when it draws
    the next lot. Starts lost in a crash are gone: they leave no debt.

    The size of a lot follows the demand: it doubles while lots are used up, until it fills LOT_S, and shrinks to the
    number used of a lot that was not.
    """

    def __init__(self, per_s: float, monotonic: Callable[[], float] = monotonic) -> None:
        self._budget = Budget(BudgetKind.ALL, BudgetKind.ALL, 1 / per_s)
        self._most = max(int(LOT_S * per_s), 1)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._lot = Lot()

    def take(self, engine: Engine, *, horizon_s: float) -> float:
        """Take a start. Returns the seconds until it; if more than horizon_s, none was taken: ask again then.

        Raises ServiceError.
        """
        with self._lock:
            now = self._monotonic()
            if not self._lot.is_open(now):
                wait_s = self._draw(engine, now, horizon_s)
                if wait_s > horizon_s:
                    return wait_s
            lot, now = self._lot, self._monotonic()
            wait_s = max(lot.begins + (lot.size - lot.left) * self._budget.gap_s - now, 0.0)
            if wait_s <= horizon_s:
                lot.left -= 1
            return wait_s

    def _draw(self, engine: Engine, now: float, horizon_s: float) -> float:
        lot = self._lot
        size = max(min(lot.size - lot.left if lot.left else 2 * lot.size, self._most), 1)
        returned = lot.left if now < lot.ends + RETURNED_WITHIN_S else 0
        self._lot = Lot(size=size // 2)  # where none is drawn, the next attempt draws the same size
        terms = StartTerms(0, ready_in_s=0.0, horizon_s=horizon_s, has_ticket=True, starts=size, returned=returned)
        with db.transaction(engine) as tx:
            answer = budgets.reserve(tx, (self._budget,), terms)
        if answer.granted:
            begins = self._monotonic() + answer.wait_s  # counted from the answer: never too early
            ends = begins + max(LOT_S, size * self._budget.gap_s)
            self._lot = Lot(size=size, left=size, begins=begins, ends=ends)
        return answer.wait_s
