"""Reads a site's statements for or against text and data mining (promise R9).

They are always recorded; a crawl chooses to obey.

Sources:
- AIPREF, draft-ietf-aipref-attach and -vocab: `Content-Usage: train-ai=n`, a dictionary (RFC 9651 section 3.2), as a
  header and as a rule in groups of robots.txt, there with a path in front or without. The labels of earlier drafts
  (ai, genai, tdm, bots …) are in use and read.
- Cloudflare, contentsignals.org: `Content-Signal: search=yes, ai-train=no`, in the same two places. Since July 2026
  `use` is the most that may become of the content: `immediate` (nothing is kept), `reference` (index, excerpt, link
  back), `full`. Below `full` a site wants neither mining nor training.
- RSL 1.0: where the licence of a page stands is a statement, too. It is read by whoever fetches it.
- W3C community group, TDMRep of 10 May 2024: `tdm-reservation: 1` (0 is "not reserved", anything else is no statement)
  and `tdm-policy: <URL>` as headers, as <meta>, and by path in /.well-known/tdmrep.json.
- noai and noimageai among the directives for robots: DeviantArt, 2022.

An opt-out spelt a little wrong is an opt-out: case and white space do not matter, "no" is as good as "n". Statements of
several sources are not weighed against each other: one reservation is enough, as AIPREF has it (vocab, "Combining
Preferences"), although TDMRep would let a page's <meta> lift what the site's file reserves.

Reads robots.txt's lines about text and data mining: Content-Usage and Content-Signal of our group, License of all.

RSL 1.0 ties `License` to no user agent: wherever the line stands, it is for everybody.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from app.model import Header
from app.policy import header_fields
from app.policy.robots_match import MAX_STEPS, TOO_COSTLY, Rule, Ruleset, normal
from app.policy.robots_text import FIELDS, STAR, cut, field_of, token_of, unmarked

MAX_BYTES: Final = 500 * 1024  # of a tdmrep.json; robots.txt is cut as `robots_text` cuts it
MAX_SIGNALS: Final = 20  # of one source; real ones have one to four
MAX_RULES: Final = 1_000  # of one file
MAX_VALUE_CHARS: Final = 200
MAX_TEXT_CHARS: Final = 500
MAX_PATTERN_BYTES: Final = 2_000

_RESERVATION, _POLICY = Header.TDM_RESERVATION.value, Header.TDM_POLICY.value  # <meta> and JSON: the same words
USAGE, SIGNAL = "Content-Usage", "Content-Signal"
LICENCE: Final = "license"  # the value is the URL of a licence file
USE: Final = "use"
_NO: Final = frozenset({"n", "no", "?0"})
_BELOW_FULL: Final = frozenset({"immediate", "reference"})
# Uses that are mining or training. Not search; nor ai-use, ai-input, ai-output, which are about answers and not models.
# bots and all (vocab-00 to -03) are "automated processing", of which the others are parts.
_MINING: Final = frozenset(
    {_RESERVATION, USE, "noai", "tdm", "train-ai", "ai", "ai-train", "train-genai", "genai", "bots", "all"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A statement about one use.

    source    where it was said: "Content-Usage header", "robots.txt Content-Signal", "TDMRep meta" …
    name      the use, in lower case: "train-ai", "search", "tdm-reservation", "noai" …; at most 40 characters
    reserved  the site does not want this use
    value     as written, on one line, at most MAX_VALUE_CHARS; "" when there is none
    """

    source: str
    name: str
    reserved: bool
    value: str


def of_reply(headers: Mapping[str, str]) -> tuple[Signal, ...]:
    """The signals of a reply's headers (lower-case names)."""
    return (
        *of_preferences(headers.get(Header.CONTENT_USAGE, ""), f"{USAGE} header"),
        *of_preferences(headers.get(Header.CONTENT_SIGNAL, ""), f"{SIGNAL} header"),
        *_tdmrep(headers, "TDMRep header"),
        *of_licences(header_fields.licences(headers.get(Header.LINK, "")), "Link header"),
    )


def of_meta(meta: Mapping[str, str]) -> tuple[Signal, ...]:
    """The signals of a page's <meta> elements: lower-case name to content; and of its <link rel=license>."""
    return _tdmrep(meta, "TDMRep meta") + of_licences(meta.get(LICENCE, "").split(), "link element")


def of_licences(urls: Iterable[str], source: str) -> tuple[Signal, ...]:
    """Where licence files stand, as written. It reserves nothing by itself."""
    found = [url for url in dict.fromkeys(urls) if url.isprintable() and len(url) <= 400]
    return tuple(Signal(source=source, name=LICENCE, reserved=False, value=url) for url in found[:3])  # of one source


def of_directives(no_ai: bool) -> tuple[Signal, ...]:
    """The signals among the directives that `directives` read from X-Robots-Tag and <meta name=robots>."""
    return (Signal(source="robots directives", name="noai", reserved=True, value=""),) if no_ai else ()


def is_tdmrep(body: bytes) -> bool:
    """Whether the file holds a readable rule."""
    return bool(_tdmrep_rules(body))


def of_tdmrep(body: bytes, target: str) -> tuple[Signal, ...]:
    """The signals of a /.well-known/tdmrep.json for path and query `target`: the first rule that matches. () for any
    other file.

    A file that is too much work counts as a match where the work ended.
    """
    octets = normal(target.encode("utf-8", "surrogatepass"))
    spent = 0
    for location, signals in _tdmrep_rules(body):
        match, steps = location.find(octets)
        spent += steps
        if match or spent > MAX_STEPS:
            return signals
    return ()


def reserved(signals: Iterable[Signal]) -> bool:
    """Whether any signal is against mining or the training of AI. One against search is not."""
    return any(signal.reserved and signal.name in _MINING for signal in signals)


def was_reserved(line: str | None) -> bool:
    """`reserved` for a line that `text` wrote, in which a reservation comes first."""
    first = _FIRST.match(line or "")
    if first is None or first[1] not in _MINING:
        return False
    value = first[2]
    if value is None:
        return True
    return "1" in _members(value) if first[1] == _RESERVATION else is_no(first[1], value)


def is_no(name: str, value: str) -> bool:
    """Whether a value of a dictionary is against the use that it stands at."""
    return value.lower() in (_BELOW_FULL if name == USE else _NO)


def text(signals: Iterable[Signal]) -> str | None:
    """One line for the record, such as "tdm-reservation=1 (TDMRep header); noai (robots directives)". None for none.

    At most MAX_TEXT_CHARS: in a longer line the reservations come first and no signal is cut in two.
    """
    line = ""
    for signal in dict.fromkeys(sorted(signals, key=lambda signal: not (signal.reserved and signal.name in _MINING))):
        value = f"={signal.value}" if signal.value else ""
        longer = f"{line}{'; ' if line else ''}{signal.name}{value} ({signal.source})"
        if len(longer) <= MAX_TEXT_CHARS:
            line = longer
    return line or None


_FIRST: Final = re.compile(r"([^ =]+)(?:=(.*?))? \([^()]+\)(?:; |$)")  # name, value of `text`: brackets, too

# --- dictionaries -----------------------------------------------------------------------------------------------

_QUOTED: Final = re.compile(r'"[^"]*"')
# Of a member, which `_clean` cut to 200 characters; there are several where a comma was forgotten.
_PAIR: Final = re.compile(r"([A-Za-z*][A-Za-z0-9_.*-]*) ?= ?([^ =]+)")


def of_preferences(written: str, source: str) -> tuple[Signal, ...]:
    """The signals of a dictionary such as `train-ai=n, search=y;p=1`.

    The last value of a repeated key holds (RFC 9651 section 4.2.2). Strings and parameters mean nothing, and a key
    alone is "true", which is no statement."""
    said: dict[str, Signal] = {}
    for member in _QUOTED.sub("", written).split(","):
        plain = _clean(member.partition(";")[0])
        said.pop(plain.rstrip(" =").lower(), None)
        for key, value in _PAIR.findall(plain):
            name = key.lower()[:40]
            if name in said or len(said) < MAX_SIGNALS:
                said[name] = Signal(source=source, name=name, reserved=is_no(name, value), value=value)
    return tuple(said.values())


def _clean(written: str) -> str:
    """The text on one line, bounded, without characters that a database does not take."""
    return "".join(filter(str.isprintable, " ".join(written.split())))[:MAX_VALUE_CHARS].strip()


# --- TDMRep -----------------------------------------------------------------------------------------------------


def _tdmrep(fields: Mapping[str, str], source: str) -> tuple[Signal, ...]:
    """The signals of one TDMRep statement. tdm-policy is no reservation; it names whom to ask."""
    return tuple(
        Signal(source=source, name=name, reserved=name == _RESERVATION and "1" in _members(value), value=value)
        for name in (_RESERVATION, _POLICY)
        if (value := _clean(fields.get(name, "")))
    )


def _members(value: str) -> set[str]:
    """The values of a repeated header."""
    return {member.strip(' "') for member in value.split(",")}


_AUTHORITY: Final = re.compile(r"^https?://[^/*]*/?", re.IGNORECASE)


@lru_cache(maxsize=16)
def _tdmrep_rules(body: bytes) -> tuple[tuple[Ruleset, tuple[Signal, ...]], ...]:
    """(location, statements) in the order of the file: an array of objects."""
    try:
        rules = _parsed(body) if len(body) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        return ()
    if not isinstance(rules, list):
        return ()
    return tuple(found for rule in rules[:MAX_RULES] if isinstance(rule, dict) and (found := _rule(rule)))


def _rule(written: Mapping[str, object]) -> tuple[Ruleset, tuple[Signal, ...]] | None:
    """Where, and what is stated; names in any case. None without a location."""
    rule = {name.strip().lower(): value for name, value in written.items()}
    signals = _tdmrep(_written(rule), "tdmrep.json")
    location = _location(rule.get("location"), reserves=reserved(signals))
    return None if location is None else (Ruleset([Rule(allow=False, pattern=location, line=None)]), signals)


def _parsed(body: bytes) -> object:
    """The document. One octet that is no UTF-8 undoes none of it, as in a browser (Encoding, "UTF-8 decode")."""
    try:
        return json.loads(body)
    except UnicodeDecodeError:
        return json.loads(body.decode("utf-8", "replace"))


def _location(written: object, *, reserves: bool) -> bytes | None:
    """A pattern as in robots.txt, which TDMRep section "Use of regular expressions" refers to; None for none.

    A whole URL does not belong there. One that reserves counts by its path."""
    text = written.strip() if isinstance(written, str) else ""
    pattern = (_AUTHORITY.sub("/", text) if reserves else text).encode("utf-8", "surrogatepass")
    if not pattern or len(pattern) > MAX_PATTERN_BYTES:
        return None
    return pattern if pattern.startswith((b"/", b"*")) else b"/" + pattern


def _written(rule: Mapping[str, object]) -> dict[str, str]:
    """TDMRep's values as text: 1 and "1" are alike.

    Values that are neither a number nor a string are left out; True is no 1, and 1.0 is one.
    """
    return {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in rule.items()
        if name in (_RESERVATION, _POLICY) and isinstance(value, str | int | float) and not isinstance(value, bool)
    }


# --- robots.txt -------------------------------------------------------------------------------------------------


class RobotsSignals:
    """The signals in our group of a robots.txt, or in that for "*" if no group names us. Immutable.

    For each field the line with the longest matching path holds, and all lines with this path; a line without a path
    has length 0. Lines before the first User-agent are in no group and are not read, like rules there. Reading takes 50
    µs for an ordinary file, 20 ms for 500 KiB.
    """

    __slots__ = ("_fields", "licences")

    def __init__(self, body: bytes, token: str) -> None:
        self._fields = _robots_lines(body, token)
        self.licences = _licences(body)

    @property
    def is_silent(self) -> bool:
        return not self._fields and not self.licences

    def of(self, target: str) -> tuple[Signal, ...]:
        """The signals for path and query `target`; 1 to 5 µs."""
        if not self._fields:
            return self.licences
        octets = normal(target.encode("utf-8", "surrogatepass"))
        return (*(signal for lines in self._fields for signal in lines.of(octets)), *self.licences)


_OURS: Final = frozenset({b"content-usage", b"content-signal"})
_AGENT: Final = b"user-agent"
_BORDERS: Final = frozenset({_AGENT, b"allow", b"disallow"})  # of groups


class _Lines:
    """The lines of one field (Content-Usage or Content-Signal) in our group, by path as written."""

    def __init__(self, field: str, written: Iterable[tuple[bytes, str]]) -> None:
        self._by_path: dict[bytes, tuple[Signal, ...]] = {}
        for path, preferences in written:
            signals = self._by_path.get(path, ()) + of_preferences(preferences, f"robots.txt {field}")
            self._by_path[path] = signals[:MAX_SIGNALS]
        self._rules = Ruleset(Rule(allow=False, pattern=path, line=None) for path in self._by_path if path)

    def of(self, target: bytes) -> tuple[Signal, ...]:
        rule = self._rules.find(target)[0]
        if rule is TOO_COSTLY:  # the path is unknown: anything reserved anywhere is reserved
            every = (signal for signals in self._by_path.values() for signal in signals if signal.reserved)
            return tuple(islice(every, MAX_SIGNALS))
        return self._by_path.get(rule.pattern if rule else b"", ())


def _robots_lines(body: bytes, token: str) -> tuple[_Lines, ...]:
    """The lines for each field that we read. Most files hold none, which costs one scan."""
    octets = unmarked(cut(body))
    if b"content-" not in octets.lower():
        return ()
    ours = token_of(token.encode("utf-8", "replace")).lower()
    groups = _groups(octets, {ours, STAR} - {""})
    lines = next((groups[name] for name in (ours, STAR) if name in groups), [])
    return tuple(
        _Lines(field, (_path_and_rest(value) for name, value in lines if name == field.lower().encode()))
        for field in (USAGE, SIGNAL)
    )


def _licences(body: bytes) -> tuple[Signal, ...]:
    """Where `License` lines say that the site's licence stands."""
    octets = unmarked(cut(body))
    if b"icense" not in octets.lower():
        return ()
    values = (value for name, value in map(field_of, octets.splitlines()) if name == b"license")
    return of_licences((value.decode("utf-8", "replace") for value in values if value), "robots.txt License")


def _groups(octets: bytes, wanted: set[str]) -> dict[str, list[tuple[bytes, bytes]]]:
    """(field, value) of our lines, by the wanted tokens that the file names.

    A User-agent line after a rule, or after one of our lines (which AIPREF calls rules), begins a new group, as in
    `robots_text`; sitemaps and the like do not."""
    groups: dict[str, list[tuple[bytes, bytes]]] = {}
    current: set[str] = set()
    began = False
    for name, value in _fields(octets):
        if name == _AGENT:
            current, began = (set() if began else current), False
            if (token := token_of(value).lower()) in wanted:
                current.add(token)
                groups.setdefault(token, [])
            continue
        began = True
        for token in current if name in _OURS else ():
            if len(groups[token]) < MAX_RULES:
                groups[token].append((name, value))
    return groups


def _fields(octets: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(field, value) of User-agent, Allow, Disallow and our lines, as `robots_text` reads lines."""
    for line in octets.splitlines():
        name, value = field_of(line)
        known = name if name in _OURS else FIELDS.get(name)
        if known in _OURS or known in _BORDERS:
            yield known, value


def _path_and_rest(value: bytes) -> tuple[bytes, str]:
    """Split `/private/ train-ai=n` into path and rest.

    The path is b"" without a leading "/"; a long value is ignored.
    """
    path, rest = b"", value
    if value.startswith(b"/"):
        path, rest = [*value.split(maxsplit=1), b""][:2]
    return (path, rest.decode("utf-8", "replace")) if len(path) <= MAX_PATTERN_BYTES else (b"", "")


NO_SIGNALS: Final = RobotsSignals(b"", "")
