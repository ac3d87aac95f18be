"""Siblings of a URL: those that differ from it in one word of the path, in a run of words, or in parameters.

Sites show one page under several URLs: `/r/blame/x` beside `/r/tree/x`, `/mirror/en/x`, `/x/print`, `?ref=list`. Which
differences are none is learned from pages that were fetched after a sibling (as Z. Bar-Yossef, I. Keidar, U. Schonfeld,
"Do not crawl in the DUST", 2007): a difference is a pattern of its own, and brings new text or none (`patterns`).

    /r/blame/x.c   ≈/w/{blame}/w     beside the same path with another word there
    /x/y/print     ≈/w/w/[print]     beside the path without these words
    /x?id=1&ref=a  ≈?ref             beside the same with other values of these, or without them
    /r/diff?id=1   ≈/w/{diff}?id     beside another word before the same query
    /x/y.md        ≈/w/w[.md]        beside the path without the ending

The shape of a URL: what is left when numbers, dates, sessions and values are folded (promises T1, T2).

URLs that a site makes by one rule have one shape, and mostly one worth. Shapes are of groups: those below one folder,
and those with one parameter.

    /shop/shoes/2024-05-01/17                shape   /shop/w/@/#             groups  /shop/**
    /shop/shoes?color=red&page=2             shape   /shop/w?color&page      groups  ?color, ?page
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

MARK: Final = "≈"
MOST_SEGMENTS: Final = 8
MOST_NAMES: Final = 6
_NUMBER: Final = re.compile(r"\d+(?:[._-]?\d+)*")
_ENDING: Final = re.compile(r"(?<!/)\[(\.[a-z0-9]+)\]\Z")  # of a difference's name
_EXTENSION: Final = re.compile(r"(.+)(\.[A-Za-z][A-Za-z0-9]{0,4})\Z")
LONGEST: Final = 120  # characters of a shape
_DATE: Final = re.compile(r"(?:19|20)\d\d(?:[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?(?:0[1-9]|[12]\d|3[01]))?)?\Z")
_WHOLE_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*\Z")
_ROUTE: Final = "-"  # GitLab's: what follows is a view's name, behind a path of any depth
_DIGITS: Final = re.compile(r"\d+")
# Long and mixed: what a machine made up, such as a session, a UUID or a hash.
_SESSION: Final = re.compile(r"(?=[^g-z]*\d)(?:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z", re.I)
# A session of ASP.NET in the path: (S(lit3py55t21z5v55vlm25s55))
_COOKIELESS: Final = re.compile(r"\((?:[A-Za-z]\([^()]*\))+\)\Z")
_NAMESPACE: Final = re.compile(r"[A-Za-z][A-Za-z-]{1,23}:(?=[^\s_:/])")  # of a wiki: Special:, Talk:
_MIXED: Final = re.compile(r"(?=(?:[^\d/]*\d){3})(?=(?:[^a-z/]*[a-z]){3})[a-z0-9_~=]{12,}\Z", re.IGNORECASE)
_SHORTEST: Final = 12  # of those two


def is_of_path(name: str) -> bool:
    """Whether a difference is one of words in the path, of which a site has many."""
    return name.startswith(f"{MARK}/")


def forms(target: str) -> set[int]:
    """Hashes of what a URL's siblings have in common with it, valid in this process."""
    return {form for form, _ in _differences(target)} | {_whole(*_parted(target))}


def differences(target: str) -> Iterator[tuple[int, str]]:
    """Hashes of what a URL has in common with siblings that were fetched before, with the names of the differences."""
    segments, query = _parted(target)
    yield from _differences(target)
    for rest, part, name in _shorter(segments, query):
        yield _whole(rest, part), name


def shorter(target: str) -> Iterator[tuple[str, str]]:
    """Siblings that have less in their URL, with the names of the differences."""
    for rest, part, name in _shorter(*_parted(target)):
        yield f"/{'/'.join(rest)}{'?' if part else ''}{'&'.join(part)}", name


def views(target: str) -> set[int]:
    """Hashes of what a URL may be a view of: its siblings that have less in the path, and itself without its query."""
    segments, query = _parted(target)
    found = {_whole(rest, part) for rest, part, _ in _shorter(segments, query) if part == query}
    return found | {_whole(segments, [])} if query else found


def whole(target: str) -> int:
    """The hash of a URL, valid in this process."""
    return _whole(*_parted(target))


def _shorter(segments: list[str], query: list[str]) -> Iterator[tuple[list[str], list[str], str]]:
    """Segments and query of the siblings that have less, and the names of the differences."""
    if len(segments) > MOST_SEGMENTS:
        return
    folded = [fold(segment) for segment in segments]
    for size in (1, 2):
        for at in range(len(segments) - size + 1):
            rest = segments[:at] + segments[at + size :]
            if rest:
                word = "/".join(_word(segments[place], folded[place]) for place in range(at, at + size))
                yield rest, query, _named(folded, at, size, f"[{word}]")
    if parts := _EXTENSION.match(segments[-1]) if segments else None:
        yield [*segments[:-1], parts[1]], query, _ended(folded, f"[{parts[2].lower()}]")
    names = sorted({_name(part) for part in query[:MOST_NAMES]})
    for name in names:
        yield segments, [part for part in query if _name(part) != name], f"{MARK}?{name}"[:LONGEST]
    if len(names) > 1:
        yield segments, [], f"{MARK}?{'&'.join(names)}"[:LONGEST]


def is_shared(name: str, target: str, other: str) -> bool:
    """Whether another URL has the word of the path by which this one differs from a sibling."""
    if (ending := _ENDING.search(name)) is not None:
        return _parted(other)[0][-1:] != [] and _parted(other)[0][-1].lower().endswith(ending[1])
    at = next((place for place, part in enumerate(name.split("/")[1:]) if part[:1] in {"{", "["}), None)
    if at is None:
        return False
    return _parted(target)[0][at : at + 1] == _parted(other)[0][at : at + 1] != []


def _differences(target: str) -> Iterator[tuple[int, str]]:
    """Those that a URL and its sibling see alike."""
    segments, query = _parted(target)
    names = sorted({_name(part) for part in query[:MOST_NAMES]})
    if 1 < len(segments) <= MOST_SEGMENTS:
        folded = [fold(segment) for segment in segments]
        asked = f"?{'&'.join(names)}" if names else ""
        is_asked = names and folded[-1] == "w"  # the last word names a page, or a program and the query its page
        for at in range(len(segments) - (not is_asked)):
            form = hash((at, *segments[:at], "", *segments[at + 1 :], *query))
            yield form, _named(folded, at, 1, f"{{{_word(segments[at], folded[at])}}}", asked)
    for name in names:
        rest = [part for part in query if _name(part) != name]
        yield hash((name, *segments, "?", *rest)), f"{MARK}?{name}"[:LONGEST]
    if len(names) > 1:
        yield hash(("?", *names, *segments)), f"{MARK}?{'&'.join(names)}"[:LONGEST]


def _parted(target: str) -> tuple[list[str], list[str]]:
    path, query = parted(target)
    return [segment for segment in path.split("/") if segment], sorted(part for part in query.split("&") if part)


def _whole(segments: list[str], query: list[str]) -> int:
    return hash((*segments, "?", *query))


def _named(folded: list[str], at: int, size: int, what: str, asked: str = "") -> str:
    return f"{MARK}/{'/'.join([*folded[:at], what, *folded[at + size :]])}{asked}"[:LONGEST]


def _ended(folded: list[str], what: str) -> str:
    return f"{MARK}/{'/'.join(folded)}{what}"[:LONGEST]


def _word(segment: str, folded: str) -> str:
    """A segment as a difference names it: what has a number is one of many that the site has."""
    return _NUMBER.sub("#", segment.lower()) if folded in {"w", "w#"} else folded


def _name(part: str) -> str:
    return part.partition("=")[0].lower()


class Shape(NamedTuple):
    """The shape of a URL, its groups, and the features that its risk is judged by.

    depth     segments of the path;   repeats: times in a row that one segment, or two in turn, stand in it
    sessions  segments and values that look like sessions;   dates: segments that are dates
    """

    name: str
    groups: tuple[str, ...]
    depth: int
    repeats: int
    sessions: int
    dates: int
    parameters: int


@lru_cache(maxsize=2_048)
def shape_of(target: str) -> Shape:
    """The shape of a path and query as they are sent. A page's own is asked for several times, and for its links."""
    path, query = parted(target)
    if "%5" in query:
        query = query.replace("%5B", "[").replace("%5D", "]")
    segments = [segment for segment in path.split("/") if segment]
    folded = [
        segment.lower() if before == _ROUTE else fold(segment)
        for before, segment in zip(["", *segments], segments, strict=False)
    ]
    names = sorted({part.partition("=")[0].lower() for part in query.split("&") if part}) if query else []
    sessions = folded.count("~") + (
        sum(fold(part.partition("=")[2]) == "~" for part in query.split("&")) if query else 0
    )
    head = segments[0].lower() if (len(segments) > 1 or names) and folded[:1] == ["w"] else ""
    below = head or ("~" if folded[:1] == ["~"] else "")
    shown = [head, *folded[1:]] if head else folded
    more = "/*" if len(shown) > MOST_SEGMENTS else ""
    asked = "?" + "&".join(_DIGITS.sub("#", name) for name in names[:MOST_NAMES]) if names else ""
    groups = tuple(f"?{name}"[:LONGEST] for name in asked[1:].split("&")) if names else (f"/{below}/**"[:LONGEST],)
    return Shape(
        name=f"/{'/'.join(shown[:MOST_SEGMENTS])}{more}{asked}"[:LONGEST],
        groups=groups if below or names else ("/**",),
        depth=len(segments),
        repeats=_repeats(segments),
        sessions=sessions,
        dates=folded.count("@"),
        parameters=len(names),
    )


def parted(target: str) -> tuple[str, str]:
    """The path of a target and its query. A query that begins with a slash is more of the path, behind its program:
    `/index.php?/tags/cats&page=2`.
    """
    path, _, query = target.partition("?")
    if query[:1] == "/":
        more, _, query = query.partition("&")
        first, _, rest = more[1:].partition("/")
        path = f"{path}?{first}/{rest}" if rest and fold(first) == "w" else f"{path}?{more}"
    return path, query


def fold(text: str) -> str:
    """A segment or value by its kind: # a number, @ a date, ~ a session, w anything else. w# is a word with a
    number.
    """
    if text.isalpha() or not text:
        return "w"
    if not text[0].isdigit() and ":" in text and (found := _NAMESPACE.match(text)):
        return f"{found[0].lower()}w"
    if not _DIGITS.search(text):
        return "w"
    if text[0] == "(" and _COOKIELESS.match(text):
        return "~"
    if _DATE.match(text):
        return "@"
    if _WHOLE_NUMBER.match(text):
        return "#"
    if len(text) >= _SHORTEST and (_SESSION.match(text) or _MIXED.match(text)):
        return "~"
    return "w#"


def _repeats(segments: list[str]) -> int:
    """The most times in a row that one segment, or a pair or three of them, is repeated: /a/b/a/b has 2."""
    most = 1
    count = len(segments)
    if count < 2 or len(set(segments)) == count:
        return most
    for size in (1, 2, 3):
        run = 0
        for place in range(size, count):
            run = run + 1 if segments[place] == segments[place - size] else 0
            most = max(most, run // size + 1)
    return most
