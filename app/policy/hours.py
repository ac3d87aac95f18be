"""Hours of the day (UTC): an operator's quiet hours and robots.txt's Visit-time (promises P11 and R7).

A window may wrap over midnight. One that starts where it ends is the whole day.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time

from app.errors import InputError

_DAY_S = 86_400.0
_WINDOW = re.compile(r"([01]?\d|2[0-3]):?([0-5]\d)\s*-\s*([01]?\d|2[0-3]):?([0-5]\d)")


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
        return _since_s(self.start, now) < (_between_s(self.start, self.end) or _DAY_S)

    def until_start_s(self, now: datetime) -> float:
        """Seconds until the window opens; 0 within it."""
        return 0.0 if self.contains(now) else _DAY_S - _since_s(self.start, now)

    def until_end_s(self, now: datetime) -> float:
        """Seconds until the window closes; 0 outside of it.

        A whole day never closes: the seconds until it begins again.
        """
        return _DAY_S - _since_s(self.end, now) if self.contains(now) else 0.0


def _since_s(moment: time, now: datetime) -> float:
    """Seconds since the day last showed `moment`."""
    utc = now.astimezone(UTC)
    seconds = utc.hour * 3600 + utc.minute * 60 + utc.second + utc.microsecond / 1e6
    return (seconds - _seconds(moment)) % _DAY_S


def _between_s(start: time, end: time) -> float:
    return (_seconds(end) - _seconds(start)) % _DAY_S


def _seconds(moment: time) -> float:
    return moment.hour * 3600 + moment.minute * 60 + moment.second
