"""Holds new visits back until their process keeps up with those that it has.

A process that takes up more hosts than it can serve serves none of them well: parked visits are resumed late, grow old after one
page, and leave. Each page then costs a take-up, a settle and a connection of its own, and these costs are what the process is
short of. So an offer waits while visits are resumed late or the parking is nearly full. An offer that waits too long is not
taken up: its host is offered again.
"""

import threading
from collections.abc import Sized
from typing import Protocol

LATE_MOST_S = 0.25
LOOK_S = 0.05
FREE_THREADS = 2  # for what else the workers do: dispatch and maintenance


class Parking(Sized, Protocol):
    """The part of an `app.runtime.delay_queue.DelayQueue` that an intake looks at."""

    def late_s(self) -> float: ...


class Intake:
    """Begin a visit only after `wait`.

    parking     of the visits that have begun
    most        parked visits with which another may begin
    threads     of the pool that takes offers up: all but two of them may wait
    patience_s  how long an offer waits
    """

    def __init__(
        self, parking: Parking, *, most: int, threads: int, patience_s: float, stopping: threading.Event
    ) -> None:
        self._parking, self._most, self._patience_s, self._stopping = parking, most, patience_s, stopping
        self._places = threading.BoundedSemaphore(max(threads - FREE_THREADS, 1))
        self._turn = threading.Lock()  # one offer looks, the others wait for it

    def wait(self) -> bool:
        """Wait until the process keeps up. False: it did not in time, or too many wait, or the worker stops."""
        if self._keeps_up():
            return True
        if not self._places.acquire(blocking=False):
            return False
        try:
            return self._wait()
        finally:
            self._places.release()

    def _wait(self) -> bool:
        if not self._turn.acquire(timeout=self._patience_s):
            return False
        try:
            for _ in range(int(self._patience_s / LOOK_S)):
                if self._keeps_up():
                    return True
                if self._stopping.wait(LOOK_S):
                    return False
            return False
        finally:
            self._turn.release()

    def _keeps_up(self) -> bool:
        return len(self._parking) < self._most and self._parking.late_s() <= LATE_MOST_S
