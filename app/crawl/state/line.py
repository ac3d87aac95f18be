"""Lines in which a process's visits wait for a start on budgets that several hosts share.

    stand in line, with a connection ▶ first in line ▶ draw a lot of starts ▶ wait for the start ▶ send

The first in line draws for the whole line: a lot is a stretch of time that the budgets give to this process alone, and
within it the line keeps the gaps by its own clock, from one real start to the next. So a late start costs other
processes nothing, and a gap of 20 ms is held by a monotonic clock and not by a dozen transactions. When the line is
empty, the rest of its lot is lost, and never used later.

Source of the idea: Mercator's back queues give a host to one thread; here an address is given to one process, for a
moment.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from app.runtime.lru import Lru
from app.store.budgets import BudgetAnswer

MOST = 32  # a line of this many is full: it is better to return later
FEW = 8  # fewer than this never make a line full
FULL_S = 1.5  # a line that takes longer than this is full: the connection of a newcomer would not last
SLOWEST = 8  # visits that find the line full are called back at most this many gaps apart
AGAIN_AHEAD_S = 0.1  # a budget is asked again this long before the start that it announced
LEAST_WAIT_S = 0.01
SENT_WITHIN_S = 0.1  # a request whose start was granted is sent by then, or its thread has failed
LATE_MOST_S = 1.0  # no start is really later than this: the database's clock was set, or its rows restored


@dataclass(slots=True, kw_only=True)
class Lot:
    """So much of a budget, until a moment.   size: as drawn;   left: not taken;   begins, ends: monotonic seconds"""

    size: int = 0
    left: int = 0
    begins: float = -inf
    ends: float = -inf

    def is_open(self, now: float) -> bool:
        return self.left > 0 and now <= self.ends

    def take(self, n: int, now: float) -> int:
        """Take up to n."""
        found = min(n, self.left) if now <= self.ends else 0
        self.left -= found
        return found

    def close(self, now: float) -> int:
        """End it. Returns what may be returned: what is left of a lot that had not ended."""
        return self.take(self.left, now)


@dataclass(slots=True, kw_only=True)
class StartLot(Lot):
    """A stretch of time in which this process may make starts: it begins by the later bound of the database's moment.

    probes   one start, and its address had refused the last connection
    """

    probes: bool = False


class Start(NamedTuple):
    """A start of a lot, made at this monotonic second."""

    lot: StartLot
    at: float

    def is_late(self, now: float, slack_s: float) -> bool:
        """Whether it may not be used any more: the next one of the line may have been made, or its lot is over."""
        return now > min(self.lot.ends + slack_s, self.at + SENT_WITHIN_S)


Draw = Callable[[int, float, int], StartLot | BudgetAnswer]
"""(length of the line, seconds that its first has left, starts lost before) ▶ a lot, or an answer: return later, or,
where the start is near, ask again."""


class Line:
    """One line.   gap_s: between two starts.   monotonic: the clock of the process"""

    def __init__(self, gap_s: float, monotonic: Callable[[], float]) -> None:
        self._gap_s = gap_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._places: deque[threading.Condition] = deque()
        self._lot = StartLot()
        self._last_start = -inf
        self._starts: deque[float] = deque(maxlen=MOST)
        self._room_at = -inf
        self._passed_at: float | None = None  # the moment of a start whose request has not been sent yet

    def __len__(self) -> int:
        return len(self._places)

    def room_in_s(self) -> float:
        """Seconds until a visit that finds the line full may find a place. Each call returns a later moment, at the
        rate of starts: so about as many visits return as can be served.
        """
        with self._lock:
            now, step_s = self._monotonic(), self._step_s()
            self._room_at = max(self._room_at + step_s, now + len(self._places) / 2 * step_s)
            return self._room_at - now

    @property
    def is_full(self) -> bool:
        """Whether a newcomer would wait too long: the line is long, or this process makes starts slowly."""
        standing = len(self._places)
        return standing >= MOST or (standing >= FEW and standing * self._step_s() > FULL_S)

    def _step_s(self) -> float:
        """Seconds between two starts of this process, on average lately."""
        starts = len(self._starts)
        if starts < FEW:
            return self._gap_s
        return min(max((self._monotonic() - self._starts[0]) / starts, self._gap_s), SLOWEST * self._gap_s)

    def wait(self, draw: Draw, until: float) -> Start | BudgetAnswer | None:
        """Stand in line until the start.

        Returns the start: send now; an Answer: return later; None: `until` has passed.

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
        """Report that the request whose start was granted was sent, or given up, at this moment.

        The next gap counts from it.
        """
        with self._lock:
            self._last_start = max(self._last_start, at)
            self._passed_at = None
            if self._places:
                self._places[0].notify()

    def _start(self, place: threading.Condition, draw: Draw, until: float) -> Start | BudgetAnswer | None:
        while True:
            now = self._monotonic()
            if now > until:
                return None
            if self._passed_at is not None and now < self._passed_at + SENT_WITHIN_S:
                place.wait(SENT_WITHIN_S)
                continue
            lot = self._lot
            if not lot.is_open(max(now, self._last_start + self._gap_s)):
                answer = self._draw(draw, until - now)
                if isinstance(answer, BudgetAnswer):
                    if not answer.is_near:
                        return answer
                    place.wait(max(answer.wait_s - AGAIN_AHEAD_S, LEAST_WAIT_S))
                continue
            wait_s = max(lot.begins, self._last_start + self._gap_s) - now
            if wait_s <= 0:
                self._last_start = self._passed_at = now
                self._starts.append(now)
                lot.left -= 1
                return Start(lot, now)
            place.wait(wait_s)

    def _draw(self, draw: Draw, left_s: float) -> StartLot | BudgetAnswer:
        """Draw a lot with the lock released: nobody else becomes first in line meanwhile."""
        lost = int(self._lot.left == self._lot.size > 0)  # not one start of it was made
        self._lot = StartLot()
        count = len(self._places)
        self._lock.release()
        try:
            answer = draw(count, left_s, lost)
        finally:
            self._lock.acquire()
        if isinstance(answer, StartLot):
            self._lot = answer
            if self._last_start + self._gap_s > answer.ends + LATE_MOST_S:
                self._last_start = -inf
        return answer


class Lines:
    """The lines of a process, one for each set of budgets. Each draws its own lots: dropping one loses at most one."""

    line = Line

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lines: Lru[Hashable, Line] = Lru(2_000)  # 2 KB each; those of the visits in hand are used all the time

    def has(self, budgets: Hashable) -> bool:
        """Whether visits have stood in line for these budgets lately."""
        return self._lines.get(budgets) is not None

    def of(self, budgets: Hashable, gap_s: float) -> Line:
        line = self._lines.get(budgets)
        if line is None:
            line = self.line(gap_s, self._monotonic)
            self._lines.put(budgets, line)
        return line
