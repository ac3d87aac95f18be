"""Lets two of a process's threads compute at once; the others wait for the network, or for a seat.

Only one thread has the interpreter. A hundred that want it pass it on at each of their system calls, and each time that
is several switches of threads: a page then takes three times the CPU time that it takes alone, and the process serves
fewer hosts the more it has in hand. A thread that waits for a seat sleeps. Two seats, and not one: a thread keeps its
seat while Postgres answers.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SEATS = 2


class Seats:
    """The seats at the interpreter, in one process.

    seats       threads that compute at once
    patience_s  a thread that has waited so long continues without a seat: one that is held up must not stop the others
    """

    def __init__(self, seats: int = SEATS, patience_s: float = 0.5) -> None:
        self._patience_s = patience_s
        self._free = threading.Semaphore(seats)
        self._mine = threading.local()
        self._waited_s, self._taken = 0.0, 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Context in which this thread computes: it waits for a seat first. Not to be nested."""
        self._mine.computes = True
        self._take()
        try:
            yield
        finally:
            self.leave()
            self._mine.computes = False

    @contextmanager
    def left(self) -> Iterator[None]:
        """Context in which this thread waits for something else. A seat that it has is another's meanwhile; who went on
        without one tries again afterwards."""
        if not getattr(self._mine, "computes", False):
            yield
            return
        self.leave()
        try:
            yield
        finally:
            self._take()

    def leave(self) -> None:
        """Leave the seat, if this thread has one, and take none before the end of its next `left`.

        For who waits for a moment and must act then: a wait for a seat would make it late.
        """
        if self.has_one:
            self._mine.has_one = False
            self._free.release()

    @property
    def has_one(self) -> bool:
        """Whether this thread has a seat."""
        return getattr(self._mine, "has_one", False)

    def take_wait_s(self) -> float:
        """Seconds that threads waited for a seat since the last call, on average. Counted without a lock."""
        waited_s, taken = self._waited_s, self._taken
        self._waited_s, self._taken = 0.0, 0
        return waited_s / taken if taken else 0.0

    def _take(self) -> None:
        self._taken += 1
        if self._free.acquire(blocking=False):
            self._mine.has_one = True
            return
        since = time.monotonic()
        self._mine.has_one = self._free.acquire(timeout=self._patience_s)
        self._waited_s += time.monotonic() - since
