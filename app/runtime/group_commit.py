"""Settles a process's batches in one transaction if they arrive within a moment of one another.

A polite host has two or three pages to settle at a time, and a transaction with its statements costs as much for them
as for fifty. These visits wait for their host's delay anyway: meanwhile they are parked, as one of many in their
gathering.
"""

import threading
from typing import Generic, TypeVar

from app.runtime.delay_queue import DelayQueue

T = TypeVar("T")
GATHER_S = 0.4
MOST = 50
SETTLE_LINKS = 10_000  # 1 KiB each, and one statement


class CommitGroup(Generic[T]):
    """Visits with batches to settle together.   lock: that of all gatherings of a process"""

    def __init__(self, parking: DelayQueue["T | CommitGroup[T]"], first: T, links: int, lock: threading.Lock) -> None:
        self._parking = parking
        self._visits = [first]
        self._links = links
        self._is_open = True
        self._lock = lock

    def add(self, visit: T, links: int) -> bool:
        """Add a visit, with the lock. False: the gathering is full, or being settled."""
        is_full = len(self._visits) >= MOST or self._links + links > SETTLE_LINKS
        if not self._is_open or is_full or not self._parking.join_in(1):
            return False
        self._visits.append(visit)
        self._links += links
        return True

    def close(self) -> list[T]:
        """Close the gathering: its visits are settled now, and none can be added."""
        with self._lock:
            self._is_open = False
            visits, self._visits = self._visits, []
            self._parking.join_in(1 - len(visits))
            return visits


class GroupCommit(Generic[T]):
    """Puts visits together in gatherings, which the parking resumes GATHER_S after their first visit.

    soonest_s  a visit whose host is ready sooner is not gathered: settling takes a moment, too
    """

    def __init__(self, parking: DelayQueue[T | CommitGroup[T]], *, soonest_s: float = GATHER_S + 0.2) -> None:
        self._parking, self.soonest_s = parking, soonest_s
        self._last: CommitGroup[T] | None = None
        self._lock = threading.Lock()

    def add(self, visit: T, links: int) -> bool:
        """Add a visit, which belongs to another thread from now on. links: those of its batch.

        False: there is no room for it.
        """
        with self._lock:
            if self._last is not None and self._last.add(visit, links):
                return True
            gathering = CommitGroup(self._parking, visit, links, self._lock)
            if not self._parking.park(gathering, self._parking.clock.now() + GATHER_S):
                return False
            self._last = gathering
            return True
