"""The shape of a URL: what is left when numbers, dates, sessions and values are folded (promises T1, T2).

URLs that a site makes by one rule have one shape, and mostly one worth. Shapes are of groups: those below one folder,
and those with one parameter.

    /shop/shoes/2024-05-01/17                shape   /shop/w/@/#             groups  /shop/**
    /shop/shoes?color=red&page=2             shape   /shop/w?color&page      groups  ?color, ?page
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

LONGEST: Final = 120  # characters of a shape
_MOST_SEGMENTS: Final = 8
_MOST_NAMES: Final = 6
_DATE: Final = re.compile(r"(?:19|20)\d\d(?:[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?(?:0[1-9]|[12]\d|3[01]))?)?\Z")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*\Z")
_ROUTE: Final = "-"  # GitLab's: what follows is a view's name, behind a path of any depth
_DIGITS: Final = re.compile(r"\d+")
# Long and mixed: what a machine made up, such as a session, a UUID or a hash.
_SESSION: Final = re.compile(r"(?=[^g-z]*\d)(?:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z", re.I)
# A session of ASP.NET in the path: (S(lit3py55t21z5v55vlm25s55))
_COOKIELESS: Final = re.compile(r"\((?:[A-Za-z]\([^()]*\))+\)\Z")
_NAMESPACE: Final = re.compile(r"[A-Za-z][A-Za-z-]{1,23}:(?=[^\s_:/])")  # of a wiki: Special:, Talk:
_MIXED: Final = re.compile(r"(?=(?:[^\d/]*\d){3})(?=(?:[^a-z/]*[a-z]){3})[a-z0-9_~=]{12,}\Z", re.IGNORECASE)
_SHORTEST: Final = 12  # of those two


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
    more = "/*" if len(shown) > _MOST_SEGMENTS else ""
    asked = "?" + "&".join(_DIGITS.sub("#", name) for name in names[:_MOST_NAMES]) if names else ""
    groups = tuple(f"?{name}"[:LONGEST] for name in asked[1:].split("&")) if names else (f"/{below}/**"[:LONGEST],)
    return Shape(
        name=f"/{'/'.join(shown[:_MOST_SEGMENTS])}{more}{asked}"[:LONGEST],
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
    if _NUMBER.match(text):
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
