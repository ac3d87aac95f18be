"""Visits of one process that stand in line for a start on budgets that several hosts share.

    stand in line, with a connection ▶ first in line ▶ draw a lot of starts ▶ wait for the start ▶ send

The first in line draws for all who stand there: a lot is a stretch of time that the budgets give to this process alone, and
within it the line keeps the gaps by its own clock, from one real start to the next. So a start that comes late takes nothing
from anybody else, and a gap of 20 ms is held by a monotonic clock and not by a dozen transactions. What a lot has left when
nobody stands in line is lost, never used later.

Source of the idea: Mercator's back queues give a host to one thread; here an address is given to one process, for a moment.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime

from app.store.budgets import Answer

MOST = 32  # who finds so many before it in line does better to come again
FEW = 8  # that stand in line are no crowd
FULL_S = 1.5  # nobody joins a line that takes longer than this: with its connection it would wait in vain
SLOWEST = 8  # who finds the line too long is told to come at most so many gaps after the one before
AGAIN_AHEAD_S = 0.1  # a budget is asked again so much ahead of the start that it told of
LEAST_WAIT_S = 0.01
SENT_WITHIN_S = 0.1  # a request that was let through is sent by then, or its thread has come to grief
LINES_KEPT = 10_000
LATE_MOST_S = (
    1.0  # a start that seems to have been later than this was not: the database's clock was set, or its rows restored
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lot:
    """A stretch of starts that this process may make. Points in time are monotonic seconds.

    starts_at   the first one, by the later bound of the database's moment
    last_at     no start after this
    is_single   one start only: an address is probed
    granted_at  database time of the grant, and the moment we heard of it
    """

    starts_at: float
    last_at: float
    is_single: bool
    granted_at: tuple[datetime, float]


Draw = Callable[[int, float, int], Lot | Answer]
"""(how many stand in line, seconds that the first of them has left, starts that were lost before) ▶ a lot, or an answer: come
again, or, where it is near, ask again."""


class Line:
    """gap_s: between two starts.   monotonic: the clock of the process."""

    def __init__(self, gap_s: float, monotonic: Callable[[], float]) -> None:
        self._gap_s = gap_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._places: deque[threading.Condition] = deque()
        self._lot: Lot | None = None
        self._is_unused = False  # no start of the lot has been made
        self._last_start = float("-inf")
        self._starts: deque[float] = deque(maxlen=MOST)
        self._room_at = float("-inf")
        self._passed_at: float | None = None  # the moment of a start whose request has not been sent yet

    def __len__(self) -> int:
        return len(self._places)

    def room_in_s(self) -> float:
        """Seconds until one who finds the line too long may find a place. Each who asks gets a later one, as fast as starts are
        made: so they come back about as many as can be served."""
        with self._lock:
            now, step_s = self._monotonic(), self._step_s()
            self._room_at = max(self._room_at + step_s, now + len(self._places) / 2 * step_s)
            return self._room_at - now

    @property
    def is_full(self) -> bool:
        """Who comes now would wait too long: so many stand here, or starts are made so slowly by this process."""
        standing = len(self._places)
        return standing >= MOST or (standing >= FEW and standing * self._step_s() > FULL_S)

    def _step_s(self) -> float:
        """Seconds from one start of this process to the next, lately."""
        starts = len(self._starts)
        if starts < FEW:
            return self._gap_s
        return min(max((self._monotonic() - self._starts[0]) / starts, self._gap_s), SLOWEST * self._gap_s)

    def wait(self, draw: Draw, until: float) -> Lot | Answer | None:
        """Stand in line until the start.

        Returns the lot it belongs to: start now; an Answer: come again; None: `until` has passed.

        Raises what `draw` raises.
        """
        place = threading.Condition(self._lock)
        with self._lock:
            self._places.append(place)
            try:
                while self._places[0] is not place:
                    left_s = until - self._monotonic()
                    if left_s <= 0:
                        return None
                    place.wait(left_s)
                return self._start(place, draw, until)
            finally:
                self._places.remove(place)
                if self._places:
                    self._places[0].notify()

    def sent(self, at: float) -> None:
        """The request that was let through went out at this moment, or was given up: the next gap counts from it."""
        with self._lock:
            self._last_start = max(self._last_start, at)
            self._passed_at = None
            if self._places:
                self._places[0].notify()

    def _start(self, place: threading.Condition, draw: Draw, until: float) -> Lot | Answer | None:
        while True:
            now = self._monotonic()
            if now > until:
                return None
            if self._passed_at is not None and now < self._passed_at + SENT_WITHIN_S:
                place.wait(SENT_WITHIN_S)
                continue
            lot = self._lot
            if lot is None or max(now, self._last_start + self._gap_s) > lot.last_at:
                answer = self._draw(draw, until - now)
                if isinstance(answer, Answer):
                    if not answer.is_near:
                        return answer
                    place.wait(max(answer.wait_s - AGAIN_AHEAD_S, LEAST_WAIT_S))
                continue
            wait_s = max(lot.starts_at, self._last_start + self._gap_s) - now
            if wait_s <= 0:
                self._last_start = self._passed_at = now
                self._starts.append(now)
                self._is_unused = False
                if lot.is_single:
                    self._lot = None
                return lot
            place.wait(wait_s)

    def _draw(self, draw: Draw, left_s: float) -> Lot | Answer:
        """With the lock let go: nobody else is first in line meanwhile."""
        self._lot = None
        count, lost, self._is_unused = len(self._places), int(self._is_unused), False
        self._lock.release()
        try:
            answer = draw(count, left_s, lost)
        finally:
            self._lock.acquire()
        if isinstance(answer, Lot):
            self._lot, self._is_unused = answer, True
            if self._last_start + self._gap_s > answer.last_at + LATE_MOST_S:
                self._last_start = float("-inf")
        return answer


class Lines:
    """The lines of a process, one for each set of budgets. Dropping one costs a lot at most: each draws its own."""

    line = Line

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._lines: OrderedDict[Hashable, Line] = OrderedDict()

    def has(self, budgets: Hashable) -> bool:
        """Whether hosts have stood in line for these lately."""
        return budgets in self._lines

    def of(self, budgets: Hashable, gap_s: float) -> Line:
        with self._lock:
            line = self._lines.get(budgets)
            if line is None:
                line = self._lines[budgets] = self.line(gap_s, self._monotonic)
                if len(self._lines) > LINES_KEPT:
                    self._lines.popitem(last=False)
            else:
                self._lines.move_to_end(budgets)
            return line
