"""Lets the threads of a process read documents one after another.

Reading keeps the interpreter busy, and only one thread can have it. Twenty that want it at once are no faster than one:
each wakes up every 5 ms to ask for it, and all of them work with cold caches. A thread that waits here sleeps until it
is its turn. What takes long (a huge document is parsed without the interpreter) does not hold up the others: nobody
waits longer than `PATIENCE_S`.
"""

import threading
from types import TracebackType

PATIENCE_S = 0.1


class OneByOne:
    """A context that one thread is in at a time, or nearly so: who has waited for `patience_s` enters all the same."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._free = threading.Lock()
        self._mine = threading.local()

    def __enter__(self) -> bool:
        """Wait for the turn. False: it did not come in time."""
        held: bool = self._free.acquire(timeout=self._patience_s)
        self._mine.held = held
        return held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._mine.held:
            self._free.release()
