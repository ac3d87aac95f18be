"""A pool of processes with handlers: threads borrow them, and none runs until one is needed."""

import os
import threading
from collections.abc import Callable, Sequence

from app.features.extract import process
from app.features.extract.process import HandlerProcess

IDLE_S = 30.0


def processors() -> int:
    """How many processes can work at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class HandlerPool:
    """Processes that are lent to one thread each, and ended after some idle time.

    sources       modules and files with handlers
    memory_bytes  address space of a process
    variables     names of ours that it gets beside the usual ones
    shows         what handlers print goes to our standard error
    """

    def __init__(
        self, sources: Sequence[str], *, memory_bytes: int, variables: Sequence[str] = (), shows: bool = False
    ) -> None:
        self._start: Callable[[], HandlerProcess] = lambda: process.start(
            sources, memory_bytes=memory_bytes, variables=variables, shows=shows
        )
        self._lock = threading.Lock()
        self._idle: list[tuple[HandlerProcess, threading.Timer]] = []
        self._is_closed = False

    def lend(self) -> HandlerProcess:
        """A usable process; `take_back` it. Raises InputError, ServiceError."""
        return self._from_idle() or self._start()

    def take_back(self, lent: HandlerProcess) -> None:
        """Keep a process for the next thread, or end it if it is worn or broken."""
        timer = threading.Timer(IDLE_S, self._expire, (lent,))
        timer.daemon = True
        with self._lock:
            is_kept = lent.is_usable and not self._is_closed
            if is_kept:
                self._idle.append((lent, timer))
        if is_kept:
            timer.start()
        else:
            lent.end()

    def close(self) -> None:
        """End the idle processes; those that are lent end when they come back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for each, timer in idle:
            timer.cancel()
            each.end()

    def _from_idle(self) -> HandlerProcess | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                found, timer = self._idle.pop()
            timer.cancel()
            if found.is_usable:
                return found
            found.end()

    def _expire(self, lent: HandlerProcess) -> None:
        with self._lock:
            before = len(self._idle)
            self._idle = [(each, timer) for each, timer in self._idle if each is not lent]
            was_idle = len(self._idle) < before
        if was_idle:
            lent.end()
