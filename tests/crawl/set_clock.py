"""A clock that a test sets: whoever waits for a moment goes on when the test comes to it, and no sooner."""

import math
import threading

from app.runtime.delay_queue import Clock

LONG_S = 30.0  # nothing takes so long; a test that would wait for ever fails after it


class SetClock(Clock):
    """It stands at 0 until it is moved, and runs with the machine's from `run` on."""

    def __init__(self) -> None:
        self._now = 0.0
        self._runs = False
        self._waits: list[tuple[float | None, threading.Condition]] = []
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def now(self) -> float:
        return self._now + (Clock.now() if self._runs else 0.0)

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        wait = (until, condition)
        with self._lock:
            if until is not None and until <= self.now():
                return
            self._waits.append(wait)
            self._changed.notify_all()
        condition.wait(until - self.now() if self._runs and until is not None else None)
        with self._lock:
            self._waits.remove(wait)

    def move(self, seconds: float) -> None:
        """So much later; whose moment has come is woken."""
        with self._lock:
            self._now += seconds
        self._wake(self._now)

    def run(self) -> None:
        """What is left is not for the test to time, such as the end of what waits by this clock."""
        with self._lock:
            self._now -= Clock.now()
            self._runs = True
        self._wake(math.inf)

    def until_waits(self, *moments: float | None) -> None:
        """Return when as many threads wait, each for its moment; None: for a call alone."""
        wanted = sorted(moments, key=_last)
        with self._lock:
            waits = self._changed.wait_for(lambda: self._moments() == wanted, LONG_S)
            assert waits, f"threads wait for {self._moments()}, not for {wanted}"

    def _wake(self, now: float) -> None:
        with self._lock:
            due = [condition for until, condition in self._waits if until is not None and until <= now]
        for condition in due:
            with condition:
                condition.notify()

    def _moments(self) -> list[float | None]:
        return sorted((until for until, _ in self._waits), key=_last)


def _last(moment: float | None) -> float:
    return math.inf if moment is None else moment
