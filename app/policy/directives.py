"""Reads a page's directives for robots: X-Robots-Tag and <meta name=robots> (promise R8).

Sources: RFC 9309 leaves it out; developers.google.com/search/docs/crawling-indexing/robots-meta-tag is the reference
that others follow: directives between commas, case-insensitive, the most restrictive wins, and in a header a user agent
with a colon before them. `noai` and `noimageai` are DeviantArt's of 2022; what they mean to us is for `tdm`.

It reads and does not act: the caller decides whether the crawl obeys. A page can only ask for less than robots.txt
allows, so `all`, `index` and `follow` lift nothing.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from app.policy.header_fields import LONGEST_DATE
from app.policy.robots_text import STAR, token_of

MAX_NAMES: Final = 20  # real pages have up to ten
MAX_NAME_CHARS: Final = 60

_UNAVAILABLE_AFTER: Final = "unavailable_after"
_ACTED_ON: Final = frozenset(
    {"none", "noindex", "nofollow", "noarchive", "noai", "noimageai"}  # kept first for the record
    | {_UNAVAILABLE_AFTER, _UNAVAILABLE_AFTER.replace("_", "-")}
)
# Words before a colon that are directives; any other is a user agent.
_DIRECTIVES: Final = _ACTED_ON | {
    *("all", "index", "follow", "archive", "snippet", "nosnippet", "nocache", "noimageindex", "notranslate", "noodp"),
    *("noydir", "nositelinkssearchbox", "indexifembedded", "max-snippet", "max-image-preview", "max-video-preview"),
}
_PREFIX: Final = re.compile(r"(\*|[a-z_-][a-z0-9_./-]*) ?: ?")
_SEPARATORS: Final = re.compile("[,;]")
# RFC 850 and RFC 5322 dates have a comma after the day of the week, which cuts the directive in two.
_DAY: Final = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? ?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """The directives of a page.

    noindex    keep it out of `pages`; said by "none" and by an unavailable_after that has passed, too
    nofollow   do not follow its links; said by "none" too
    noarchive  do not store its body
    no_ai      noai or noimageai
    names      lower-case directives seen, sorted, each once, values included ("max-snippet: 20"); at most MAX_NAMES of
               MAX_NAME_CHARS, those that we act on first
    """

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    no_ai: bool = False
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """One line for the record, None when there is nothing to say."""
        return ", ".join(self.names) or None


def read(x_robots_tag: str | None, meta: Iterable[str], token: str, *, now: datetime) -> Directives:
    """Read both sources of directives. Never raises.

    x_robots_tag  the header's value; several fields are joined by "\\n", so that a user agent in one of them holds to
                  the end of that one only. Joined by ", " they would be taken for one field
    meta          directives of <meta name=robots> and of our token, in lower case: `Page.robots`
    token         our product token; directives for other user agents are passed over
    now           aware; an unavailable_after up to it is a noindex, one that cannot be read is recorded only
    """
    fields = (x_robots_tag or "").split("\n")
    seen = _whole([*meta, *(each for field in fields for each in _ours(field.lower(), token.lower()))])
    names = {directive.partition(":")[0].rstrip() for directive in seen}
    return Directives(
        noindex=not names.isdisjoint({"noindex", "none"}) or any(_is_over(directive, now) for directive in seen),
        nofollow=not names.isdisjoint({"nofollow", "none"}),
        noarchive="noarchive" in names,
        no_ai=not names.isdisjoint({"noai", "noimageai"}),
        names=_for_the_record(seen),
    )


def _ours(field: str, token: str) -> Iterator[str]:
    """The directives of one field that are for all or for us. A proxy may have joined fields: a user agent in the
    middle counts from there on."""
    ours = True
    for part in _SEPARATORS.split(field):
        directive = " ".join(part.split())
        prefix = _PREFIX.match(directive)
        if prefix and prefix[1] not in _DIRECTIVES:
            ours = prefix[1] == STAR or token_of(prefix[1].encode()) == token
            directive = directive[prefix.end() :]
        if ours:  # by white space as well, unless a value follows: as `app.parse.html.html` does
            yield from [directive] if ":" in directive else directive.split()


def _whole(directives: Iterable[str]) -> set[str]:
    """The directives cleaned, with dates joined again that a comma had cut.

    Order does not matter: `Page.robots` has none.
    """
    every = {_clean(directive) for directive in directives} - {""}
    cut = {directive for directive in every if _DAY.fullmatch(_date_of(directive) or "")}
    dates = {directive for directive in every if directive[0].isdigit()}
    if not cut or not dates:
        return every
    return every - cut - dates | {f"{_UNAVAILABLE_AFTER}: {date}" for date in dates}


def _clean(directive: str) -> str:
    """The text with white space folded, without characters that a line or a database cannot hold."""
    return " ".join("".join(filter(str.isprintable, " ".join(directive.split()))).split())


def _date_of(directive: str) -> str | None:
    name, colon, value = directive.partition(":")
    return value.strip() if colon and name.rstrip().replace("-", "_") == _UNAVAILABLE_AFTER else None


def _is_over(directive: str, now: datetime) -> bool:
    written = _date_of(directive)
    date = _date(written) if written else None
    return date is not None and date <= now


def _date(written: str) -> datetime | None:
    """The time of an RFC 822, 850 or 5322 date or an ISO 8601 one. Without a time: midnight. Without a zone: UTC."""
    if len(written) > LONGEST_DATE:
        return None
    day = _DAY.match(written)
    bare = written[day.end() :] if day else written
    for parse, text in (
        (datetime.fromisoformat, bare.upper()),
        (parsedate_to_datetime, bare),
        (parsedate_to_datetime, f"{bare} 00:00:00"),
        (parsedate_to_datetime, f"{bare} 00:00:00 +0000"),  # 25-Jun-2010, which wants a zone beside the time
    ):
        try:
            date = parse(text)
        except (ValueError, OverflowError):
            continue
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None


def _for_the_record(seen: set[str]) -> tuple[str, ...]:
    names = {directive[:MAX_NAME_CHARS].rstrip() for directive in seen}
    first = sorted(names, key=lambda name: (name.partition(":")[0] not in _ACTED_ON, name))
    return tuple(sorted(first[:MAX_NAMES]))
