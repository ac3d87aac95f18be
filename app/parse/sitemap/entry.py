"""A sitemap's content as values: the kind of the file, and an `Entry` or a `Child` for each location.

It decides which dates and priorities are senseless; changefreq is only recorded. Locations are as written: neither
joined nor canonical. Source: https://www.sitemaps.org/protocol.html#xmlTagDefinitions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

_YEARS = range(1990, 2101)  # before, there was no web: 0001 and 1970 are a clock's zero; 9999 means never
_URL = re.compile(r"https?://[^\s\x00-\x20]+", re.IGNORECASE)

# `fromisoformat` takes any character between date and time, even the sign of a zone.
_ISO = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}(?:[Tt ].*)?)?)?|[0-9]{8}(?:[Tt].*)?")
_ISO_SHORT = re.compile(r"[0-9]{4}(-[0-9]{2})?")
_ISO_ZONE = re.compile(r"\s*(?:([+-][0-9:]+)|UTC|GMT|[Zz])$")


class SitemapKind(StrEnum):
    """The kind of a file, by its first element."""

    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    JSON = "json"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page.

    loc          as written, maybe relative; white space around it stripped, never empty
    lastmod      in UTC; None when absent, senseless or not of the years 1990 to 2100
    lastmod_raw  as written, its first 100 characters; None when absent or empty, and so for changefreq
    changefreq   as written, its first 100 characters
    priority     0 to 1; None when absent or anything else
    """

    loc: str
    lastmod: datetime | None = None
    lastmod_raw: str | None = None
    changefreq: str | None = None
    priority: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A sitemap that an index names; the fields are as those of `Entry`."""

    loc: str
    lastmod: datetime | None = None
    lastmod_raw: str | None = None


def as_entry(written: Mapping[str, str]) -> Entry:
    """An entry from the texts of its fields, by name; there is a loc."""
    return Entry(
        loc=written["loc"],
        lastmod=_instant(written.get("lastmod")),
        lastmod_raw=written.get("lastmod"),
        changefreq=written.get("changefreq"),
        priority=_share(written.get("priority")),
    )


def as_child(written: Mapping[str, str]) -> Child:
    """A child from the texts of its fields, by name; there is a loc."""
    return Child(loc=written["loc"], lastmod=_instant(written.get("lastmod")), lastmod_raw=written.get("lastmod"))


def is_url(text: str) -> bool:
    """Whether it is a whole http(s) URL, neither a relative one nor another text."""
    return _URL.fullmatch(text) is not None


def _share(written: str | None) -> float | None:
    try:
        share = float(written or "")
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None


def _instant(written: str | None) -> datetime | None:
    """Read W3C's date and time (https://www.w3.org/TR/NOTE-datetime), any ISO 8601 one, or else RFC 822's."""
    if not written:
        return None
    try:
        at = datetime.fromisoformat(_iso(written)) if _ISO.fullmatch(written) else parsedate_to_datetime(written)
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return at if at.year in _YEARS else None


def _iso(written: str) -> str:
    """Respell a date for `fromisoformat`: a year or a month becomes its first day; blanks before the zone and "UTC"
    go."""
    if short := _ISO_SHORT.fullmatch(written):
        return written + ("-01" if short[1] else "-01-01")
    zone = _ISO_ZONE.search(written)
    return written[: zone.start()] + (zone[1] or "Z") if zone else written
