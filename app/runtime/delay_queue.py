"""Parks visits until their host's delay is over, without a thread each: Mercator's heap of back queues, one per
process.

A visit to a host with a delay keeps its lease from one request to the next, and is parked here meanwhile. So a message,
a take-up and a settle serve several pages of a polite host, and a process serves many more hosts than it has threads. A
parked visit is as safe as a running one: its lease runs, and expires after a crash.

One thread waits for the first of them. A thread that has parked a visit takes the next one that is due; another thread,
the one that ran last, is woken only where none is free within 20 ms. Threads that alternate on the interpreter's lock
cost more than the visits do (`python -m bench polite`).
"""

import heapq
import itertools
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from app.clock import monotonic

T = TypeVar("T")
LATE_S = 0.02
_log = structlog.get_logger()


class Clock:
    """Monotonic seconds, and a wait for one of them. Tests replace it by a clock that they set."""

    now = staticmethod(monotonic)

    def wait(self, condition: threading.Condition, until: float | None) -> None:
        """Wait, with the condition's lock, for its `notify` or for this second; None: for `notify` alone."""
        condition.wait(None if until is None else max(until - self.now(), 0.0))


class DelayQueue(Generic[T]):
    """Calls `resume` with each parked visit when it is due, in at most `threads` threads.

    most    how many may be parked
    resume  must not raise: its visit would be lost. Its thread is not
    """

    def __init__(self, resume: Callable[[T], object], *, most: int, threads: int, clock: Clock | None = None) -> None:
        self._resume, self._most, self._threads_most = resume, most, threads
        self.clock = clock or Clock()
        self._heap: list[tuple[float, int, T]] = []
        self._joined = 0
        self._late_s, self._resumed = 0.0, 0
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._parked = threading.Condition(self._lock)
        self._idle: list[threading.Condition] = []  # their threads wait to be woken; the last one ran last
        self._first: threading.Condition | None = None  # its thread waits for the first visit
        self._threads: list[threading.Thread] = []
        self._overseer: threading.Thread | None = None
        self._is_open = True

    def __len__(self) -> int:
        return len(self._heap)

    def take_late_s(self) -> float:
        """Seconds that visits were resumed late since the last call, on average; that the first one is, if none was."""
        with self._lock:
            late_s, resumed = self._late_s, self._resumed
            self._late_s, self._resumed = 0.0, 0
            if resumed or not self._heap:
                return late_s / max(resumed, 1)
            return max(self.clock.now() - self._heap[0][0], 0.0)

    @property
    def has_room(self) -> bool:
        return self._is_open and len(self._heap) + self._joined < self._most

    def join_in(self, n: int) -> bool:
        """Count so many more visits that are parked as one with others. False: there is no room for them."""
        with self._lock:
            if n > 0 and not self.has_room:
                return False
            self._joined += n
            return True

    def park(self, visit: T, until: float) -> bool:
        """Park a visit until this monotonic second; it belongs to another thread from now on.

        False: there is no room for it.
        """
        with self._lock:
            if not self.has_room or not self._has_threads():
                return False
            entry = (until, next(self._numbers), visit)
            heapq.heappush(self._heap, entry)
            if self._first is not None and self._heap[0] is entry:
                self._first.notify()
            if len(self._heap) == 1:
                self._parked.notify()
            return True

    def close(self) -> None:
        """Resume all parked visits at once; nothing can be parked any more."""
        with self._lock:
            self._is_open = False
            for each in (self._parked, self._first, *self._idle):
                if each is not None:
                    each.notify()

    def join(self) -> None:
        """Wait, after `close`, until the last visit has ended."""
        if self._overseer is not None:
            self._overseer.join()
        for thread in self._threads:
            thread.join()

    def _has_threads(self) -> bool:
        """Start two threads with the first visit: threads do not survive a fork. Whether there are any."""
        if self._overseer is None:
            self._overseer = self._start(self._oversee, "parking")
        return self._overseer is not None and (bool(self._threads) or self._add())

    def _start(self, act: Callable[[], None], name: str) -> threading.Thread | None:
        thread = threading.Thread(target=act, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the machine allows no more
            _log.debug("parking.no_thread", error=str(error))
            return None
        return thread

    def _add(self) -> bool:
        thread = self._start(self._work, "visit")
        if thread is not None:
            self._threads.append(thread)
        return thread is not None

    def _oversee(self) -> None:
        """Wake a thread when a visit is due and no thread takes it."""
        with self._lock:
            while self._heap or self._is_open:
                if self._first is None and self._is_due():
                    if self._idle:
                        self._idle.pop().notify()
                    elif len(self._threads) < self._threads_most:
                        self._add()
                self.clock.wait(self._parked, self.clock.now() + LATE_S if self._heap else None)

    def _work(self) -> None:
        called = threading.Condition(self._lock)
        while True:
            with self._lock:
                while not self._is_due():
                    if not self._is_open:
                        return
                    self._wait(called)
                until, _, visit = heapq.heappop(self._heap)
                self._late_s += max(self.clock.now() - until, 0.0)
                self._resumed += 1
            try:
                self._resume(visit)
            except Exception:  # noqa: BLE001  # a bug; the thread serves the next visit
                _log.exception("parking.crashed")

    def _wait(self, called: threading.Condition) -> None:
        if self._first is None and self._heap:
            self._first = called
            self.clock.wait(called, self._heap[0][0])
            self._first = None
            return
        self._idle.append(called)
        self.clock.wait(called, None)
        if called in self._idle:  # woken by `close`, not for a visit
            self._idle.remove(called)

    def _is_due(self) -> bool:
        return bool(self._heap) and (not self._is_open or self._heap[0][0] <= self.clock.now())
