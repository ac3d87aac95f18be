"""Decides whether two pages whose fingerprints are alike say the same (promise C1).

A fingerprint alone calls the pages of a reference alike that differ in the one name that they are about. So both texts
are read: most of their phrases must be the same, and neither may be headed by a word that the other does not have, nor
repeat one. Numbers name nothing here: a release, a date, a counter may differ. In a text of a few lines a number may be
all that it says, and on one host pages are different whose titles, or the last words of whose URLs, name different
things. What falls short is shown for review.
"""

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from app.features.near.fingerprint import DUPLICATE_BITS, LEAST_PHRASES, MOST_CHARS, REVIEW_BITS, words_in, words_of
from app.policy.focus.shape import fold

SAME_PHRASES: Final = 0.8  # of all phrases of both: four sentences in five
LEAST_WORDS: Final = 150  # of both: of shorter pages of references most differ in the one number that they are about
_HEAD_LINES, _HEAD_CHARS = 2, 300
START_CHARS: Final = 320  # that hold a head: the letters behind one may decide on its lower case
_REPEATED, _REPEATED_BY_BOTH = 3, 2  # times: no chance word; another name in the same place
_FEW_NAMES, _FEW_PLACES = 32, 64  # are looked for in a text one by one: all its names take longer to read
_NAME: Final = re.compile(r"[^\W\d]\w+")
_NAMED: Final = re.compile(r"[^\W\d_]{2,}(?:(?!\d{4})\d+[^\W\d_]*)?")  # int32, gfx90a; of page12345 the word

Passage: TypeAlias = tuple[str, str, str]


class Likeness(StrEnum):
    NEAR = "near"  # a duplicate: its links are not worth a request of their own
    REVIEW = "review"  # alike: a person decides


class Reading:
    """A main text as it is compared: each form of it is made once, when it is first needed."""

    def __init__(self, text: str) -> None:
        self.all = text

    def anew(self) -> "Reading":
        """A reading of the text without forms that were made of it, but for its lower case."""
        found = Reading(self.all)
        found.lower = self.lower
        return found

    @cached_property
    def lower(self) -> str:
        return self.all.lower()

    @cached_property
    def head(self) -> tuple[str, ...]:
        """The names of its first lines."""
        return _head(self.all[:START_CHARS])

    @cached_property
    def lines(self) -> list[str]:
        return self.lower.split("\n")

    @cached_property
    def line_set(self) -> frozenset[str]:
        return frozenset(self.lines)

    @cached_property
    def passages(self) -> Sequence[Passage]:
        """Each line that has words, and the two such lines behind it: they hold every phrase that begins in it."""
        lines = [line for line in self.lines if line and not line.isspace()]
        return list(zip(lines, [*lines[1:], ""], [*lines[2:], "", ""], strict=False))

    @cached_property
    def passage_set(self) -> frozenset[Passage]:
        return frozenset(self.passages)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(_names(self.lower))

    def has_name(self, name: str) -> bool:
        """Whether a name stands here, and not only as a part of longer ones."""
        text, at = self.lower, -1
        for _ in range(_FEW_PLACES):
            at = text.find(name, at + 1)
            if at < 0 or _stands_alone(text, at, at + len(name)):
                return at >= 0
        return name in self.names

    @property
    def is_cut(self) -> bool:
        """Whether its end is not counted."""
        return len(self.all) > MOST_CHARS

    @cached_property
    def is_long(self) -> bool:
        """Whether it has LEAST_WORDS."""
        first = self.all[:MOST_CHARS].split(None, LEAST_WORDS - 1)  # letters may be words: there are no fewer
        return len(first) >= LEAST_WORDS or len(self.words) >= LEAST_WORDS

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
        return words_of(self.all) if self.is_cut else words_in(self.lower)


def likeness(bits: int, text: Reading, other: Reading) -> Likeness | None:
    """How alike two pages are whose fingerprints differ in so many bits. None: they are about different things."""
    if bits > REVIEW_BITS or _has_other_subject(text, other):
        return None
    if bits > DUPLICATE_BITS or not (text.is_long and other.is_long):
        return Likeness.REVIEW
    return Likeness.NEAR if _says_the_same(text, other) else Likeness.REVIEW


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


def _says_the_same(text: Reading, other: Reading) -> bool:
    """Whether SAME_PHRASES of all are in both.

    The passages that both have answer for most pages, so that of a mirror no phrase is looked at: what stands in others
    has no more phrases of its own than it has words.
    """
    if not text.is_cut and not other.is_cut and (known := len(other.phrases)) >= LEAST_PHRASES:
        at_least = (known - _words_beside(other, text)) / (known + _words_beside(text, other))
        if at_least >= SAME_PHRASES:
            return True
    return resemblance(text.phrases, other.phrases) >= SAME_PHRASES


def _words_beside(text: Reading, other: Reading) -> int:
    """How many words begin a passage that the other text does not have."""
    return sum(len(words_in(each[0])) for each in text.passages if each not in other.passage_set)


def _has_other_subject(text: Reading, other: Reading) -> bool:
    """Whether words that stand in one text alone name what it is about: in its head, or again and again.

    Such a word stands only in lines that the other text does not have: two copies of a long page differ in few, and the
    names of these alone are counted.
    """
    if is_headed_otherwise(other, text) or is_headed_otherwise(text, other):
        return True
    own, others = _own(text, other), _own(other, text)
    if not own.keys().isdisjoint(text.head) or not others.keys().isdisjoint(other.head):
        return True
    most = max(own.values(), default=0), max(others.values(), default=0)
    return max(most) >= _REPEATED or min(most) >= _REPEATED_BY_BOTH


def _own(text: Reading, other: Reading) -> dict[str, int]:
    """Names of a text that the other does not have, and how often they stand in lines of its own."""
    names = Counter(name for line in text.lines if line not in other.line_set for name in _names(line))
    if len(names) > _FEW_NAMES:
        return {name: n for name, n in names.items() if name not in other.names}
    return {name: n for name, n in names.items() if not other.has_name(name)}


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a name ends and begins there: digits before it are no part of it."""
    if _is_of_word(text[end : end + 1]):
        return False
    while start and text[start - 1].isdecimal():
        start -= 1
    return not start or not _is_of_word(text[start - 1])


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


@lru_cache(maxsize=2_048)  # an original is met again by each of its likes
def _head(start: str) -> tuple[str, ...]:
    return tuple(_names(" ".join(start.lower()[:_HEAD_CHARS].split("\n")[:_HEAD_LINES])))


def _names(text: str) -> list[str]:
    """The names in a text that is in lower case."""
    return _NAME.findall(text)
