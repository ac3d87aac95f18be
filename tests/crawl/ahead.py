"""A worker whose clock only its own waits and requests move: they take no time, and what a slow machine takes does not
count.

Postgres and the sites go by the machine's clock. So this is for what a visit does when; the gaps that an origin sees
need `tests.crawl.clock.work`.
"""

import threading
from dataclasses import replace

from app.clock import monotonic
from app.crawl.state.worker import Worker
from app.model import Reply, Request, Unsent

TICK_S = 0.001  # that a request takes, and what is done with its reply


class Ahead(threading.Event):
    """Both the clock of a worker and its `stopping`."""

    def __init__(self) -> None:
        super().__init__()
        self._now = monotonic()

    def now(self) -> float:
        return self._now

    def tick(self) -> float:
        self._now += TICK_S
        return self._now

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None, "a wait without end"
        if not self.is_set():
            self._now += max(timeout, 0.0)
        return self.is_set()


def ahead(worker: Worker, clock: Ahead | None = None) -> Worker:
    """One thread's. It sends as `worker` does, in a tick of its own clock."""
    clock = clock or Ahead()

    def send(request: Request) -> Reply | Unsent:
        if request.not_after is not None:
            request = request._replace(not_after=request.not_after - clock.now() + monotonic())
        reply = worker.send(request)
        started_s, ended_s, _ = clock.now(), clock.tick(), clock.tick()
        if isinstance(reply, Unsent):
            return replace(reply, begun_s=started_s, ended_s=ended_s, contacted_s=None)
        return reply._replace(started_s=started_s, ended_s=ended_s, contacted_s=None, sent_s=started_s)

    return replace(worker, send=send, monotonic=clock.now, stopping=clock)
