"""Makes a value once for all threads that ask for it, in a thread of its own, and keeps it for a while.

Whoever asks says how long to wait. A service that hangs so holds one thread, however many ask.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made(Generic[_T]):
    """A value that is kept.   at: when it was begun;   took_s: seconds;   until: the monotonic second of its end"""

    value: _T
    at: datetime
    took_s: float
    until: float


@dataclass(slots=True)
class _Making(Generic[_T]):
    ended: Future[Made[_T]] = field(default_factory=Future)
    until: float = inf  # the monotonic second of its end; a failure has one, too


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
        self._known: dict[str, _Making[_T]] = {}
        self._due: deque[tuple[str, _Making[_T]]] = deque()
        self._is_making = False

    def of(self, name: str, *, wait_s: float | None) -> Made[_T] | None:
        """The latest of a name; None: it is still being made, and is there when it is asked for later.

        wait_s: None: until it is made. Raises what `make` did, also to who asks a moment later, and then tries again.
        """
        with self._lock:
            known = self._known.get(name)
            if known is None or not self._is_good(known):
                known = self._begin(name)
        if not wait([known.ended], wait_s).done:
            return None
        if known.ended.exception() is not None:
            known.until = -inf
        return known.ended.result()

    def join(self) -> None:
        """Wait until what is being made is made, and what waits for it."""
        with self._lock:
            known = [each.ended for each in self._known.values()]
        wait(known)

    def _begin(self, name: str) -> _Making[_T]:
        if not self._is_making:
            threading.Thread(target=self._make_all, name="once", daemon=True).start()
            self._is_making = True
        self._known = {each: of for each, of in self._known.items() if self._is_good(of)}
        begun = self._known[name] = _Making[_T]()
        self._due.append((name, begun))
        return begun

    def _is_good(self, making: _Making[_T]) -> bool:
        """Whether it is being made, or waits for another to be made, or was made not long ago."""
        return not making.ended.done() or self._monotonic() < making.until

    def _make_all(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._is_making = False
                    return
                name, making = self._due.popleft()
            at, began = datetime.now(UTC), self._monotonic()
            try:
                value = self._make(name)
            except Exception as error:  # noqa: BLE001  # it is raised to those who ask
                making.until = self._monotonic() + self._kept_s(self._monotonic() - began)
                making.ended.set_exception(error)
            else:
                took_s = (now := self._monotonic()) - began
                making.until = now + self._kept_s(took_s)
                making.ended.set_result(Made(value=value, at=at, took_s=took_s, until=making.until))
