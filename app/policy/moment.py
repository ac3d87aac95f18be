"""Reads a moment as a person writes it: a date, a time, or how long ago. All in UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from app.errors import InputError

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO: Final = re.compile(r"([0-9]{1,6})([mhdw])")


def is_ago(text: str) -> bool:
    """Whether `text` says how long ago, so that it names another moment each time."""
    return _AGO.fullmatch(text.strip().lower()) is not None


def moment(text: str, now: datetime, *, option: str) -> datetime:
    """The moment that `text` names. 2026-11-01, 2026-11-01T12:30, or 45m, 12h, 7d, 2w before now.

    A time without a zone is UTC.   option: for the message. Raises InputError.
    """
    given = text.strip().lower()
    if ago := _AGO.fullmatch(given):
        try:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        found = datetime.fromisoformat(given.upper())
    except ValueError:
        remedy = "is not a moment; write 2026-11-01, 2026-11-01T12:30, or how long ago: 45m, 12h, 7d, 2w"
        raise InputError(f"{option} {text}", remedy) from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
