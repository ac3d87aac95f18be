"""Ties the process's monotonic clock to the database's, by the exchanges of the last seconds.

Each answer with the database's time bounds a moment of ours: not before the query was sent, not after the answer was
received. Together, such bounds are as narrow as the quickest exchange among them, so one slow answer delays no start.
If the database's clock was set, they contradict each other: then only the latest exchange counts. No two machines'
clocks are compared: a moment of the database is only ever turned into ours.
"""

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime

KEPT_S = 10.0  # two clocks that drift apart by 100 parts in a million are 1 ms apart after it


class ClockTie:
    """The tie of two clocks, for all threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        # Offsets of our clock, at least and at most, and when each was heard: the narrowest first, then those that are
        # the narrowest once it is too old.
        self._leasts: deque[tuple[float, float]] = deque()
        self._mosts: deque[tuple[float, float]] = deque()
        self._most = float("inf")

    def moments(self, now: datetime, *, sent: float, received: float) -> tuple[float, float]:
        """The earliest and the latest monotonic second of `now`, a database time received between these two."""
        told = now.timestamp()
        with self._lock:
            heard = self._monotonic()
            least, most = self._narrowed(heard, sent - told, received - told)
            if least > most:
                self._leasts.clear()
                self._mosts.clear()
                least, most = self._narrowed(heard, sent - told, received - told)
            self._most = most
        return told + least, told + most

    def latest(self, moment: datetime) -> float:
        """The latest monotonic second of a database time, by the exchanges of the seconds before the last one."""
        return moment.timestamp() + self._most

    def _narrowed(self, heard: float, least: float, most: float) -> tuple[float, float]:
        """The narrowest offsets, with this exchange. Its wider elders never count again."""
        while self._leasts and self._leasts[-1][1] <= least:
            self._leasts.pop()
        while self._mosts and self._mosts[-1][1] >= most:
            self._mosts.pop()
        for bounds, offset in ((self._leasts, least), (self._mosts, most)):
            bounds.append((heard, offset))
            while bounds[0][0] < heard - KEPT_S:
                bounds.popleft()
        return self._leasts[0][1], self._mosts[0][1]
