"""Reads an RSL licence file, and what it states about a URL.

Source: Really Simple Licensing (RSL) 1.0, a Recommendation of the RSL Technical Steering Committee (RSL-SPEC-1.0,
https://rslstandard.org/rsl). A document is known by its name space and not by its media type. `<content url>` is a
URL, or a path with the patterns of RFC 9309; the longest match speaks. `<permits>` and `<prohibits>` of the type
`usage` list uses; a licence without `<payment>` is free; an asset with a `server` needs a licence from it.

The reading is careful: what is prohibited by one of several licences is refused, and so are a use that is not among
those that are permitted, and one that costs anything. Attribution, and terms for some users or countries, are
conditions. Markup is read as a sitemap's is (`app.parse.sitemap.markup`): no entities, no DTD, no tree.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from app.errors import one_line
from app.features.rights.purpose import CONDITION, Purpose
from app.model import Url
from app.parse import charset
from app.parse.sitemap.markup import Feeder, plain
from app.policy.robots_match import TOO_COSTLY, Rule, Ruleset, Work, normal
from app.policy.tdm import Signal
from app.policy.url import MAX_LENGTH, Canon

NAMESPACE: Final = "rslstandard.org/rsl"
MAX_BYTES: Final = 500 * 1024  # as of a robots.txt
MOST_CONTENTS: Final = 1_000
MOST_TOKENS: Final = 50  # that a licence permits, and as many that it prohibits
MOST_LICENCES: Final = 20  # of a content
MOST_IN_ALL: Final = 2_000  # licences of a file: a path may have them all
MOST_STARS: Final = 10_000  # of all patterns: each is compiled for every visit
_MOST_TEXT: Final = 400
_MOST_NAMES_BYTES: Final = 32 * 1024  # libxml2 keeps each name for as long as the thread lives
_MOST_DEPTH: Final = 500
_PIECE_CHARS: Final = 32 * 1024
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_FREE: Final = frozenset({None, "free"})
_IN_RETURN: Final = frozenset({"attribution", "contribution"})  # no money
_GRANTS: Final = {
    "all": frozenset(Purpose),
    "ai-all": frozenset({Purpose.AI_INPUT, Purpose.AI_TRAIN}),
    "ai-train": frozenset({Purpose.AI_TRAIN}),
    "train-ai": frozenset({Purpose.AI_TRAIN}),
    "ai-input": frozenset({Purpose.AI_INPUT}),
    "ai-use": frozenset({Purpose.AI_INPUT}),
    "search": frozenset({Purpose.SEARCH}),
}
_BARS: Final = _GRANTS | {
    "train-genai": frozenset({Purpose.AI_TRAIN}),
    "genai": frozenset({Purpose.AI_INPUT, Purpose.AI_TRAIN}),
    "ai-index": frozenset({Purpose.AI_INPUT}),
    "ai-summarize": frozenset({Purpose.AI_INPUT}),
}


@dataclass(slots=True, kw_only=True)
class Licence:
    """A licence of a content.   permits: None: it lists none;   is_conditional: for some users or countries only"""

    permits: list[str] | None = None
    prohibits: list[str] = field(default_factory=list)
    payment: str | None = None
    is_conditional: bool = False


@dataclass(slots=True, kw_only=True)
class Content:
    """An asset, and the licences that there are for it.   url: as written; "": all;   server: to get a licence from"""

    url: str = ""
    server: str | None = None
    licences: list[Licence] = field(default_factory=list)


class RslReading(NamedTuple):
    """A file as it was read.   problem: a line for a person; contents: None: nobody knows what it says"""

    contents: Sequence[Content] | None
    problem: str | None = None


def read(body: bytes) -> RslReading:
    """Read a file. No bytes make it raise.

    A file that is too large, declares entities or ends early says nothing: the part that is missing may refuse.
    """
    if len(body) > MAX_BYTES:
        return RslReading(None, f"is larger than {MAX_BYTES >> 10} KiB")
    problems: list[str] = []
    text, _ = charset.decode(body, None)
    walk = _Walk()
    feeder = Feeder(walk)
    pieces = (text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS))
    for piece in plain(pieces, problems.append):
        feeder.push(piece)
        if walk.refusal or feeder.is_choked or problems:
            break
    problem = next(iter(problems), None) or (None if walk.is_rsl else "is no RSL document")
    problem = problem or walk.refusal or feeder.fault()
    if problem is None and not walk.is_whole:
        problem = "ends before its last element does"
    feeder.close()
    if problem is not None:
        return RslReading(None, one_line(problem))
    return RslReading(tuple(walk.contents))


def as_rows(contents: Sequence[Content]) -> list[dict[str, Any]]:
    return [asdict(each) for each in contents]


def of_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[Content, ...]:
    return tuple(
        Content(url=row["url"], server=row["server"], licences=[Licence(**each) for each in row["licences"]])
        for row in rows
    )


class LicenceTerms:
    """The contents of a file for one host, ready to be asked."""

    __slots__ = ("_by_pattern", "_file", "_rules", "_said")

    def __init__(self, contents: Sequence[Content], file: str, host: str) -> None:
        self._file = file
        self._by_pattern: dict[bytes, list[Content]] = {}
        self._said: dict[Rule | None, list[Signal]] = {}
        for each in contents:
            if (pattern := _pattern(each.url, host)) is not None:
                self._by_pattern.setdefault(pattern, []).append(each)
        self._rules = Ruleset(Rule(allow=False, pattern=pattern, line=None) for pattern in self._by_pattern)

    def of(self, url: Url, work: Work | None = None) -> list[Signal]:
        """The file's statements about a URL: one for each purpose that it speaks of.

        work: the steps that it takes are taken off it
        """
        rule, steps = self._rules.find(normal(url.target.encode("utf-8", "surrogatepass")))
        if work is not None:
            work.left -= steps
        if rule not in self._said:  # a path may have all licences of the file: they are read for its first page
            self._said[rule] = self._statements(rule)
        return list(self._said[rule])

    def _statements(self, rule: Rule | None) -> list[Signal]:
        if rule is TOO_COSTLY:  # the path is unknown: whatever is refused anywhere is refused
            found = [content for contents in self._by_pattern.values() for content in contents]
        else:
            found = self._by_pattern.get(rule.pattern, []) if rule is not None else []
        return [signal for purpose in Purpose if (signal := self._about(purpose, found)) is not None]

    def _about(self, purpose: Purpose, contents: Sequence[Content]) -> Signal | None:
        said = sorted((each for content in contents for each in _said(purpose, content)), key=lambda each: each[0])
        if not said:
            return None
        weight, why = said[0]
        value = ("no", CONDITION, "yes")[weight]
        return Signal(
            source=f"RSL {self._file}: {one_line(why)}", name=purpose.value, reserved=value == "no", value=value
        )


_NO, _IF, _YES = range(3)  # the most careful first


def _said(purpose: Purpose, content: Content) -> Iterator[tuple[int, str]]:
    """The word of each licence of a content about a purpose, by its weight."""
    if content.server:
        yield _NO, f"needs a licence from {content.server}"
    for licence in content.licences:
        if bar := next((each for each in licence.prohibits if purpose in _BARS.get(each, ())), None):
            yield _NO, f"prohibits {bar}"
            continue
        if licence.permits is None:
            if licence.payment not in _FREE | _IN_RETURN:
                yield _NO, f"asks for payment ({licence.payment})"
            continue
        grant = next((each for each in licence.permits if purpose in _GRANTS.get(each, ())), None)
        if grant is None:
            yield _NO, f"is not among what it permits: {' '.join(licence.permits)[:80]}"
        elif licence.payment not in _FREE | _IN_RETURN:
            yield _NO, f"permits {grant} for payment ({licence.payment})"
        elif licence.payment in _IN_RETURN or licence.is_conditional:
            yield _IF, f"permits {grant} on conditions" + (f" ({licence.payment})" if licence.payment else "")
        else:
            yield _YES, f"permits {grant}"


_CANON: Final = Canon(tracking=())


def _pattern(written: str, host: str) -> bytes | None:
    """The pattern of a content's URL among those of a host; None: it is of another one."""
    if "://" in written or written.startswith("//"):
        url = _CANON.canonicalise(f"https:{written}" if written.startswith("//") else written)
        if not isinstance(url, Url) or url.host != host:
            return None
        written = url.target
    octets = written.encode("utf-8", "surrogatepass")
    return octets if octets.startswith((b"/", b"*")) else b"/" + octets


class _Walk:
    """A parser target: keeps contents and their licences. Depth, names, texts and numbers are bounded."""

    def __init__(self) -> None:
        self.contents: list[Content] = []
        self.refusal: str | None = None
        self.is_rsl = False
        self.events = 0
        self._depth = 0
        self._names: set[str] = set()
        self._names_left = _MOST_NAMES_BYTES
        self._licences_left, self._stars_left = MOST_IN_ALL, MOST_STARS
        self._content: Content | None = None
        self._licence: Licence | None = None
        self._list: list[str] | None = None  # the tokens of <permits> or <prohibits>
        self._text: list[str] = []
        self._room = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.events += 1
        self._depth += 1
        for name in (tag, *attributes):
            self._learn(name)
        if self._depth > _MOST_DEPTH:
            self._refuse("has elements nested too deep")
        space, _, name = tag.rpartition("}")
        name = name.lower()
        if NAMESPACE in space or (not space and (name == "rsl" or self.is_rsl)):
            self.is_rsl = True
            self._begin(name, {key.rpartition("}")[2].lower(): value.strip() for key, value in attributes.items()})

    def data(self, text: str) -> None:
        self.events += 1
        if self._list is not None and self._room > 0:
            self._text.append(text[: self._room])
            self._room -= len(text)

    def end(self, tag: str) -> None:
        self.events += 1
        self._depth -= 1
        name = tag.rpartition("}")[2].lower()
        if name in {"permits", "prohibits"} and self._list is not None:
            self._list += [each.lower() for each in _SEPARATORS.split("".join(self._text)) if each]
            if self._room < 0 or len(self._list) > MOST_TOKENS:
                self._refuse("lists more uses than are read")
            self._list = None
        elif name == "license":
            self._licence = None
        elif name == "content":
            self._content = None

    @property
    def is_whole(self) -> bool:
        return self._depth == 0

    def close(self) -> None:
        """Nothing is left to be done at the file's end."""

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "content":
            url, server = attributes.get("url", "")[:MAX_LENGTH], attributes.get("server", "")[:_MOST_TEXT]
            self._content = Content(url=url, server=server or None)
            self._keep(self._content)
        elif name == "license":
            if self._content is None:  # of a feed, or of an item of one
                self._keep(content := Content())
            else:
                content = self._content
            self._licence = Licence()
            content.licences.append(self._licence)
            self._licences_left -= 1
            if len(content.licences) > MOST_LICENCES:
                self._refuse("has more licences of one content than are read")
            if self._licences_left < 0:
                self._refuse(f"has more than {MOST_IN_ALL:,} licences")
        elif self._licence is not None and name in {"permits", "prohibits"}:
            self._begin_list(name, attributes.get("type", "usage").lower(), self._licence)
        elif self._licence is not None and name == "payment":
            self._licence.payment = attributes.get("type", "").lower()[:40] or "payment"

    def _begin_list(self, name: str, type_: str, licence: Licence) -> None:
        if type_ != "usage":
            licence.is_conditional = True
            return
        if name == "permits":
            self._list = licence.permits = licence.permits or []
        else:
            self._list = licence.prohibits
        self._text, self._room = [], _MOST_TEXT

    def _keep(self, content: Content) -> None:
        self.contents.append(content)
        self._stars_left -= content.url.count("*")
        if len(self.contents) > MOST_CONTENTS:
            self._refuse(f"has more than {MOST_CONTENTS:,} contents")
        if self._stars_left < 0:
            self._refuse(f"has patterns of more than {MOST_STARS:,} stars")

    def _learn(self, name: str) -> None:
        if name not in self._names:
            self._names.add(name)
            self._names_left -= len(name) + 32
            if self._names_left < 0:
                self._refuse("has too many names of elements and attributes")

    def _refuse(self, reason: str) -> None:
        self.refusal = self.refusal or reason
