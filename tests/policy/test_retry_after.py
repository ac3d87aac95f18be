import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.header_fields import retry_after

SUITE = Path(__file__).parents[3] / "shared" / "suites" / "http_headers.json"
NOW = datetime(2019, 6, 3, 11, tzinfo=UTC)
CAP = 86_400.0
LISTS = {"120, 60": 120.0}  # the suite: none


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("0", 0),
        ("120", 120),
        ("007", 7),
        ("Mon, 03 Jun 2019 11:30:12 GMT", 1812),  # IMF-fixdate
        ("Monday, 03-Jun-19 11:30:12 GMT", 1812),  # RFC 850
        ("Mon Jun  3 11:30:12 2019", 1812),  # asctime
        ("Mon, 03 Jun 2019 10:00:00 GMT", 0),  # past
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Monday, 03-Jun-68 11:30:12 GMT", CAP),  # 49 years ahead
        ("Monday, 03-Jun-70 11:30:12 GMT", 0),  # 51 years ahead is 1970
        ("Mon, 03 Jun 2019 23:59:60 GMT", 46_799),  # a leap second is in the grammar
        ("Mon, 03 Jun 2019 23:59:61 GMT", None),
        ("Mon, 03 Jun 2019 23:60:59 GMT", None),
    ],
)
def test_rfc9110_forms(value: str, wait_s: float | None) -> None:
    assert retry_after(value, now=NOW, cap_s=CAP) == wait_s


@pytest.mark.parametrize(
    ("year", "digits", "wait_s"),
    [
        (2010, "68", 0),  # 58 years ahead: 1968, where email.utils says 2068
        (2030, "75", CAP),  # 45 years ahead: 2075, where email.utils says 1975
        (2030, "81", 0),
        (2030, "29", 0),
    ],
)
def test_rfc9110_two_digit_years(year: int, digits: str, wait_s: float) -> None:
    now = datetime(year, 6, 3, 11, tzinfo=UTC)
    assert retry_after(f"Monday, 03-Jun-{digits} 12:00:00 GMT", now=now, cap_s=CAP) == wait_s


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        (None, None),
        ("", None),
        (" \t", None),
        ("\t42 ", 42),
        ("-5", None),
        ("+1", None),
        ("1.5", 2),
        ("120.0", 120),
        ("120.", 120),
        (".5", None),
        ("1e3", None),
        ("²", None),
        ("١٢", None),
        ("120, 60", 120),
        ("60,120", 120),
        ("60, soon", 60),
        ("60, Mon, 03 Jun 2019 11:30:12 GMT", 1812),
        ("Mon, 03 Jun 2019 11:30:12 GMT, 60", 1812),
        ("2019-06-03T11:30:12Z", 1812),
        ("2019-06-03T11:30:12+00:00", 1812),
        ("2019-06-03 11:30:12", 1812),
        ("2019-06-03t13:30:12+02:00", 1812),
        ("2019-06-04", 46_800),
        ("2019-13-04", None),
        ("soon", None),
        ("31 Feb 2019 12:00:00 GMT", None),
        ("9" * 20, CAP),
        ("9" * 5_000, CAP),  # more digits than int() takes
        ("Mon, 3 Jun 2019 12:00:00 UTC", 3600),  # lenient: one digit, UTC
        ("Mon, 03 Jun 2019 12:00:00", 3600),  # no zone is UTC
        ("Mon, 03 Jun 2019 14:00:00 +0200", 3600),
        ("Tue, 03 Jun 2019 11:30:12 GMT", 1812),  # the wrong day of the week
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),  # beyond what a datetime holds
        ("Mon, 03 Jun 2099 11:30:12 GMT", CAP),
    ],
)
def test_ours_leniency(value: str | None, wait_s: float | None) -> None:
    assert retry_after(value, now=NOW, cap_s=CAP) == wait_s


@pytest.mark.parametrize(
    ("date", "wait_s"),
    [
        ("Mon, 03 Jun 2019 10:00:00 GMT", 600),  # their clock is an hour slow
        ("Mon, 03 Jun 2019 09:00:00 GMT", 4_200),
        ("Mon, 03 Jun 2019 12:00:00 GMT", 0),  # fast: ours is the longer
        ("Mon, 06 Jun 1994 10:00:00 GMT", CAP),
        ("yesterday", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_ours_a_date_by_a_slow_clock_is_counted_from_its_own_now(date: str | None, wait_s: float) -> None:
    assert retry_after("Mon, 03 Jun 2019 10:10:00 GMT", now=NOW, cap_s=CAP, date=date) == wait_s
    assert retry_after("120", now=NOW, cap_s=CAP, date=date) == 120


def test_ours_cap_is_an_argument() -> None:
    assert retry_after("120", now=NOW, cap_s=60.0) == 60
    assert retry_after("Mon, 03 Jun 2019 12:00:00 GMT", now=NOW, cap_s=60.0) == 60


DATELIKE = st.lists(
    st.sampled_from([*"0123456789:-+,. \t", "Mon", "Jun", "Feb", "GMT", "EST", "2019", "99", "00:00:00", "²"]),
    max_size=14,
).map("".join)


@given(st.one_of(st.text(), DATELIKE))
def test_ours_never_raises_and_stays_in_bounds(value: str) -> None:
    wait_s = retry_after(value, now=NOW, cap_s=CAP)
    assert wait_s is None or 0 <= wait_s <= CAP


def rows(part: str) -> list[dict[str, str]]:
    if not SUITE.exists():
        pytest.skip(f"{SUITE} is not here")
    found: list[dict[str, str]] = json.loads(SUITE.read_text())[part]
    return found


def test_rfc9110_suite_of_dates() -> None:
    """Normative rows, each seen from 100 s before its date."""
    for row in rows("http_dates"):
        epoch = row["expected_epoch"]
        if row["level"] != "rfc9110-MUST":
            retry_after(row["input"], now=NOW, cap_s=CAP)  # must not raise; what email.utils makes of it will do
        elif isinstance(epoch, int):
            before = datetime.fromtimestamp(epoch - 100, UTC)
            assert retry_after(row["input"], now=before, cap_s=CAP) == 100, row
        elif ":60:" in row["input"] or ":61 " in row["input"]:
            assert retry_after(row["input"], now=NOW, cap_s=CAP) is None, row


def test_ours_suite_of_retry_after() -> None:
    """Where the suite leaves a choice: the cap is the cap, a leap second is read. Of a list we take the longest."""
    choices = {"<=cap": 21_600.0, "accept or ignore; no crash": 21_600.0}
    for row in rows("retry_after"):
        if not row["value"].startswith("("):  # rows about statuses: `outcome` and the visit
            now = datetime.fromisoformat(row["now"]) if row["now"] else NOW
            expected = choices.get(str(row["expected_delay_s"]), row["expected_delay_s"])
            if row["value"] in LISTS:
                expected = LISTS[row["value"]]
            assert retry_after(row["value"], now=now, cap_s=21_600.0) == expected, row
