"""A worker that clocks itself: CPU time of its threads by step of a visit and by layer, exact and cheap.

`python -m bench.clock FILE worker …` is `celery -A app worker …` with some twenty functions wrapped in a look at the
thread's CPU clock (clock_gettime(2), 1 µs a call). What passes while a function is the innermost wrapped one is its
layer's; the outermost step it lies in is its step. Each second the sums so far go into FILE, a JSON line. Nothing of
this is in the product: the names below are looked up, and a name that is no more is an error.
"""

import functools
import importlib
import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

EVERY_S = 1.0
# Where a step of a visit begins.
STEPS = {
    "take-up": ("app.crawl.visit.visit:take_up",),
    "fetch": ("app.crawl.page.fetch:fetch",),
    "settle": ("app.crawl.visit.settle:go_on", "app.crawl.visit.settle:leave", "app.crawl.visit.settle:together"),
    "dispatch": ("app.beat.claim:dispatch",),
}
# Where a layer begins; from there on everything is its, until another one begins. Lower layers first: who imports a
# function by name must find it wrapped.
LAYERS = {
    "psycopg and the socket": ("psycopg:Cursor.execute", "psycopg:Connection.commit", "psycopg:Connection.rollback"),
    "statements": (
        "app.store.db:run",
        "sqlalchemy:Connection.execute",
        "sqlalchemy:Engine.connect",
        "sqlalchemy:Connection.commit",
        "sqlalchemy:Connection.close",
        "sqlalchemy.engine:RootTransaction.commit",
    ),
    "rows to JSON": ("app.store.db:rows_param",),
    "net": ("app.net.http:Sender.send", "app.net.http:Sender.where"),
    "parse": ("app.parse.html.html:read",),
    "log": ("structlog._base:BoundLoggerBase._proxy_to_logger",),
    "messages out": ("celery.app.base:Celery.send_task",),
    "links": ("app.crawl.frontier.admit:links",),
    "crawl": (
        "app.crawl.visit.visit:visit",
        "app.crawl.visit.visit:go_on",
        "app.crawl.visit.visit:settle_together",
        "app.beat.claim:dispatch",
    ),
    "celery, around a visit": ("concurrent.futures.thread:_WorkItem.run",),
}
REST = "consume (celery, kombu, redis), park"
OUTSIDE = "outside"


class Sums:
    """Nanoseconds by (step, layer), and what each thread is at."""

    def __init__(self) -> None:
        self._threads: list[dict[tuple[str, str], int]] = []
        self._local = threading.local()

    def enter(self, step: str | None, layer: str | None) -> tuple[str, str]:
        """Something begins. Returns what to give to `leave`."""
        local = self._local
        now = time.thread_time_ns()
        try:
            at: tuple[str, str] = local.at
        except AttributeError:
            at, local.since, local.own = (OUTSIDE, REST), now, defaultdict(int)
            self._threads.append(local.own)
        local.own[at] += now - local.since
        was_step, was_layer = at
        local.at = (step if step is not None and was_step == OUTSIDE else was_step, layer or was_layer)
        local.since = now
        return at

    def leave(self, before: tuple[str, str]) -> None:
        """It has ended: what was before goes on."""
        local = self._local
        now = time.thread_time_ns()
        local.own[local.at] += now - local.since
        local.at, local.since = before, now

    def so_far(self) -> list[tuple[str, str, float]]:
        """(step, layer, seconds); the process' other CPU time as REST."""
        total: dict[tuple[str, str], int] = defaultdict(int)
        for own in list(self._threads):
            for key, spent in list(own.items()):
                total[key] += spent
        total[OUTSIDE, REST] = time.process_time_ns() - sum(
            spent for key, spent in total.items() if key != (OUTSIDE, REST)
        )
        return [(step, layer, spent / 1e9) for (step, layer), spent in total.items()]


def wrap(sums: Sums, place: str, *, step: str | None = None, layer: str | None = None) -> None:
    """Clock a function, `module:name` or `module:class.name`. Raises AttributeError where there is none."""
    owner, name, function = find(place)

    @functools.wraps(function)
    def clocked(*args: Any, **kwargs: Any) -> Any:
        before = sums.enter(step, layer)
        try:
            return function(*args, **kwargs)
        finally:
            sums.leave(before)

    setattr(owner, name, clocked)


def find(place: str) -> tuple[Any, str, Callable[..., Any]]:
    """The module or class, the name, and what it names there. Raises AttributeError, ImportError."""
    module, _, path = place.partition(":")
    *outer, name = path.split(".")
    owner = functools.reduce(getattr, outer, importlib.import_module(module))
    return owner, name, getattr(owner, name)


def wrap_all(sums: Sums) -> None:
    """Everything in LAYERS and STEPS."""
    for layer, places in LAYERS.items():
        for place in places:
            wrap(sums, place, layer=layer)
    for step, places in STEPS.items():
        for place in places:
            wrap(sums, place, step=step)


def _tell(sums: Sums, path: Path) -> None:
    with path.open("a", buffering=1) as file:
        while True:
            file.write(json.dumps({"at": time.time(), "spent": sums.so_far()}) + "\n")
            time.sleep(EVERY_S)


def main(arguments: Sequence[str]) -> None:
    """Be a worker."""
    sums = Sums()
    wrap_all(sums)
    from app.celery import app

    path = Path(f"{arguments[0]}.{os.getpid()}.jsonl")
    threading.Thread(target=_tell, args=(sums, path), daemon=True, name="clock").start()
    app.worker_main(list(arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
