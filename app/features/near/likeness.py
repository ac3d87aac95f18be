"""Decides whether two pages whose fingerprints are alike say the same (promise C1).

A fingerprint alone calls the pages of a reference alike that differ in the one name that they are about. So both texts
are read: most of their phrases must be the same, and neither may be headed by a word that the other does not have, nor
repeat one. Numbers name nothing here: a release, a date, a counter may differ. In a text of a few lines a number may be
all that it says, and on one host pages are different whose titles, or the last words of whose URLs, name different
things. What falls short is shown for review.
"""

import re
from collections import Counter
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Final
from urllib.parse import urlsplit

from app.features.near.fingerprint import DUPLICATE_BITS, LEAST_PHRASES, MOST_CHARS, REVIEW_BITS, words_in, words_of
from app.policy.focus.shape import fold

SAME_PHRASES: Final = 0.8  # of all phrases of both: four sentences in five
LEAST_WORDS: Final = 150  # of both: of shorter pages of references most differ in the one number that they are about
_HEAD_LINES, _HEAD_CHARS = 2, 300
START_CHARS: Final = 320  # that hold a head: the letters behind one may decide on its lower case
_REPEATED, _REPEATED_BY_BOTH = 3, 2  # times: no chance word; another name in the same place
_NAME: Final = re.compile(r"[^\W\d]\w+")
_NAMED: Final = re.compile(r"[^\W\d_]{2,}(?:(?!\d{4})\d+[^\W\d_]*)?")  # int32, gfx90a; of page12345 the word


class Likeness(StrEnum):
    NEAR = "near"  # a duplicate: its links are not worth a request of their own
    REVIEW = "review"  # alike: a person decides


class Reading:
    """A main text as it is compared: each form of it is made once, when it is first needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def lower(self) -> str:
        return self._text.lower()

    @cached_property
    def head(self) -> tuple[str, ...]:
        """The names of its first lines."""
        return _head(self._text[:START_CHARS])

    @cached_property
    def lines(self) -> list[str]:
        return self.lower.split("\n")

    @cached_property
    def phrases(self) -> set[tuple[str, str, str]]:
        """Each three words in a row."""
        return set(zip(self.words, self.words[1:], self.words[2:], strict=False))

    @cached_property
    def words(self) -> list[str]:
        """Words, counted like its fingerprint does."""
        return self.words_once()

    def words_once(self) -> list[str]:
        """Its words, for a fingerprint. They are not kept: they take ten times the room of the text."""
        return words_of(self._text) if len(self._text) > MOST_CHARS else words_in(self.lower)


def likeness(bits: int, text: Reading, other: Reading) -> Likeness | None:
    """How alike two pages are whose fingerprints differ in so many bits. None: they are about different things."""
    if bits > REVIEW_BITS or _has_other_subject(text, other):
        return None
    if bits > DUPLICATE_BITS or min(len(text.words), len(other.words)) < LEAST_WORDS:
        return Likeness.REVIEW
    return Likeness.NEAR if resemblance(text.phrases, other.phrases) >= SAME_PHRASES else Likeness.REVIEW


def is_headed_otherwise(text: Reading, start: Reading) -> bool:
    """Whether the beginning of another text names what this one does not have. Then they are about different things.

    start: the first START_CHARS of the other
    """
    return not all(map(text.lower.__contains__, start.head))


def is_titled_alike(title: str | None, other: str | None) -> bool:
    """Whether the titles of two pages of one host name the same, numbers aside. Without a title nothing is known."""
    return not title or not other or set(_names(title.lower())) == set(_names(other.lower()))


def is_named_alike(url: str, other: str) -> bool:
    """Whether the last words of two paths of one host are the same, numbers aside: entries of a reference differ there,
    releases and mirrors before. A number of three digits at most that is joined to a word is a part of it.

    Where one has a path of another depth, no such word, or one that a machine made up, nothing is known.
    """
    own, others = _segments(url), _segments(other)
    if len(own) != len(others) or not own or "~" in {fold(own[-1]), fold(others[-1])}:
        return True
    names, theirs = _NAMED.findall(own[-1].lower()), _NAMED.findall(others[-1].lower())
    return not names or not theirs or names == theirs


def _segments(url: str) -> list[str]:
    return [segment for segment in urlsplit(url).path.split("/") if segment]


def resemblance(here: set[tuple[str, str, str]], there: set[tuple[str, str, str]]) -> float:
    """The share of the phrases of both that they have in common."""
    common = len(here & there)
    together = len(here) + len(there) - common
    return common / together if together >= LEAST_PHRASES else 0.0


def _has_other_subject(text: Reading, other: Reading) -> bool:
    """Whether words that stand in one text alone name what it is about: in its head, or again and again.

    Such a word stands only in lines that the other text does not have: two copies of a long page differ in few, and the
    names of these alone are counted.
    """
    if is_headed_otherwise(other, text) or is_headed_otherwise(text, other):
        return True
    own, others = _own(text.lines, other.lines, other.lower), _own(other.lines, text.lines, text.lower)
    if not own.keys().isdisjoint(text.head) or not others.keys().isdisjoint(other.head):
        return True
    most = max(own.values(), default=0), max(others.values(), default=0)
    return max(most) >= _REPEATED or min(most) >= _REPEATED_BY_BOTH


def _own(lines: list[str], other_lines: list[str], other: str) -> dict[str, int]:
    """Names that the other text does not have, and how often they stand here.   other: its lines in one"""
    known = frozenset(other_lines)
    names = Counter(name for line in lines if line not in known for name in _names(line))
    theirs = {name for name in names if name in other}
    if theirs:  # perhaps as a part of longer names
        theirs.intersection_update(_names(other))
    return {name: n for name, n in names.items() if name not in theirs}


@lru_cache(maxsize=2_048)  # an original is met again by each of its likes
def _head(start: str) -> tuple[str, ...]:
    return tuple(_names(" ".join(start.lower()[:_HEAD_CHARS].split("\n")[:_HEAD_LINES])))


def _names(text: str) -> list[str]:
    """The names in a text that is in lower case."""
    return _NAME.findall(text)
