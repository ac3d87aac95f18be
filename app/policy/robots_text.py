"""Reads robots.txt as received into the group of one product token: RFC 9309 section 2.2.

Lines end in LF, CR or CRLF and may hold anything. An unknown line is ignored: it closes no group (section 2.2.4:
other records do not interfere). Misspellings that Google's parser reads are read too: the alternative is to fetch
what a site meant to forbid. Groups of one token are merged.

A line is read to its first NUL, as Google reads it; NULs before its first word, and white space of Unicode and byte
order marks at the ends of field and value, are no part of them, though Google takes them for such: an author cannot
see them. UTF-16 is read without a mark, too, if the file begins as ASCII does.

A slow-down line (`Crawl-delay` …) is such an "other record": in "agent a, Crawl-delay, agent b, Disallow" the
Disallow is for a and b. The delay is for a alone, which is what authors mean by it.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from app.policy.robots_match import Rule

MAX_BYTES: Final = 500 * 1024  # RFC 9309 section 2.5: "at least 500 kibibytes"
MAX_SITEMAPS: Final = 1_000
MAX_HINTS: Final = 100  # per group: real files have one or two
STAR: Final = "*"

_AGENT, _ALLOW, _DISALLOW, _SITEMAP, _HOST = b"user-agent", b"allow", b"disallow", b"sitemap", b"host"
_HINTS: Final = (b"crawl-delay", b"request-rate", b"visit-time")
# github.com/google/robotstxt, robots.cc, ParsedRobotsKey: what is read although it is misspelt.
FIELDS: Final = {
    **{known: known for known in (_AGENT, _ALLOW, _DISALLOW, _SITEMAP, _HOST, *_HINTS)},
    **dict.fromkeys((b"useragent", b"user agent"), _AGENT),
    **dict.fromkeys((b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"), _DISALLOW),
    b"site-map": _SITEMAP,
}
# RFC 9309 section 2.2.1: "-", "_" and letters. Digits are taken too, so that "bot2" is not "bot".
_TOKEN: Final = re.compile(rb"\*(?!\S)|[A-Za-z_-][A-Za-z0-9_-]*")
# Octets of UTF-8 that nobody sees: no-break, zero-width and wide spaces, line separators, byte order marks.
_UNSEEN: Final = re.compile(
    rb"(?:\s|\xc2?\xa0|\xe2\x80[\x80-\x8d\xa8\xa9\xaf]|\xe2\x81[\x9f\xa0]|\xe3\x80\x80|\xef\xbb\xbf)+"
)
_UNSEEN_REVERSED: Final = re.compile(
    rb"(?:\s|\xa0\xc2|[\x80-\x8d\xa8\xa9\xaf]\x80\xe2|[\x9f\xa0]\x81\xe2|\x80\x80\xe3|\xbf\xbb\xef)+"
)


@dataclass(slots=True)
class Group:
    """The part of a file for one token: rules in file order; hints as (field, value), folded and cut to
    MAX_HINT_CHARS."""

    rules: list[Rule] = field(default_factory=list)
    hints: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A file as it applies to us.

    name      our product token if a group names it, else "*" if there is a group for all, else None
    group     that group, empty when name is None
    sitemaps  values of all Sitemap lines, wherever they stand, in order, each once, at most MAX_SITEMAPS
    host      value of the first Host line, wherever it stands: the site's main mirror, once read by Yandex. It decides
              nothing
    """

    name: str | None
    group: Group
    sitemaps: tuple[str, ...]
    host: str | None = None


def token_of(agent: bytes) -> str:
    """The product token that a User-agent value starts with ("foo" of "foo/1.2"), "*", or "" for none."""
    match = _TOKEN.match(agent)
    return match[0].decode("ascii") if match else ""


def read(body: bytes, token: str) -> Text:
    """Read a file of any bytes. Never raises."""
    own = token_of(token.encode("utf-8", "replace")).lower()
    reader = _Reader({own, STAR} - {""})
    for number, name, value in _lines(body):
        if name == _AGENT:
            reader.agent(token_of(value).lower())
        elif name == _SITEMAP:
            reader.sitemap(_text(value))
        elif name == _HOST:
            reader.host = reader.host or _text(value)[:300]  # a name has 253 at most; some write a URL
        elif name in _HINTS:
            reader.hint(name.decode("ascii"), _text(value))
        else:
            reader.rule(Rule(allow=name == _ALLOW, pattern=value, line=number))
    name_of_group = next((name for name in (own, STAR) if name in reader.named), None)
    return Text(
        name=name_of_group,
        group=reader.groups[name_of_group] if name_of_group else Group(),
        sitemaps=tuple(reader.sitemaps),
        host=reader.host or None,
    )


class _Reader:
    """The position in the file: the wanted groups that the next rule and the next hint belong to."""

    def __init__(self, wanted: set[str]) -> None:
        self.groups = {name: Group() for name in wanted}
        self.named: set[str] = set()
        self.sitemaps: dict[str, None] = {}
        self.host = ""
        self._rules_for: set[str] = set()
        self._hints_for: set[str] = set()
        self._rules_began = self._hints_began = False

    def agent(self, name: str) -> None:
        if self._rules_began:
            self._rules_for, self._rules_began = set(), False
        if self._hints_began:
            self._hints_for, self._hints_began = set(), False
        if name in self.groups:
            self.named.add(name)
            self._rules_for.add(name)
            self._hints_for.add(name)

    def rule(self, rule: Rule) -> None:
        self._rules_began = self._hints_began = True
        if rule.pattern:  # an empty pattern matches nothing, yet it is a rule and closes the list of agents
            for name in self._rules_for:
                self.groups[name].rules.append(rule)

    def hint(self, field_name: str, value: str) -> None:
        self._hints_began = True
        for name in self._hints_for:
            if len(self.groups[name].hints) < MAX_HINTS:
                self.groups[name].hints.append((field_name, value[:100]))

    def sitemap(self, value: str) -> None:
        if value and len(self.sitemaps) < MAX_SITEMAPS:
            self.sitemaps[value] = None


def _lines(body: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """(1-based line number, one of the known fields, value) of each line that we read."""
    for number, line in enumerate(unmarked(cut(body)).splitlines(), start=1):
        name, value = field_of(line)
        known = FIELDS.get(name)
        if known:
            yield number, known, value


def field_of(line: bytes) -> tuple[bytes, bytes]:
    """(field in lower case, value) of a line; empty where it has none."""
    content = _trimmed(line.lstrip(b"\0 \t\v\f").partition(b"\0")[0].partition(b"#")[0])
    name, colon, value = content.partition(b":")
    if not colon:  # "Disallow /x": read with exactly two words, as Google does
        words = content.split()
        if len(words) != 2:
            return b"", b""
        name, value = words
    return _trimmed(name).lower(), _trimmed(value)


def _trimmed(octets: bytes) -> bytes:
    """Octets without what nobody sees at their ends. Linear: what is at the end is matched backwards."""
    octets = octets.strip()
    if octets.isascii():
        return octets
    if head := _UNSEEN.match(octets):
        octets = octets[head.end() :]
    if tail := _UNSEEN_REVERSED.match(octets[::-1]):
        octets = octets[: -tail.end()]
    return octets


def cut(body: bytes) -> bytes:
    """The first MAX_BYTES, less the line that the cut went through: half a pattern would match too much."""
    if len(body) <= MAX_BYTES:
        return body
    end = max(body.rfind(b"\n", 0, MAX_BYTES + 1), body.rfind(b"\r", 0, MAX_BYTES + 1))
    return body[: max(end, 0)]


def unmarked(body: bytes) -> bytes:
    """UTF-8 octets without the byte order mark. RFC 9309 demands UTF-8; UTF-16 is read too, with a mark or not."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace").encode("utf-8", "replace")
    for codec, zeros, letters in (("utf-16-le", body[1:8:2], body[0:8:2]), ("utf-16-be", body[0:8:2], body[1:8:2])):
        if len(zeros) == 4 and not any(zeros) and all(letters):  # four letters of ASCII: a word begins the file
            return body.decode(codec, "replace").encode("utf-8", "replace")
    return body.removeprefix(codecs.BOM_UTF8)


def _text(octets: bytes) -> str:
    return " ".join(octets.decode("utf-8", "replace").split())
