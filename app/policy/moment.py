"""Reads times as a person writes them: a moment (a date, a time, or how long ago), and hours of the day. All in UTC.

Hours of the day are an operator's quiet hours and robots.txt's Visit-time (promises P11 and R7).

A window may wrap over midnight. One that starts where it ends is the whole day.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

from app.errors import InputError

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SECONDS: Final = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}
NO_INTERVAL: Final = "none"
_AGO: Final = re.compile(r"([0-9]{1,6})([mhdw])")
DAY_S = 86_400.0
_WINDOW = re.compile(r"([01]?\d|2[0-3]):?([0-5]\d)\s*-\s*([01]?\d|2[0-3]):?([0-5]\d)")


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
    return int(found[1]) * SECONDS[found[2]]


def interval_text(seconds: float) -> str:
    """An interval as a person writes it: 1d."""
    unit = next((unit for unit in "wdhm" if seconds and seconds % SECONDS[unit] == 0), None)
    return NO_INTERVAL if not seconds else f"{seconds:g} s" if unit is None else f"{seconds / SECONDS[unit]:g}{unit}"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """From start (included) to end (not included), both UTC."""

    start: time
    end: time

    @classmethod
    def parse(cls, text: str) -> "Hours":
        """Parse `08:00-18:00` or `0800-1800`. Raises InputError."""
        found = _WINDOW.fullmatch(text.strip())
        if found is None:
            raise InputError(
                f"hours {text!r}", "are not a window; write one in UTC, such as 08:00-18:00 or 22:00-06:30"
            )
        from_hour, from_minute, to_hour, to_minute = (int(each) for each in found.groups())
        return cls(start=time(from_hour, from_minute), end=time(to_hour, to_minute))

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"

    def contains(self, now: datetime) -> bool:
        return _since_s(self.start, now) < (_between_s(self.start, self.end) or DAY_S)

    def until_start_s(self, now: datetime) -> float:
        """Seconds until the window opens; 0 within it."""
        return 0.0 if self.contains(now) else DAY_S - _since_s(self.start, now)

    def until_end_s(self, now: datetime) -> float:
        """Seconds until the window closes; 0 outside of it.

        A whole day never closes: the seconds until it begins again.
        """
        return DAY_S - _since_s(self.end, now) if self.contains(now) else 0.0


def _since_s(moment: time, now: datetime) -> float:
    """Seconds since the day last showed `moment`."""
    utc = now.astimezone(UTC)
    seconds = utc.hour * 3600 + utc.minute * 60 + utc.second + utc.microsecond / 1e6
    return (seconds - _seconds(moment)) % DAY_S


def _between_s(start: time, end: time) -> float:
    return (_seconds(end) - _seconds(start)) % DAY_S


def _seconds(moment: time) -> float:
    return moment.hour * 3600 + moment.minute * 60 + moment.second
