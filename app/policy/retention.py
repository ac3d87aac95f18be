"""Decides which partition a log needs next, and which ones have expired.

Bounds are UTC, the lower included, the upper not. A partition is a day wide where the log is kept for a month at most,
else a calendar month: so there are some forty of them, or twelve a year, and at most one is kept too long.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

AHEAD = timedelta(days=14)
MOST_DAYS = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A partition. lower: None for all times before `upper`."""

    name: str
    lower: datetime | None
    upper: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Bounds of a partition to make. adopts: it takes over the rows of the default partition that lie within."""

    lower: datetime
    upper: datetime
    adopts: bool


def next_span(
    parts: Iterable[Part], *, now: datetime, keep_days: int, strays: tuple[datetime, datetime] | None
) -> Span | None:
    """The next partition to be made; None: there are enough for the next 14 days.

    strays   the times of the oldest and the newest row of the default partition, if there is any. Where none is older
             than
             the end of the last partition, they form the next one; else it starts behind them, and they stay.
    keep_days  0: for ever
    """
    last = max((part.upper for part in parts), default=_day(now))
    if strays is None:
        return Span(lower=last, upper=_end(max(last, now), keep_days), adopts=False) if last < now + AHEAD else None
    oldest, newest = strays
    if oldest >= last:
        return Span(lower=last, upper=_end(max(newest, now), keep_days), adopts=True)
    lower = last if newest < last else _end(newest, keep_days)
    return Span(lower=lower, upper=_end(max(lower, now), keep_days), adopts=False) if last < now + AHEAD else None


def expired(parts: Iterable[Part], *, now: datetime, keep_days: int) -> list[Part]:
    """The partitions that are wholly older than keep_days, the oldest first. keep_days 0: none."""
    if not keep_days:
        return []
    limit = now - timedelta(days=keep_days)
    return sorted((part for part in parts if part.upper <= limit), key=lambda part: part.upper)


def _end(moment: datetime, keep_days: int) -> datetime:
    """The end of the day or month that a moment is in."""
    day = _day(moment)
    if 0 < keep_days <= MOST_DAYS:
        return day + timedelta(days=1)
    return (day.replace(day=1) + timedelta(days=MOST_DAYS + 1)).replace(day=1)


def _day(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
