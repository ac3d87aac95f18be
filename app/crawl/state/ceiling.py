"""The fleet's ceiling within a process: starts are drawn in lots, so that requests do not all wait for one row.

The ceiling is a schedule: a start every 1/`requests_per_s_max` seconds. A lot is a piece of it. Each of its starts has
a moment before which it is not used, and all are valid for LOT_S from the first. So in any T seconds the fleet starts
no more requests than T + LOT_S allow, and no start is used twice. A process returns its unused starts when it draws the
next lot. Starts lost in a crash are gone: they leave no debt.

The size of a lot follows the demand: it doubles while lots are used up, until it fills LOT_S, and shrinks to the number
used of a lot that was not.
"""

import threading
from collections.abc import Callable

from sqlalchemy import Engine

from app.clock import monotonic
from app.store import ceiling as store
from app.store import db

LOT_S = 0.1
RETURNED_WITHIN_S = 1.0  # after that unused starts are lost: the schedule has passed them


class Ceiling:
    """Hands out starts of the fleet's schedule. Thread-safe.   per_s: requests a second of the fleet"""

    def __init__(self, per_s: float, monotonic: Callable[[], float] = monotonic) -> None:
        self._gap_s = 1 / per_s
        self._most = max(int(LOT_S * per_s), 1)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._next_at = 0.0  # monotonic second of the next start that is left
        self._ends_at = 0.0
        self._drawn = self._left = 0

    def take(self, engine: Engine, n: int = 1, *, horizon_s: float) -> float:
        """Take n starts. Returns the seconds until the last of them; if more than horizon_s,
        none was taken: ask again then.

        Raises ServiceError.
        """
        with self._lock:
            is_over = self._monotonic() >= self._ends_at
            if is_over or self._left < n:
                wait_s = self._draw(engine, n, horizon_s, is_over=is_over)
                if wait_s > horizon_s:
                    return wait_s
            last_at = self._next_at + (n - 1) * self._gap_s
            wait_s = max(last_at - self._monotonic(), 0.0)
            if wait_s <= horizon_s:
                self._next_at = last_at + self._gap_s
                self._left -= n
            return wait_s

    def _draw(self, engine: Engine, n: int, horizon_s: float, *, is_over: bool) -> float:
        used = self._drawn - self._left
        size = max(n, min(used if self._left and is_over else 2 * self._drawn, self._most), 1)
        returned = self._left if self._monotonic() < self._ends_at + RETURNED_WITHIN_S else 0
        self._drawn = self._left = 0
        with db.transaction(engine) as tx:
            wait_s = store.draw(tx, n=size, gap_s=self._gap_s, horizon_s=horizon_s, returned=returned)
        if wait_s <= horizon_s:
            self._next_at = self._monotonic() + wait_s  # counted from the answer: never too early
            self._ends_at = self._next_at + max(LOT_S, size * self._gap_s)
            self._drawn = self._left = size
        else:
            self._drawn = size // 2  # so that the next attempt draws the same size
        return wait_s
