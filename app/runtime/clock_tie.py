"""Ties the process's monotonic clock to the database's, by the exchanges of the last seconds.

Each answer with the database's time bounds a moment of ours: not before the query was sent, not after the answer was
received. Together, such bounds are as narrow as the quickest exchange among them, so one slow answer delays no start.
If the database's clock was set, they contradict each other: then only the latest exchange counts. No two machines'
clocks are compared: a moment of the database is only ever turned into ours.

It also counts the steps that the process sees, of the database's clock or of its own machine's: before its next request
a visit then asks whether its lease still holds (`app.crawl.request.slots`).
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from math import inf

from app.clock import step_s

KEPT_S = 10.0  # two clocks that drift apart by 100 parts in a million are 1 ms apart after it
UNSURE_S = 2.0  # after a step, until a dispatch has moved what waits (app.beat.claim)


class ClockTie:
    """The tie of two clocks, for all threads."""

    def __init__(self, monotonic: Callable[[], float], wall: Callable[[], float] = time.time) -> None:
        self._monotonic, self._wall = monotonic, wall
        self._lock = threading.Lock()
        # Offsets of our clock, at least and at most, and when each was heard: the narrowest first, then those that are
        # the narrowest once it is too old.
        self._leasts: deque[tuple[float, float]] = deque()
        self._mosts: deque[tuple[float, float]] = deque()
        self._most = inf
        self._last: tuple[float, float, float] | None = None  # the last exchange: told, sent, received
        self._ours = wall(), monotonic()
        self._steps, self._stepped_at = 0, -inf

    def moments(self, now: datetime, *, sent: float, received: float) -> tuple[float, float]:
        """The earliest and the latest monotonic second of `now`, a database time received between these two."""
        told = now.timestamp()
        with self._lock:
            heard = self._monotonic()
            if self._last is not None:
                was_told, was_sent, was_received = self._last
                if step_s(told - was_told, least_s=sent - was_received, most_s=received - was_sent):
                    self._steps, self._stepped_at = self._steps + 1, heard
            self._last = told, sent, received
            least, most = self._narrowed(heard, sent - told, received - told)
            if least > most:
                self._leasts.clear()
                self._mosts.clear()
                least, most = self._narrowed(heard, sent - told, received - told)
            self._most = most
        return told + least, told + most

    def steps(self) -> int:
        """How many steps were seen up to now. Of our own clock: a machine that was stopped is set right when it goes
        on, and its seconds may have stood still meanwhile."""
        (wall, seconds), now = self._ours, (self._wall(), self._monotonic())
        passed_s = now[1] - seconds
        if step_s(now[0] - wall, least_s=passed_s, most_s=passed_s):
            with self._lock:
                self._steps += 1
        self._ours = now
        return self._steps

    def is_unsure(self) -> bool:
        """Whether the database's clock was set a moment ago: what waits in its rows may seem to have passed."""
        return self._monotonic() < self._stepped_at + UNSURE_S

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
