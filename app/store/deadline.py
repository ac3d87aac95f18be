"""Bounds the time that a person waits for one page or one command as a whole: all of its SQL, and what is done between.

It holds in the context of the caller, and in threads that run in a copy of it. `app.store.db` asks before each
statement: Postgres ends the one that would go beyond.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from app.errors import TookTooLong

_STEP_S: Final = 1.0  # of time that went by, before Postgres is told anew within a transaction: it costs a round trip
_LATE_S: Final = 0.05  # Postgres' clock and ours measure the same span


class _Deadline:
    def __init__(self, seconds: float, what: str, remedy: str) -> None:
        self.until = time.monotonic() + seconds
        self.told_s = math.inf
        self.error = took_too_long(seconds, what, remedy)


_current: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


def took_too_long(seconds: float, what: str, remedy: str) -> TookTooLong:
    """The error at a deadline."""
    return TookTooLong(what, f"took longer than {seconds:g} s, and was stopped; {remedy}")


@contextmanager
def within(seconds: float, *, what: str, remedy: str) -> Iterator[None]:
    """Let the block take so long. Beyond that its SQL raises TookTooLong.   what, remedy: of that error

    A deadline around it that comes sooner stays.
    """
    made, around = _Deadline(seconds, what, remedy), _current.get()
    token = _current.set(made if around is None or made.until < around.until else around)
    try:
        yield
    finally:
        _current.reset(token)


def tell(connection: Any, *, begins: bool = False) -> None:
    """Tell Postgres before a statement how long it may take. Raises TookTooLong where none may begin.

    connection: the driver's.   begins: it is the first of a transaction, so Postgres was told nothing
    """
    current = _current.get()
    if current is None:
        return
    left_s = current.until - time.monotonic()
    if left_s <= 0:
        raise current.error
    if begins or current.told_s - left_s >= _STEP_S:
        current.told_s = left_s
        connection.execute("SELECT set_config('statement_timeout', %s, true)", [f"{math.ceil(left_s * 1000)}"])


def ended() -> TookTooLong | None:
    """The error of a statement that Postgres ended for this deadline; None: it was another's doing."""
    current = _current.get()
    return current.error if current is not None and time.monotonic() >= current.until - _LATE_S else None
