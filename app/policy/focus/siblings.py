"""Siblings of a URL: those that differ from it in one word of the path, in a run of words, or in parameters.

Sites show one page under several URLs: `/r/blame/x` beside `/r/tree/x`, `/mirror/en/x`, `/x/print`, `?ref=list`. Which
differences are none is learned from pages that were fetched after a sibling (as Z. Bar-Yossef, I. Keidar, U. Schonfeld,
"Do not crawl in the DUST", 2007): a difference is a pattern of its own, and brings new text or none (`patterns`).

    /r/blame/x.c   ≈/w/{blame}/w     beside the same path with another word there
    /x/y/print     ≈/w/w/[print]     beside the path without these words
    /x?id=1&ref=a  ≈?ref             beside the same with other values of these, or without them
    /r/diff?id=1   ≈/w/{diff}?id     beside another word before the same query
    /x/y.md        ≈/w/w[.md]        beside the path without the ending
"""

import re
from collections.abc import Iterator
from typing import Final

from app.policy.focus.shape import LONGEST, fold, parted

MARK: Final = "≈"
_MOST_SEGMENTS: Final = 8
_MOST_NAMES: Final = 6
_NUMBER: Final = re.compile(r"\d+(?:[._-]?\d+)*")
_ENDING: Final = re.compile(r"(?<!/)\[(\.[a-z0-9]+)\]\Z")  # of a difference's name
_EXTENSION: Final = re.compile(r"(.+)(\.[A-Za-z][A-Za-z0-9]{0,4})\Z")


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


def whole(target: str) -> int:
    """The hash of a URL, valid in this process."""
    return _whole(*_parted(target))


def _shorter(segments: list[str], query: list[str]) -> Iterator[tuple[list[str], list[str], str]]:
    """Segments and query of the siblings that have less, and the names of the differences."""
    if len(segments) > _MOST_SEGMENTS:
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
    names = sorted({_name(part) for part in query[:_MOST_NAMES]})
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
    names = sorted({_name(part) for part in query[:_MOST_NAMES]})
    if 1 < len(segments) <= _MOST_SEGMENTS:
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
