"""Holds new visits back until their process keeps up with those that it has.

A process that takes up more hosts than it can serve serves none of them well: visits are resumed late, grow old after
one page, and leave. Each page then costs a take-up, a settle and a connection of its own, and these costs are what the
process is short of. So only so many visits are in hand at once, parked ones included. The number grows by a twentieth
while they are served in time, and shrinks by a fifth when they are late, as the window of TCP's congestion control
does. It grows faster where there was time to spare for as long as a new visit takes to come to its full pace. It
shrinks again only when no more are in hand than it allows: visits end one by one, and what they are late by says
nothing new until then. An offer that waits too long for a place is not taken up: its host is offered again.

A worker that has no free thread asks Redis for nothing (and RabbitMQ for a message a thread): what it does not take
stays for an idle one. So an offer for which there is no room to wait keeps its thread for a moment all the same, else a
full process would use up the offers of the whole fleet.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

LATE_S = 0.25  # visits that are this late on average are too many
IN_TIME_S = 0.1  # more may begin while they are no later than this
LOOK_S = 0.05
ADJUST_S = 0.5
GROWTH, SHRINKAGE = 1.05, 0.8  # that many fewer have ended after 4 s, and none begins meanwhile
IDLE_S = 0.05  # a process whose visits are no later has time to spare
FULL_PACE_S = 2.0  # robots.txt, a delay and the first page
QUICK_GROWTH = 1.15  # three quarters more in FULL_PACE_S
MOMENT_S = 1.0  # the janitors, which run each second, come so late at most; a full process loses 2 offers a second
NEARLY = 0.9  # the number grows only where so much of it is in hand
FREE_THREADS = 2  # for what else the workers do, maintenance mostly; where there are but one or two: one


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """How many visits may be in hand: at first, and at the least and the most."""

    first: int
    least: int
    most: int


class Intake:
    """Begin a visit only after `wait`, and call `ended` when it has ended.

    late_s      seconds that visits were late since the last call, on average
    threads     of the pool that takes offers up: in all but FREE_THREADS of them an offer may wait
    patience_s  how long it waits there; in those, for a moment
    """

    def __init__(
        self,
        late_s: Callable[[], float],
        *,
        places: Places,
        threads: int,
        patience_s: float,
        stopping: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._late_s, self._bounds = late_s, places
        self._patience_s, self._stopping, self._clock = patience_s, stopping, clock
        self._most = self._most_before = float(min(places.first, places.most))
        self._in_hand = self._peak = 0  # the peak since the last look at how late they are
        self._adjusted_s = clock()
        self._idle_from_s = self._adjusted_s
        self._lock = threading.Lock()
        self._patient, self._patient_most = 0, threads - min(FREE_THREADS, (threads + 1) // 2)
        self._turn = threading.Lock()  # one offer looks, the others wait for it

    def wait(self) -> bool:
        """Wait for a place. False: there was none in time, or the worker stops."""
        if self._begin():
            return True
        with self._lock:
            is_patient = self._patient < self._patient_most
            self._patient += is_patient
        try:
            return self._wait(self._patience_s if is_patient else min(MOMENT_S, self._patience_s))
        finally:
            with self._lock:
                self._patient -= is_patient

    @property
    def in_hand(self) -> tuple[int, int]:
        """Visits in hand, and as many as there may be now."""
        return self._in_hand, int(self._most)

    def ended(self) -> None:
        """A visit that began has ended: its place is free."""
        with self._lock:
            self._in_hand -= 1

    def _wait(self, patience_s: float) -> bool:
        until_s = self._clock() + patience_s
        if not self._turn.acquire(timeout=patience_s):
            return False
        try:
            while self._clock() < until_s:
                if self._begin():
                    return True
                if self._stopping.wait(LOOK_S):
                    return False
            return False
        finally:
            self._turn.release()

    def _begin(self) -> bool:
        with self._lock:
            self._adjust()
            if self._in_hand >= self._most_now():
                return False
            self._in_hand += 1
            self._peak = max(self._peak, self._in_hand)
            return True

    def _most_now(self) -> float:
        """Find how many there may be now. Those added last come little by little: many at once make all others late."""
        share = min((self._clock() - self._adjusted_s) / ADJUST_S, 1.0)
        return min(self._most, self._most_before + (self._most - self._most_before) * share)

    def _adjust(self) -> None:
        now_s = self._clock()
        if now_s < self._adjusted_s + ADJUST_S:
            return
        self._adjusted_s, self._most_before = now_s, self._most
        late_s, peak, self._peak = self._late_s(), self._peak, self._in_hand
        if late_s > IDLE_S:
            self._idle_from_s = now_s
        if late_s > LATE_S:  # so many were too many, however few are left
            if self._in_hand <= math.ceil(self._most):
                self._most = max(min(self._most, peak) * SHRINKAGE, self._bounds.least)
        elif late_s <= IN_TIME_S and self._in_hand >= self._most * NEARLY:
            growth = QUICK_GROWTH if now_s >= self._idle_from_s + FULL_PACE_S else GROWTH
            self._most = min(self._most * growth + 1, self._bounds.most)
