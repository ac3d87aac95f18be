"""Makes a value once for all threads that ask for it, in a thread of its own, and keeps it for a while.

Whoever asks says how long to wait. A service that hangs so holds one thread, however many ask.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made(Generic[_T]):
    """A value that is kept.   at: when it was begun;   took_s: seconds;   until: the monotonic second of its end"""

    value: _T
    at: datetime
    took_s: float
    until: float


class Once(Generic[_T]):
    """The latest values of one process, by name. One is made at a time.

    make    by a name
    kept_s  how long a value is good, by the seconds that it took
    """

    def __init__(
        self,
        make: Callable[[str], _T],
        *,
        kept_s: Callable[[float], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make, self._kept_s, self._monotonic = make, kept_s, monotonic
        self._lock = threading.Lock()
        self._known: dict[str, Future[Made[_T]]] = {}
        self._due: deque[tuple[str, Future[Made[_T]]]] = deque()
        self._is_making = False

    def of(self, name: str, *, wait_s: float | None) -> Made[_T] | None:
        """The latest of a name; None: it is still being made, and is there when it is asked for later.

        wait_s: None: until it is made. Raises what `make` does; the next who asks has it tried again.
        """
        with self._lock:
            known = self._known.get(name)
            if known is None or not self._is_good(known):
                if not self._is_making:
                    threading.Thread(target=self._make_all, name="once", daemon=True).start()
                    self._is_making = True
                self._known = {each: of for each, of in self._known.items() if self._is_good(of)}
                known = self._known[name] = Future()
                self._due.append((name, known))
        return known.result() if wait([known], wait_s).done else None

    def join(self) -> None:
        """Wait until what is being made is made, and what waits for it."""
        with self._lock:
            known = list(self._known.values())
        wait(known)

    def _is_good(self, made: Future[Made[_T]]) -> bool:
        """Whether it is being made, or waits for another to be made, or was made not long ago."""
        return not made.done() or (made.exception() is None and self._monotonic() < made.result().until)

    def _make_all(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._is_making = False
                    return
                name, future = self._due.popleft()
            try:
                future.set_result(self._made(name))
            except Exception as error:  # noqa: BLE001  # it is raised to those who ask
                future.set_exception(error)

    def _made(self, name: str) -> Made[_T]:
        at, began = datetime.now(UTC), self._monotonic()
        value = self._make(name)
        now = self._monotonic()
        return Made(value=value, at=at, took_s=now - began, until=now + self._kept_s(now - began))
