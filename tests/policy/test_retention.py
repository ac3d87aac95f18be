"""Which partition comes next, and which have had their time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.retention import AHEAD, Part, Span, expired, next_span

FOR_EVER = 0


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def part(lower: str | None, upper: str) -> Part:
    return Part(name=f"log_{upper}", lower=None if lower is None else day(lower), upper=day(upper))


PAST = part(None, "2026-12-01")


@pytest.mark.parametrize(
    ("now", "keep_days", "bounds"),
    [
        ("2026-11-03", FOR_EVER, None),  # the next 14 days are provided for
        ("2026-11-17", FOR_EVER, None),
        ("2026-11-17 00:01", FOR_EVER, ("2026-12-01", "2027-01-01")),
        ("2026-11-30 23:59", FOR_EVER, ("2026-12-01", "2027-01-01")),
        ("2026-11-20", 400, ("2026-12-01", "2027-01-01")),
        ("2026-11-20", 32, ("2026-12-01", "2027-01-01")),
        ("2026-11-20", 31, ("2026-12-01", "2026-12-02")),
        ("2026-11-20", 1, ("2026-12-01", "2026-12-02")),
        ("2027-02-15 08:00", FOR_EVER, ("2026-12-01", "2027-03-01")),  # nobody looked for months: one for all of them
        ("2027-02-15 08:00", 7, ("2026-12-01", "2027-02-16")),
    ],
)
def test_ours_the_next(now: str, keep_days: int, bounds: tuple[str, str] | None) -> None:
    wanted = None if bounds is None else Span(lower=day(bounds[0]), upper=day(bounds[1]), adopts=False)
    assert next_span([PAST], now=day(now), keep_days=keep_days, strays=None) == wanted


@pytest.mark.parametrize(
    ("strays", "span"),
    [
        # oldest, newest of the default partition; lower, upper, adopts
        (("2026-12-01", "2026-12-30"), ("2026-12-01", "2027-01-01", True)),
        (("2026-12-05", "2027-02-02"), ("2026-12-01", "2027-03-01", True)),
        (("2026-11-30 23:59:59", "2026-11-30 23:59:59"), ("2026-12-01", "2027-01-01", False)),  # stays where it is
        (("2026-11-30", "2027-02-02"), ("2027-03-01", "2027-04-01", False)),  # and so do those behind
    ],
)
def test_ours_rows_without_a_partition(strays: tuple[str, str], span: tuple[str, str, bool]) -> None:
    parts = [part("2026-10-01", "2026-12-01")]
    found = next_span(parts, now=day("2026-12-30"), keep_days=FOR_EVER, strays=(day(strays[0]), day(strays[1])))
    assert found == Span(lower=day(span[0]), upper=day(span[1]), adopts=span[2])


def test_ours_the_first_of_all() -> None:
    now = datetime(2026, 5, 5, 23, tzinfo=timezone(timedelta(hours=-5)))  # the next day by UTC
    assert next_span([], now=now, keep_days=1, strays=None) == Span(
        lower=day("2026-05-06"), upper=day("2026-05-07"), adopts=False
    )


@given(
    now=st.datetimes(datetime(2020, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)),
    keep_days=st.sampled_from([0, 1, 7, 31, 32, 3650]),
)
def test_they_join_without_a_gap_until_there_are_enough(now: datetime, keep_days: int) -> None:
    parts = [Part(name="past", lower=None, upper=now.replace(day=1, hour=0, minute=0, second=0, microsecond=0))]
    while span := next_span(parts, now=now, keep_days=keep_days, strays=None):
        assert span.lower == parts[-1].upper < span.upper
        parts.append(Part(name=str(span.lower), lower=span.lower, upper=span.upper))
    assert now + AHEAD <= parts[-1].upper <= now + AHEAD + timedelta(days=31)
    assert len(parts) <= 17


@pytest.mark.parametrize(
    ("now", "keep_days", "gone"),
    [
        ("2027-06-01", FOR_EVER, 0),
        ("2026-12-30 23:59", 30, 0),
        ("2026-12-31", 30, 1),
        ("2027-01-30", 30, 1),
        ("2027-01-31", 30, 2),
        ("2027-06-01", 30, 3),
    ],
)
def test_ours_wholly_older(now: str, keep_days: int, gone: int) -> None:
    """A partition goes when its last possible row is old enough."""
    parts = [part("2027-01-01", "2027-02-01"), PAST, part("2026-12-01", "2027-01-01")]
    found = expired(parts, now=day(now), keep_days=keep_days)
    assert found == sorted(parts, key=lambda each: each.upper)[:gone]
