"""A pool of processes: threads borrow them, none runs until one is needed, and none stays for long without work."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Member(Protocol):
    """A process that a pool keeps.   is_worn: it is not to be lent again"""

    @property
    def is_alive(self) -> bool: ...

    @property
    def is_worn(self) -> bool: ...

    def end(self) -> None: ...


M = TypeVar("M", bound=Member)


class ProcessPool(Generic[M]):
    """Processes that are lent to one thread each.

    start   starts one; what it raises, borrowing raises
    idle_s  one that is not borrowed for so long is ended
    most    at once
    """

    def __init__(self, start: Callable[[], M], *, idle_s: float, most: int = sys.maxsize) -> None:
        self._start = start
        self._idle_s = idle_s
        self._room = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: dict[M, float] = {}  # since when, in monotonic seconds
        self._timer: threading.Timer | None = None  # runs while one is idle
        self._is_closed = False

    @contextmanager
    def lent(self, within_s: float | None = None) -> Iterator[M | None]:
        """A process, given back in the end; ended first where an exception comes. None: as for `borrow`."""
        member = self.borrow(within_s)
        if member is None:
            yield None
            return
        try:
            yield member
        except BaseException:
            member.end()
            raise
        finally:
            self.give_back(member)

    def borrow(self, within_s: float | None = None) -> M | None:
        """A process that is alive, to be given back. None: all were taken for so long."""
        if not self._room.acquire(timeout=None if within_s is None else max(within_s, 0)):
            return None
        try:
            return self._from_idle() or self._start()
        except BaseException:
            self._room.release()
            raise

    def give_back(self, member: M) -> None:
        """Keep a process for the next thread, or end it where it is dead or worn."""
        try:
            is_kept = member.is_alive and not member.is_worn
            with self._lock:
                is_kept = is_kept and not self._is_closed
                if is_kept:
                    self._idle[member] = time.monotonic()
                    if self._timer is None:  # one for all: a thread for each document would take a tenth of its reading
                        self._look_in(self._idle_s)
            if not is_kept:
                member.end()
        finally:
            self._room.release()

    def close(self) -> None:
        """End the idle processes; those that are lent end when they are given back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, {}
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        for member in idle:
            member.end()

    def _from_idle(self) -> M | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                member, _ = self._idle.popitem()
            if member.is_alive:
                return member
            member.end()

    def _look_in(self, seconds: float) -> None:
        """Look for processes that were idle for long, so many seconds from now. The lock is held."""
        self._timer = threading.Timer(seconds, self._retire)
        self._timer.daemon = True
        self._timer.start()

    def _retire(self) -> None:
        with self._lock:
            long_ago = time.monotonic() - self._idle_s
            old = [member for member, since in self._idle.items() if since <= long_ago]
            for member in old:
                del self._idle[member]
            self._timer = None
            if self._idle:
                self._look_in(min(self._idle.values()) - long_ago)
        for member in old:
            member.end()
