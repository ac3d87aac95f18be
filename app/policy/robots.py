"""Reads a site's robots.txt for us (RFC 9309): may we fetch this, how slowly, where are the sitemaps.

It decides nothing about time and transport: the caller fetches, follows five redirects or more, stores and caps.

Protego (Scrapy's parser) reads the delays here and is the oracle of the tests; reading groups and
matching are ours (`robots_text`, `robots_match`). Protego 0.7.0 behind a normaliser that hands it one clean
group was not enough. It took 200 ms a decision for 500 KiB of `Allow:*axyz` (ours stops at
30 ms; ordinary files: 4–10 µs, ours 3–5 µs); it takes `%FC` and `%FD` for the same octet, `/foo$` for
forbidding `/foo$bar`, `Allow: /d/index.html` for allowing `/d/`; and as it does not name the line that
decided, explanations would have needed a second matcher beside it, which might disagree.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, time
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, assert_never

from protego import Protego

from app.errors import InputError
from app.model import Reply, Url
from app.policy.moment import Hours
from app.policy.robots_match import MAX_STEPS, TOO_COSTLY, Rule, Ruleset, Work, normal
from app.policy.robots_text import MAX_BYTES, Group, Text, read

__all__ = [
    "ALLOW_ALL",
    "DISALLOW_ALL",
    "MAX_BYTES",
    "MAX_STEPS",
    "Availability",
    "Decision",
    "InForce",
    "Patience",
    "Robots",
    "RobotsVerdict",
    "Standing",
    "Work",
    "availability",
    "fresh_for_s",
    "in_force",
    "in_force_rules",
    "parse",
]

_OWN_PATH: Final = "/robots.txt"
FRESH_S: Final = 12 * 3600.0  # ours: half of the 24 h that RFC 9309 section 2.4 gives
FRESH_AT_LEAST_S: Final = 300.0
# Protego reads bare numbers.
_IN_WORDS: Final = re.compile(r"([0-9]{1,9}(?:[.,][0-9]{1,9})?)\s*(?:s|secs?|seconds?)?", re.IGNORECASE)
_STEPS_PER_ESCAPE: Final = 30  # as robots_match counts them, for an octet of a target that has some
_ZONE: Final = re.compile(r"\s*(UTC?|GMT|Z)$", re.IGNORECASE)


class Decision(NamedTuple):
    """May we fetch it, and which line decided.

    group   token of the group that was asked: ours in lower case, "*", or None when there is no group for us
    rule    the line that decided, as "Disallow: /private/"; None when no line matches or none was needed
    line    1-based number of that line in the file
    is_too_costly  nobody knows: the file's patterns are too much work for this URL, and it is not fetched
    """

    allowed: bool
    group: str | None
    rule: str | None
    line: int | None
    is_too_costly: bool = False


class RobotsVerdict(StrEnum):
    """The answer of robots.txt about a URL, within a budget of work."""

    ALLOWED = "allowed"
    DISALLOWED = "disallowed"
    TOO_COSTLY = "too costly"  # to judge now, or at all: no line was found that decides


class Robots:
    """A robots.txt as it applies to one product token. Immutable and cheap to keep: it holds our group only.

    crawl_delay_s    seconds between requests, the slowest that our group asks for; not capped
    crawl_delay_raw  the value that gave crawl_delay_s, as written; an unreadable one when none is readable
    visit_time       hours in which the site wishes to be visited, the fewest that a line of our group asks for
    sitemaps         values of all Sitemap lines in the file, in order, each once, at most 1,000
    host             the main mirror that the file names; kept for a person to see, and decides nothing
    """

    __slots__ = (
        "__weakref__",
        "_group",
        "_rules",
        "crawl_delay_raw",
        "crawl_delay_s",
        "host",
        "sitemaps",
        "visit_time",
    )

    def __init__(self, text: Text) -> None:
        self._group = text.name
        self._rules = Ruleset(text.group.rules)
        self.crawl_delay_s, self.crawl_delay_raw = _slowest(text.group.hints)
        self.visit_time = _visit_time(text.group.hints)
        self.sitemaps = text.sitemaps
        self.host = text.host

    def allowed(self, target: str) -> bool:
        """`target` is path and query as sent, from "/" on. Microseconds; bounded for hostile files."""
        if target.startswith(_OWN_PATH) and _is_robots_txt(target):
            return True
        rule = self._rules.find(_octets(target))[0]
        return rule is None or rule.allow

    def permits(self, url: Url) -> bool:
        """Whether the sent and the linked form are both allowed: a site may forbid a parameter that we do not send."""
        return self.allowed(url.target) and (url.linked is None or self.allowed(url.linked))

    def verdict(self, url: Url, work: Work) -> RobotsVerdict:
        """The answer of `permits` for one of many URLs, which share a budget. Its steps are taken off `work`."""
        verdict = self.verdict_of(url.target, work)
        return (
            verdict if url.linked is None or verdict is not RobotsVerdict.ALLOWED else self.verdict_of(url.linked, work)
        )

    def verdict_of(self, target: str, work: Work) -> RobotsVerdict:
        """The answer of `allowed` for one of many targets, which share a budget."""
        if target.startswith(_OWN_PATH) and _is_robots_txt(target):
            return RobotsVerdict.ALLOWED
        if work.left <= 0:
            return RobotsVerdict.TOO_COSTLY
        rule, steps = self._rules.find(_octets(target), min(work.left, MAX_STEPS))
        work.left -= steps + (_STEPS_PER_ESCAPE * len(target) if "%" in target else 0)
        if rule is TOO_COSTLY:
            return RobotsVerdict.TOO_COSTLY
        return RobotsVerdict.ALLOWED if rule is None or rule.allow else RobotsVerdict.DISALLOWED

    def judge(self, url: Url, most: int = MAX_STEPS) -> Decision:
        """The answer of `permits`, with its reason.   most: steps for each form; past them it is too costly"""
        decision = self.decide(url.target, most)
        return decision if url.linked is None or not decision.allowed else self.decide(url.linked, most)

    def decide(self, target: str, most: int = MAX_STEPS) -> Decision:
        """The answer of `allowed`, with its reason."""
        if _is_robots_txt(target):
            return Decision(allowed=True, group=None, rule=None, line=None)
        rule = self._rules.find(_octets(target), most)[0]
        if rule is None:
            return Decision(allowed=True, group=self._group, rule=None, line=None)
        if rule is TOO_COSTLY:
            return Decision(allowed=False, group=self._group, rule=None, line=None, is_too_costly=True)
        return Decision(allowed=rule.allow, group=self._group, rule=str(rule), line=rule.line)


def parse(body: bytes, token: str) -> Robots:
    """Parse a body. Never raises. It reads MAX_BYTES: fetch one more, so that a cut line is known as cut."""
    return Robots(read(body, token))


class Availability(StrEnum):
    """The meaning of the answer to a request for robots.txt: RFC 9309 section 2.3.1."""

    AVAILABLE = "available"  # parse the body
    UNAVAILABLE = "unavailable"  # there are no rules: ALLOW_ALL
    UNREACHABLE = "unreachable"  # nobody knows: DISALLOW_ALL, or the last good copy for a while (promise R3)


def availability(reply: Reply) -> Availability:
    """Classify a final answer.

    The caller has followed 3xx, at least five hops (one given up on counts as 404 here), and handled the 304 that it
    asked for.

    429 is 4xx, so "unavailable" by the letter. Google and we read it as "not now".
    """
    if reply.status is None or reply.is_part or not reply.is_told:
        return Availability.UNREACHABLE
    if 200 <= reply.status < 300:
        return Availability.AVAILABLE
    if 300 <= reply.status < 500 and reply.status != 429:
        return Availability.UNAVAILABLE
    return Availability.UNREACHABLE


class InForce(StrEnum):
    """The rules that decide about an origin's pages. RFC 9309 section 2.3.1."""

    RULES = "rules"  # the file as it was last read
    COPY = "copy"  # the file cannot be had: its last good copy
    ALLOW_ALL = "allow_all"
    DISALLOW_ALL = "disallow_all"


class Patience(Protocol):
    """Limits from the settings: how long an unreachable robots.txt closes its origin, and how long its last good copy
    decides."""

    @property
    def robots_disallow_s(self) -> float: ...

    @property
    def robots_copy_s(self) -> float: ...


class Standing(NamedTuple):
    """The state of an origin's robots.txt at a moment.

    availability       of the last attempt: an Availability
    unreachable_for_s  since the first failure after the last success; None when it can be had
    has_copy           a file was read before that; a 404 is no copy, as nobody knows whether "allow all" still holds
    answers            the last attempt got an HTTP status: the host is up, only its robots.txt is not
    """

    availability: str
    unreachable_for_s: float | None
    has_copy: bool
    answers: bool


def in_force(standing: Standing, patience: Patience) -> InForce:
    """The phase that an origin is in (promise R3; RFC 9309 section 2.3.1.4 gives 30 days as its example)."""
    if standing.availability == Availability.AVAILABLE:
        return InForce.RULES
    if standing.availability == Availability.UNAVAILABLE:
        return InForce.ALLOW_ALL
    away_s = standing.unreachable_for_s
    if away_s is None or away_s < patience.robots_disallow_s:
        return InForce.DISALLOW_ALL
    if away_s < patience.robots_copy_s:
        return InForce.COPY if standing.has_copy else InForce.DISALLOW_ALL
    return InForce.ALLOW_ALL if standing.answers else InForce.DISALLOW_ALL


def in_force_rules(standing: Standing, patience: Patience, copy: Callable[[], Robots]) -> tuple[InForce, Robots]:
    """The rules in force, and why. Admission, gate, commands and audit all use this reading.

    copy: parses the file, or its last good copy; called only where the result decides.
    """
    phase = in_force(standing, patience)
    match phase:
        case InForce.RULES | InForce.COPY:
            return phase, copy()
        case InForce.ALLOW_ALL:
            return phase, ALLOW_ALL
        case InForce.DISALLOW_ALL:
            return phase, DISALLOW_ALL
        case _:
            assert_never(phase)


def fresh_for_s(cache_control: str | None) -> float:
    """Seconds until a copy is revalidated: 12 h, or less (never below 5 min) where Cache-Control says so."""
    seconds = FRESH_S
    for directive in (cache_control or "").lower().split(","):
        name, _, value = directive.strip().partition("=")
        if name in ("no-cache", "no-store"):
            seconds = 0.0
        elif name == "max-age":
            seconds = min(seconds, _max_age_s(value.strip(' "')))
    return max(seconds, FRESH_AT_LEAST_S)


def _max_age_s(digits: str) -> float:
    """Seconds by max-age. Invalid freshness information counts as stale (RFC 9111 section 4.2.1)."""
    return float(digits) if digits.isascii() and digits.isdigit() else 0.0


def _is_robots_txt(target: str) -> bool:
    """Whether the target is robots.txt itself, which is "implicitly allowed" (RFC 9309 section 2.2.2)."""
    return target.partition("?")[0] == _OWN_PATH


def _octets(target: str) -> bytes:
    return normal(target.encode("utf-8", "surrogatepass"))


def _slowest(hints: list[tuple[str, str]]) -> tuple[float | None, str | None]:
    """(seconds, raw value) of the slowest line. None for a value that is no delay: words, negative, infinite."""
    asked = [(_delay_s(name, value), value) for name, value in hints if name != "visit-time"]
    readable = [(seconds, value) for seconds, value in asked if seconds is not None]
    if readable:
        return max(readable, key=lambda each: each[0])
    return None, asked[0][1] if asked else None


def _delay_s(name: str, value: str) -> float | None:
    """`Crawl-delay: 0.5`, `0,5` and `0.5 s` are 0.5 s. `Request-rate: 1/10`, a page in ten, is 10 s at any hour."""
    if name == "crawl-delay" and (written := _IN_WORDS.fullmatch(value)):
        return float(written[1].replace(",", "."))
    read_by = Protego.parse(f"User-agent: *\n{name}: {value}")
    if name == "crawl-delay":
        return read_by.crawl_delay("*")
    rate = read_by.request_rate("*")
    return rate.seconds / rate.requests if rate else None


def _visit_time(hints: list[tuple[str, str]]) -> Hours | None:
    """The shortest window.

    Several lines may mean any of them; the shortest is right in every reading but their overlap.
    """
    windows = [window for name, value in hints if name == "visit-time" and (window := _window(value))]
    return min(windows, key=lambda each: each.until_end_s(_at(each.start)), default=None)


def _at(moment: time) -> datetime:
    return datetime.combine(datetime.min, moment, tzinfo=UTC)


def _window(value: str) -> Hours | None:
    """A window such as `0600-0845` or `0600 0845`, always UTC; `2400` is midnight.

    None for a value that is no window.
    """
    text = _ZONE.sub("", value).replace("2400", "0000").replace("24:00", "00:00")
    try:
        return Hours.parse(text if "-" in text else text.replace(" ", "-", 1))
    except InputError:
        return None


# Robots without a file: no line decides.
ALLOW_ALL: Final = Robots(Text(name=None, group=Group(), sitemaps=()))
DISALLOW_ALL: Final = Robots(
    Text(name=None, group=Group(rules=[Rule(allow=False, pattern=b"/", line=None)]), sitemaps=())
)
