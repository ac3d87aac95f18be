"""Hours of the day (promise P11, R7): in them, until them, out of them."""

from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InputError
from app.policy.moment import Hours

DAY_S = 86_400.0


def at(text: str) -> datetime:
    """A moment of an ordinary day, UTC."""
    return datetime.fromisoformat(f"2026-03-10T{text}").replace(tzinfo=UTC)


# as written → as kept
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("08:00-18:00", "08:00-18:00"),
        ("0800-1800", "08:00-18:00"),  # robots.txt's Visit-time
        ("8:00-18:00", "08:00-18:00"),
        (" 08:00 - 18:00 ", "08:00-18:00"),
        ("22:00-06:30", "22:00-06:30"),
        ("0:00-23:59", "00:00-23:59"),
        ("00:00-00:00", "00:00-00:00"),
    ],
)
def test_ours_forms(text: str, kept: str) -> None:
    assert str(Hours.parse(text)) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "08:00",
        "8-18",
        "08:00-",
        "24:00-06:00",
        "08:00-24:00",
        "08:60-09:00",
        "08:00-18:00 UTC",
        "08:00–18:00",  # a dash of typographers
        "08.00-18.00",
        "-08:00-18:00",
        "08:00-18:00,20:00-21:00",
        "٠٨:٠٠-١٨:٠٠",
        "always",
        "9" * 10_000,
    ],
)
def test_ours_what_is_no_window_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(InputError, match="write one in UTC, such as 08:00-18:00"):
        Hours.parse(text)


# window, moment → in it, seconds until it opens, seconds until it closes
@pytest.mark.parametrize(
    ("window", "moment", "inside", "opens_s", "closes_s"),
    [
        ("08:00-18:00", "07:59:59", False, 1, 0),
        ("08:00-18:00", "08:00:00", True, 0, 36_000),  # its start is in it
        ("08:00-18:00", "17:59:59.500000", True, 0, 0.5),
        ("08:00-18:00", "18:00:00", False, 50_400, 0),  # its end is not
        ("08:00-18:00", "00:00:00", False, 28_800, 0),
        ("22:00-06:00", "21:00:00", False, 3_600, 0),
        ("22:00-06:00", "23:00:00", True, 0, 25_200),  # over midnight
        ("22:00-06:00", "00:00:00", True, 0, 21_600),
        ("22:00-06:00", "05:59:59", True, 0, 1),
        ("22:00-06:00", "06:00:00", False, 57_600, 0),
        ("22:00-00:00", "23:59:59", True, 0, 1),
        ("22:00-00:00", "00:00:00", False, 79_200, 0),
        ("00:00-00:00", "00:00:00", True, 0, DAY_S),  # the whole day
        ("00:00-00:00", "12:00:00", True, 0, 43_200),
        ("12:00-12:00", "11:59:59", True, 0, 1),
        ("12:00-12:00", "12:00:00", True, 0, DAY_S),
    ],
)
def test_ours_windows(window: str, moment: str, inside: bool, opens_s: float, closes_s: float) -> None:
    hours, now = Hours.parse(window), at(moment)
    assert (hours.contains(now), hours.until_start_s(now), hours.until_end_s(now)) == (inside, opens_s, closes_s)


def test_ours_the_clock_of_the_window_is_utc_whatever_zone_now_is_in() -> None:
    now = datetime(2026, 3, 10, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    assert not Hours.parse("08:00-18:00").contains(now)
    assert Hours.parse("08:00-18:00").until_start_s(now) == 1_800


MINUTES = st.integers(0, 1_439).map(lambda minute: time(minute // 60, minute % 60))
MOMENTS = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)


@given(MINUTES, MINUTES, MOMENTS)
def test_ours_who_waits_until_it_opens_is_in_it_and_who_waits_until_it_closes_is_out(
    start: time, end: time, now: datetime
) -> None:
    hours = Hours(start=start, end=end)
    opens_s, closes_s = hours.until_start_s(now), hours.until_end_s(now)
    assert hours.contains(now) == (opens_s == 0) == (closes_s > 0)
    assert 0 <= opens_s < DAY_S
    assert 0 <= closes_s <= DAY_S
    tick = timedelta(microseconds=1)
    assert hours.contains(now + timedelta(seconds=opens_s) + tick)
    assert start == end or not hours.contains(now + timedelta(seconds=closes_s) + tick)


@given(MINUTES, MINUTES)
def test_ours_as_kept_is_read_again(start: time, end: time) -> None:
    hours = Hours(start=start, end=end)
    assert Hours.parse(str(hours)) == hours
