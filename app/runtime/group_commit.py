"""Batches that are settled in one transaction: those of a process that come within a moment of one another.

A polite host has two or three pages to settle at a time, and a transaction, with its statements, costs as much for them as for
fifty. What waits here waits for its host's turn anyway: it stands in the parking meanwhile, as one of many in its gathering.
"""

import threading
from typing import Generic, TypeVar

from app.runtime.delay_queue import Parking

T = TypeVar("T")
GATHER_S = 0.2
MOST = 50
SETTLE_LINKS = 10_000  # 1 KiB each, and one statement


class Gathering(Generic[T]):
    """Visits whose batches are to be settled together."""

    def __init__(self, parking: Parking["T | Gathering[T]"], first: T, links: int) -> None:
        self._parking = parking
        self._visits = [first]
        self._links = links
        self._is_open = True
        self._lock = threading.Lock()

    def add(self, visit: T, links: int) -> bool:
        """False: it is full, or being settled."""
        with self._lock:
            is_full = len(self._visits) >= MOST or self._links + links > SETTLE_LINKS
            if not self._is_open or is_full or not self._parking.join_in(1):
                return False
            self._visits.append(visit)
            self._links += links
            return True

    def close(self) -> list[T]:
        """Whoever came is to be settled now; nobody comes any more."""
        with self._lock:
            self._is_open = False
            visits, self._visits = self._visits, []
            self._parking.join_in(1 - len(visits))
            return visits


class Gatherer(Generic[T]):
    """Puts visits together in gatherings, which the parking gives out GATHER_S after the first came."""

    def __init__(self, parking: Parking[T | Gathering[T]]) -> None:
        self._parking = parking
        self._last: Gathering[T] | None = None
        self._lock = threading.Lock()

    def add(self, visit: T, links: int) -> bool:
        """It is another thread's from now on. links: that its batch brings. False: there is no room for it."""
        with self._lock:
            if self._last is not None and self._last.add(visit, links):
                return True
            gathering = Gathering(self._parking, visit, links)
            if not self._parking.park(gathering, self._parking.clock.now() + GATHER_S):
                return False
            self._last = gathering
            return True
