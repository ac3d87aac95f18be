"""Subsets of a pattern's URLs, which tell the good ones from the others where a pattern mixes them (promise T1).

A shape folds the words of a path, and a difference in the query is the same on every path. So each word behind the
first is a pattern, too, and so is each path beside such a difference:

    /mod/quiz/view?id=2    of /mod/w/w?id    ∋/mod/{quiz}/w?id  ∋/mod/w/{view}?id
                           of ≈?id           ∋/mod/quiz/view?id
"""

from typing import Final, NamedTuple

from app.policy.focus.shape import LONGEST, fold, parted
from app.policy.focus.siblings import MARK

IN: Final = "∋"
_MOST_SEGMENTS: Final = 8
_MOST_NAMES: Final = 6


class Subset(NamedTuple):
    """The name of a subset, and what it has in common with those that it is compared with."""

    name: str
    place: str


def words(target: str) -> list[Subset]:
    """Those of its shape that have one of its words, behind the first and before the name of a page."""
    path, query = parted(target)
    segments = [segment for segment in path.split("/") if segment]
    if not 1 < len(segments) <= _MOST_SEGMENTS:
        return []
    folded = [fold(segment) for segment in segments]
    shown = [segments[0].lower() if folded[0] == "w" else folded[0], *folded[1:]]
    names = sorted({part.partition("=")[0].lower() for part in query.split("&") if part})[:_MOST_NAMES]
    asked = f"?{'&'.join(names)}" if names else ""
    found = []
    for at in range(1, len(segments) - (not names)):
        if folded[at][-1] == "w":
            start, end = f"/{'/'.join(shown[:at])}", "".join(f"/{each}" for each in shown[at + 1 :]) + asked
            name = f"{IN}{start}/{{{segments[at].lower()}}}{end}"
            found.append(Subset(name[:LONGEST], f"{start}/{{}}{end}"))
    return found


def paths(target: str, difference: str) -> list[Subset]:
    """Those that differ from a sibling in parameters and have its path."""
    if not difference.startswith(f"{MARK}?"):
        return []
    return [Subset(f"{IN}{parted(target)[0].lower()}{difference[1:]}"[:LONGEST], difference)]


def place_of(name: str) -> str:
    """The place of a subset with this name."""
    start, brace, rest = name[1:].partition("{")
    return f"{start}{{}}{rest.partition('}')[2]}" if brace else f"{MARK}?{name.rpartition('?')[2]}"
