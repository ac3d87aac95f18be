"""Makes what takes long once for all who ask: a count of a crawl's rows, the proof of all its hosts.

It is kept for KEPT_TIMES as long as it took, and KEPT_MOST_S at most. So however many look, it takes one session, and
mostly half a percent of one core of Postgres.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

KEPT_TIMES = 200
KEPT_MOST_S = 600.0
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made(Generic[_T]):
    """A value that is kept.   at: when it was begun;   took_s: seconds;   until: the monotonic second of its end"""

    value: _T
    at: datetime
    took_s: float
    until: float


class Once(Generic[_T]):
    """The latest of one process, by the crawl's name. One is made at a time, in a thread of its own.

    make: by a crawl's name
    """

    def __init__(self, make: Callable[[str], _T]) -> None:
        self._make = make
        self._one_at_a_time = threading.Lock()
        self._lock = threading.Lock()
        self._known: dict[str, Future[Made[_T]]] = {}

    def of(self, name: str, *, wait_s: float) -> Made[_T] | None:
        """The latest of a crawl; None: it is being made, and will be there when it is asked for again.

        Raises what `make` does; the next who asks has it tried again.
        """
        with self._lock:
            known = self._known.get(name)
            if known is None or not _is_kept(known):
                self._known = {each: of for each, of in self._known.items() if _is_kept(of)}
                known = self._known[name] = Future()
                threading.Thread(target=self._run, args=(name, known), name="once", daemon=True).start()
        try:
            return known.result(wait_s)
        except TimeoutError:
            return None

    def _run(self, name: str, future: "Future[Made[_T]]") -> None:
        with self._one_at_a_time:
            try:
                future.set_result(self._made(name))
            except Exception as error:  # noqa: BLE001  # it is raised to those who ask
                future.set_exception(error)

    def _made(self, name: str) -> Made[_T]:
        at, began = datetime.now(UTC), time.monotonic()
        value = self._make(name)
        now = time.monotonic()
        return Made(value=value, at=at, took_s=now - began, until=now + min(KEPT_TIMES * (now - began), KEPT_MOST_S))


def _is_kept(made: "Future[Made[_T]]") -> bool:
    """Whether it is being made, or waits for another to be made, or was made not long ago."""
    return not made.done() or (made.exception() is None and time.monotonic() < made.result().until)
