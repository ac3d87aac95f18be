"""Draws a host's requests on a line of time, each with the delay that had to follow it: gaps are seen at a glance.

An SVG's geometry is made of attributes: the page's policy allows no inline style.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.store.board import Row

WIDTH = 1000.0
LEAST = 1.5  # units of a request that took no time


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A request and the delay after it, in units of WIDTH. is_early: it began within the delay of the one before"""

    x: float
    width: float
    delay_width: float
    is_early: bool
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Bars of requests, the oldest first, between two moments."""

    since: datetime
    until: datetime
    bars: Sequence[Bar]
    width: float = WIDTH


def timeline(rows: Sequence[Row]) -> Timeline | None:
    """The line of these requests, the newest first. None: there are less than two that were sent."""
    sent = [row for row in reversed(rows) if row["outcome"] != "unsent"]
    if len(sent) < 2:
        return None
    since = sent[0]["started_at"]
    until = max(row["ended_at"] for row in sent)
    unit = WIDTH / max((until - since).total_seconds(), 0.001)
    return Timeline(since=since, until=until, bars=[_bar(row, since, unit) for row in sent])


def _bar(row: Row, since: datetime, unit: float) -> Bar:
    took_s = (row["ended_at"] - row["started_at"]).total_seconds()
    gap_s = row["gap_s"]
    gap = "" if gap_s is None else f", {gap_s:.3f} s after the one before"
    return Bar(
        x=round((row["started_at"] - since).total_seconds() * unit, 2),
        width=round(max(took_s * unit, LEAST), 2),
        delay_width=round(row["delay_s"] * unit, 2),
        is_early=gap_s is not None and gap_s < row["delay_s"] - 0.001,
        label=f"{row['started_at']:%H:%M:%S}{gap}; delay {row['delay_s']:g} s",
    )
