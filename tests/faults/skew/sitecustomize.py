"""Python imports this by itself where it finds it on its path: the process then has a clock that is wrong by as many
seconds as the file named by CLOCK_SHIFT says at that moment. What is measured (`time.monotonic`) stays right, as where
a clock is set.

Without CLOCK_SHIFT the clock is libfaketime's affair, whose `clock_nanosleep` always fails (0.9.10): Python sleeps by
`select`.
"""

import datetime
import os
import select
import time
from typing import TYPE_CHECKING, Any

_time, _localtime, _gmtime = time.time, time.localtime, time.gmtime
if TYPE_CHECKING:
    from datetime import datetime as _real
else:
    _real = datetime.datetime


def shifted() -> float:
    with open(os.environ["CLOCK_SHIFT"]) as file:
        return _time() + float(file.read())


class _Like(type):
    """isinstance() takes datetimes that C made for ours."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, _real)


class Shifted(_real, metaclass=_Like):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return cls.fromtimestamp(shifted(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return cls.now()


def _install() -> None:
    Shifted.__name__ = Shifted.__qualname__ = "datetime"
    Shifted.__module__ = "datetime"  # psycopg knows types by their names
    datetime.datetime = Shifted  # type: ignore[misc]
    time.time = shifted
    time.time_ns = lambda: int(shifted() * 1e9)
    time.localtime = lambda seconds=None: _localtime(shifted() if seconds is None else seconds)
    time.gmtime = lambda seconds=None: _gmtime(shifted() if seconds is None else seconds)


def _sleep(seconds: Any) -> None:
    select.select([], [], [], seconds)


if "CLOCK_SHIFT" in os.environ:
    _install()
else:
    time.sleep = _sleep
