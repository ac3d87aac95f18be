"""Reads a moment as a person writes it: a date, a time, or how long ago. All in UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from app.errors import InputError

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SECONDS: Final = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}
NO_INTERVAL: Final = "none"
_AGO: Final = re.compile(r"([0-9]{1,6})([mhdw])")


def is_ago(text: str) -> bool:
    """Whether `text` says how long ago, so that it names another moment each time."""
    return _AGO.fullmatch(text.strip().lower()) is not None


def interval_s(text: str, *, option: str) -> float:
    """Seconds that `text` names: 45m, 12h, 1d, 2w; none: 0. Raises InputError.   option: for the message"""
    given = text.strip().lower()
    if given == NO_INTERVAL:
        return 0.0
    found = _AGO.fullmatch(given)
    if found is None:
        raise InputError(f"{option} {text}", "is not a length of time; write 45m, 12h, 1d or 2w, or none")
    return int(found[1]) * _SECONDS[found[2]]


def interval_text(seconds: float) -> str:
    """An interval as a person writes it: 1d."""
    unit = next((unit for unit in "wdhm" if seconds and seconds % _SECONDS[unit] == 0), None)
    return NO_INTERVAL if not seconds else f"{seconds:g} s" if unit is None else f"{seconds / _SECONDS[unit]:g}{unit}"


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
