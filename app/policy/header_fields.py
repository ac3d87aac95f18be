"""Reads header fields of an answer that need more than a split: Retry-After, Link (RFC 8288), and a price.

Retry-After (RFC 9110 section 10.2.3; promise P5) is how long we are asked to stay away: delay-seconds, every form of
date that the standard knows (section 5.6.7), and what servers send besides: fractions, lists, ISO dates, and other
dates that `email.utils` can make sense of. For which statuses it counts is decided elsewhere. The politeness delay is
another matter and may be longer.

The price that an answer with status 402 asks for is for the record: it is never paid. Sources: Cloudflare's pay per
crawl (`crawler-price: USD 0.01`); x402, version 1 (`accepts` with `maxAmountRequired` in a JSON body) and version 2
(the same in a `PAYMENT-REQUIRED` header, in Base64, with `amount`); `WWW-Authenticate` of any scheme (RFC 9110). What
cannot be read is no price.
"""

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_tz
from itertools import pairwise
from typing import Any, Final
from urllib.parse import quote_from_bytes

from app.model import Reply

_DELAY_SECONDS = re.compile(r"([0-9]+)(?:\.([0-9]*))?")  # ASCII digits: str.isdigit() takes "²", which int() does not
_MANY_DIGITS = 12  # 30,000 years; more is the cap anyway, and int() of thousands of digits is slow or refused
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
LONGEST_DATE = 64  # characters; the standard's forms have at most 33
_RFC_850_YEAR = re.compile(r"[0-9]{1,2}-[A-Za-z]{3}-([0-9]{2})(?![0-9])")
_FARTHEST = timedelta(days=50 * 365.25)
MAX_BYTES: Final = 64 * 1024  # of a header or a body that is looked at
MAX_CHARS: Final = 200
LINKS_MOST: Final = 16_384
RSL_TYPE: Final = "application/rsl+xml"  # RSL 1.0; a licence of another type is a text for persons
# A quoted string without an end goes to that of the field (RFC 8288 appendix B.4): each is looked at once.
_LINK: Final = re.compile(r'<([^<>]*+)>((?:[^",<]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))*+)', re.DOTALL)
_PARAMETER: Final = re.compile(
    r';\s*+([^\s=;,"]++)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)|([^\s";,]*+)))?', re.DOTALL
)
_ASCII: Final = bytes(range(0x80))


def retry_after(value: str | None, *, now: datetime, cap_s: float, date: str | None = None) -> float | None:
    """Seconds to wait from `now` (aware), 0 to cap_s. A date in the past is 0.

    date: the answer's Date field. Where that clock is slow, a date is counted from it: its "in ten minutes" may be past
    by ours.

    None when there is no such header or nothing sensible in it: a sign, words. Of a list, which proxies make of two
    headers, the longest counts; a fraction is rounded up. Never raises.
    """
    text = (value or "").strip(" \t")[:1_000]
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
    if not text or len(text) > LONGEST_DATE:
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


def price(reply: Reply) -> str | None:
    """The price in a line, with the place where it stands: "USD 0.01 (crawler-price)". None: it names none."""
    headers = reply.headers
    for name in ("crawler-price", "crawler-exact-price"):
        if value := _clean(headers.get(name, "")):
            return f"{value} ({name})"
    if price := _of_x402(_unpacked(headers.get("payment-required", ""))):
        return f"{price} (x402)"
    if price := _of_x402(reply.body[:MAX_BYTES]):
        return f"{price} (x402)"
    if value := _clean(headers.get("www-authenticate", "")):
        return f"{value} (WWW-Authenticate)"
    return None


def _unpacked(value: str) -> bytes:
    try:
        return b64decode(value[:MAX_BYTES], validate=True)
    except (binascii.Error, ValueError):
        return b""


def _of_x402(body: bytes) -> str | None:
    """The first way to pay that a document of x402 accepts."""
    try:
        found: Any = json.loads(body) if body.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    ways = found.get("accepts") if isinstance(found, Mapping) else None
    way = ways[0] if isinstance(ways, list) and ways and isinstance(ways[0], Mapping) else {}
    amount = way.get("amount", way.get("maxAmountRequired"))
    extra = way.get("extra")
    unit = extra.get("name") if isinstance(extra, Mapping) else None
    parts = [amount, unit or way.get("asset"), way.get("network")]
    return _clean(" ".join(str(part) for part in parts if isinstance(part, str | int))) if amount is not None else None


def _clean(written: str) -> str:
    """The text on one line, bounded."""
    return "".join(filter(str.isprintable, " ".join(written[: 2 * MAX_CHARS].split())))[:MAX_CHARS]


def canonical(value: str) -> str | None:
    """The first link of the relation `canonical` (RFC 6596), relative to the answer's URL; None: there is none.

    One with `anchor` speaks of another document. Of a parameter that comes twice the first counts.
    """
    return next((target or None for target, _ in _of_relation(value, "canonical")), None)


def licences(value: str) -> list[str]:
    """Links of the relation `license` to RSL documents (RSL 1.0), relative to the answer's URL, as written."""
    if "icense" not in value:
        return []
    return [target for target, type_ in _of_relation(value, "license") if target and type_ == RSL_TYPE]


def _of_relation(value: str, relation: str) -> Iterator[tuple[str, str]]:
    """The targets of links of a relation, each with its type in lower case."""
    for target, written in _LINK.findall(value[:LINKS_MOST]):
        parameters: dict[str, str] = {}
        for name, quoted, bare in _PARAMETER.findall(written):
            parameters.setdefault(name.lower(), quoted or bare)
        if relation in parameters.get("rel", "").lower().split() and "anchor" not in parameters:
            yield escaped(target.strip(" \t")), parameters.get("type", "").strip().lower()


def escaped(reference: str) -> str:
    """A reference to a URL in a field, decoded as latin-1: its octets beyond ASCII are escaped as they stand."""
    return quote_from_bytes(reference.encode("latin-1", "replace"), _ASCII)
