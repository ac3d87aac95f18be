"""Lets the threads of a process read documents one after another.

Reading keeps the interpreter busy, and only one thread can have it. Twenty that want it at once are no faster than one:
each wakes up every 5 ms to ask for it, and all of them work with cold caches. A thread that waits here sleeps until it
is its turn. What takes long (a huge document is parsed without the interpreter) does not hold up the others: nobody
waits longer than `PATIENCE_S`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_S = 0.1


class OneByOne:
    """Turns, one per process. Who has waited for `patience_s` goes on without one."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._free = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Context in which one thread is at a time. False: it is another's turn, and waiting was long enough."""
        is_mine = self._free.acquire(timeout=self._patience_s)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._free.release()
