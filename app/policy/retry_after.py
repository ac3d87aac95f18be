"""Reads how long a Retry-After header asks us to stay away (RFC 9110 section 10.2.3; promise P5).

It takes delay-seconds, every form of date that the standard knows (section 5.6.7), and what servers send besides:
fractions, lists, ISO dates, and other dates that `email.utils` can make sense of.
It does not decide for which statuses the header counts. The politeness delay is another matter and may be longer.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_tz
from itertools import pairwise

_DELAY_SECONDS = re.compile(r"([0-9]+)(?:\.([0-9]*))?")  # ASCII digits: str.isdigit() takes "²", which int() does not
_MANY_DIGITS = 12  # 30,000 years; more is the cap anyway, and int() of thousands of digits is slow or refused
_LONGEST_LIST = 1_000
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONGEST_DATE = 64  # characters; the standard's forms have at most 33
_RFC_850_YEAR = re.compile(r"[0-9]{1,2}-[A-Za-z]{3}-([0-9]{2})(?![0-9])")
_FARTHEST = timedelta(days=50 * 365.25)


def parse(value: str | None, *, now: datetime, cap_s: float, date: str | None = None) -> float | None:
    """Seconds to wait from `now` (aware), 0 to cap_s. A date in the past is 0.

    date: the answer's Date field. Where that clock is slow, a date is counted from it: its "in ten minutes" may be past
    by ours.

    None when there is no such header or nothing sensible in it: a sign, words. Of a list, which proxies make of two
    headers, the longest counts; a fraction is rounded up. Never raises.
    """
    text = (value or "").strip(" \t")[:_LONGEST_LIST]
    parts = [part.strip(" \t") for part in text.split(",")]
    # A date has a comma itself, after the day of the week.
    since = min(now, _date((date or "").strip(" \t"), now) or now)
    found = [_one(part, now, since, cap_s) for part in (text, *parts, *map(", ".join, pairwise(parts)))]
    return max((seconds for seconds in found if seconds is not None), default=None)


def _one(text: str, now: datetime, since: datetime, cap_s: float) -> float | None:
    seconds = _DELAY_SECONDS.fullmatch(text)
    if seconds:
        whole, fraction = seconds[1], seconds[2] or ""
        return cap_s if len(whole) > _MANY_DIGITS else min(float(whole) + bool(fraction.strip("0")), cap_s)
    date = _date(text, now)
    return None if date is None else min(max((date - since).total_seconds(), 0.0), cap_s)


def _date(text: str, now: datetime) -> datetime | None:
    """An HTTP-date or something like it; a date without a zone is UTC, as asctime's form has none."""
    if not text or len(text) > _LONGEST_DATE:
        return None
    if _ISO_DATE.match(text):
        return _iso(text)
    fields = parsedate_tz(text)
    if fields is None:
        return None
    year, month, day, hour, minute, second = fields[:6]
    if second == 60:  # a leap second, which the grammar allows and datetime does not
        second = 59
    try:
        date = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        date -= timedelta(seconds=fields[9] or 0)
        return _nearest_century(date, text, now)
    except (ValueError, OverflowError):
        return None


def _iso(text: str) -> datetime | None:
    """An ISO 8601 date, which is not in the standard but sent by servers."""
    try:
        date = datetime.fromisoformat(text.upper())
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    except ValueError:
        return None


def _nearest_century(date: datetime, text: str, now: datetime) -> datetime:
    """Place a two-digit year in now's century, but at most 50 years ahead (RFC 9110 section 5.6.7, a MUST)."""
    found = _RFC_850_YEAR.search(text)
    if found is None:
        return date
    date = date.replace(year=now.year - now.year % 100 + int(found[1]))
    return date.replace(year=date.year - 100) if date - now > _FARTHEST else date
