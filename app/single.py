"""Makes a value of which a process has one, when it is first asked for.

`functools.cache` would make one for each of the threads that ask at once.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Single(Generic[T]):
    """A decorator of the function that makes it. Threads that call meanwhile wait; afterwards no lock is taken, so that
    a signal's handler may call it.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self.__doc__ = make.__doc__
        self._make = make
        self._made: tuple[T, ...] = ()
        self._lock = threading.RLock()  # a signal's handler may call it in the thread that makes it

    def __call__(self) -> T:
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made = (self._make(),)
        return self._made[0]

    @property
    def is_made(self) -> bool:
        """Whether somebody asked for it."""
        return bool(self._made)

    def clear(self) -> None:
        """Forget it: the next who asks has one made. For tests, which are several processes in one."""
        self._made = ()
