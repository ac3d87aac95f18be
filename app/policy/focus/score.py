"""Scores a link, 0 to 1, before anything is fetched of it (promises S1 to S5). The components are kept, and explain it.

    score = base + anchor + page + fresh - duplicate - trap

Links of relevant pages come first as in S. Chakrabarti, M. van den Berg, B. Dom, "Focused crawling", 1999.

A score orders URLs within a lane and decides which of them leave a full frontier. It refuses nothing.

Decides what comes first in a crawl with a budget, by what URLs of one shape have brought (promise S1).

Shapes whose pages had new text of their own come first, whatever their form; lists come after the pages that they name.
"""

import re
from collections.abc import Callable
from datetime import datetime
from enum import IntEnum
from math import exp
from typing import Final, NamedTuple

from app.model import Url
from app.policy.focus.patterns import RISKY
from app.policy.focus.profile import REACH, Profile
from app.policy.focus.shape import Shape, shape_of
from app.policy.focus.vocabulary import tokens

MOST_ANCHOR, MOST_FRESH, MOST_DUPLICATE, MOST_TRAP = 0.3, 0.2, 0.4, 0.6
VIEW: Final = 0.15  # less than what makes a trial shorter (`patterns.RISKY`)
IN_PATH: Final = 0.1  # a topic in the path: a third of one in the anchor, as a folder's name is that of many pages
MOST_PAGE: Final = 0.3  # as much as an anchor: each is one hint of what a link leads to
LEAST_RAISE: Final = 0.02  # smaller ones hardly change the order, and each is a row to write
FRESH_DAYS: Final = 30.0  # a date's worth falls to a third in so many days
PAGE_FROM: Final = 10  # page numbers above it are a risk
_DATED: Final = re.compile(r"(?:/|-|_|\b)((?:19|20)\d\d)[-/_]?(0[1-9]|1[0-2])(?:[-/_]?(0[1-9]|[12]\d|3[01]))?(?=\D|\Z)")
_PAGED: Final = re.compile(r"(?:[?&](?:page|p|pg|paged|start|offset|skip)=|/page/)(\d{1,9})", re.IGNORECASE)
_COPIES: Final = re.compile(
    r"(?:[?&/](?:print|printable|printview|printer[-_]?friendly|amp|mobile|sort\w*|order\w*|dir|view|filter\w*|replytocom|"
    r"share|lang|hl)(?:=|/|\Z))|[?&](?:ref|pos|ical|outlook-ical|lightbox|format|output)=",
    re.IGNORECASE,
)
_SCALE: Final = 60
_BITS: Final = 6
_MOST: Final = (1 << _BITS) - 1
_FINE: Final = ((60, 6), (100, 5), (100, 5), (75, 5), (50, 5), (100, 5))  # with a page, of each: steps to 1, bits
LEARNED: Final = 0.3  # of a score, from shapes whose pages had no new text of their own to those that all had
PROVEN: Final = 0.8  # of a shape's pages had new text of their own: its form is no risk then
LISTS: Final = 0.2  # of a shape's pages, fewer: they are lists


class Parts(NamedTuple):
    """The components of a score, each 0 or more; duplicate and trap are taken off. page: 0 without topics."""

    base: float
    anchor: float
    fresh: float
    duplicate: float
    trap: float
    page: float = 0.0

    @property
    def score(self) -> float:
        return min(max(self.base + self.anchor + self.page + self.fresh - self.duplicate - self.trap, 0.0), 1.0)

    @property
    def risk(self) -> float:
        return self.duplicate + self.trap

    def packed(self) -> int:
        """All as one integer of 32 bits. Without a page five parts in sixtieths; with one all six, and a sign."""
        number = 0
        if self.page > 0:
            for part, (steps, bits) in zip(self, _FINE, strict=True):
                number = number << bits | min(int(part * steps + 0.5), (1 << bits) - 1)
            return ~number
        for part in self[:5]:
            number = number << _BITS | min(int(part * _SCALE + 0.5), _MOST)
        return number


def unpacked(number: int) -> Parts:
    """The parts of `Parts.packed`."""
    if number < 0:
        number, parts = ~number, []
        for steps, bits in reversed(_FINE):
            parts.append((number & (1 << bits) - 1) / steps)
            number >>= bits
        return Parts(*reversed(parts))
    return Parts(*[(number >> _BITS * place & _MOST) / _SCALE for place in (4, 3, 2, 1, 0)])


class Scored(NamedTuple):
    """A link's lane, the components of its score, and its shape."""

    lane: int
    parts: Parts
    shape: Shape


SEED: Final = Parts(1.0, 0.0, 0.0, 0.0, 0.0)


def score(
    profile: Profile,
    url: Url,
    *,
    depth: int,
    anchor: str = "",
    worth: Callable[[str], float] | None = None,
    now: datetime | None = None,
    lastmod: datetime | None = None,
) -> Scored:
    """Score a link `depth` links from a seed; 15 µs.

    anchor   its text
    worth    of a word, 0 to 1, in what the crawl knows of its subject (`vocabulary`); None: it knows nothing
    lastmod  by a sitemap that is believed
    """
    shape = shape_of(url.target)
    branch = profile.branch(url.target)
    parts = Parts(
        branch.weight,
        named(profile, url.target, anchor, worth),
        MOST_FRESH * _fresh(url.target, now, lastmod, shape),
        _duplicate(url.target, shape),
        _trap(url.target, shape, depth, now),
    )
    return Scored(branch.lane, parts, shape)


def as_view(parts: Parts, target: str) -> Parts:
    """The parts of a URL with a query, whose path alone is known, too: it may show the same in another way.

    It comes later, and is no more a trap for it: a site may keep all it has below one path. A list's next page is none;
    one that is filtered, too, is.
    """
    is_next = "&" not in target and _PAGED.search(target, target.find("?"))
    return parts if is_next else parts._replace(duplicate=max(parts.duplicate, VIEW))


def handed_on(parts: Parts, relevance: float) -> Parts:
    """The parts of a link that pages of so much relevance, 0 to 1, name.

    What the page was handed itself is not handed on: two links from a subject a page may be about anything.
    """
    return parts._replace(page=MOST_PAGE * relevance)


def raised(parts: Parts, *, anchor: float, relevance: float) -> Parts | None:
    """The parts of a URL that a further page names; None where they are worth hardly more than before.

    anchor     the worth of this page's anchor: the best counts
    relevance  the mean of all pages that name it
    """
    after = parts._replace(anchor=max(parts.anchor, anchor), page=max(parts.page, MOST_PAGE * relevance))
    return after if after.score - parts.score >= LEAST_RAISE else None


def named(profile: Profile, target: str, anchor: str, worth: Callable[[str], float] | None) -> float:
    """The worth of what a link is called: of its anchor, and a little more where its path names a topic."""
    found = MOST_ANCHOR * _anchor(profile, anchor, worth) if anchor else 0.0
    if profile.topics and not profile.spelled_topics.isdisjoint(tokens(target[:REACH])):
        found += IN_PATH
    return min(found, MOST_ANCHOR)


def _anchor(profile: Profile, anchor: str, worth: Callable[[str], float] | None) -> float:
    """The mean worth of the anchor's words. A topic is worth all, and where there are topics another word a third."""
    words = tokens(anchor, profile.language)[:12]
    if not words:
        return 0.0
    topics = profile.topics
    known = [1.0 if word in topics else worth(word) * (1 / 3 if topics else 1) if worth else 0.0 for word in words]
    best = max(known)
    return (best + sum(known) / len(known)) / 2


def _fresh(target: str, now: datetime | None, lastmod: datetime | None, shape: Shape) -> float:
    """1 for what is of today, falling fast."""
    if now is None:
        return 0.0
    when = lastmod
    if when is None and (shape.dates or "20" in target):
        found = _DATED.search(target)
        if found:
            year, month, day = int(found[1]), int(found[2]), int(found[3] or 15)
            days = (now.year - year) * 365.25 + (now.month - month) * 30.4 + now.day - day
            return exp(-max(days, 0.0) / FRESH_DAYS) if days > -32 else 0.0
        return 0.0
    if when is None:
        return 0.0
    return exp(-max((now - when).total_seconds(), 0.0) / 86_400 / FRESH_DAYS)


def _duplicate(target: str, shape: Shape) -> float:
    """The risk that its page is known under another URL: sessions, many parameters, and views of what is there
    anyway.
    """
    risk = 0.2 * shape.sessions + 0.05 * max(shape.parameters - 1, 0)
    if _COPIES.search(target):
        risk += 0.2
    return min(risk, MOST_DUPLICATE)


def _trap(target: str, shape: Shape, depth: int, now: datetime | None) -> float:
    """The risk that it leads to ever more of its kind: repeated and many segments, high page numbers, days to come,
    depth.

    Of a page and its copy in another folder, the one nearer to the root goes first: then the copy brings nothing new.
    """
    risk = (
        0.01 * (min(depth, 20) + min(shape.depth, 6)) + 0.3 * max(shape.repeats - 1, 0) + 0.05 * max(shape.depth - 6, 0)
    )
    if shape.parameters or "/page/" in target:
        found = _PAGED.search(target)
        if found and int(found[1]) > PAGE_FROM:
            risk += min(0.01 * (int(found[1]) - PAGE_FROM), 0.3)
    if now is not None and (shape.dates or "20" in target):
        dated = _DATED.search(target)
        if dated and (int(dated[1]) - now.year) * 12 + int(dated[2]) - now.month > 1:
            risk += 0.3
    return min(risk, MOST_TRAP)


class Precedence(IntEnum):
    """The order of URLs that were picked, the last first.

    RISKY   its form is a risk
    LIST    its like had hardly any new text of their own: they name pages at best, which may be known by then
    OPEN    nothing is known yet, or some of its like had new text
    PROVEN  most of them had
    """

    RISKY = 0
    LIST = 1
    OPEN = 2
    PROVEN = 3


def learned(parts: Parts, own: float | None) -> Parts:
    """The parts of a link by the share of its shape's pages with new text of their own; None: there were too few."""
    if own is None:
        return parts
    base, anchor, fresh, duplicate, trap, page = parts
    base = min(max(base + LEARNED * (own - 0.5), 0.0), 1.0)
    return Parts(base, anchor, fresh, 0.0 if own >= PROVEN else duplicate, trap, page)


def precedence(parts: Parts, own: float | None) -> Precedence:
    """The rank of a URL that was picked.   own: as in `learned`, by now, not when it was found"""
    if own is not None and own >= PROVEN and parts.trap < RISKY:
        return Precedence.PROVEN
    if parts.risk >= RISKY:
        return Precedence.RISKY
    return Precedence.LIST if own is not None and own < LISTS else Precedence.OPEN
