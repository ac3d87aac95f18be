"""Tells how much of a page's text is new: the share of its phrases that were not seen on its host so far.

A phrase is three words in a row (w-shingling: A. Broder, S. Glassman, M. Manasse, G. Zweig, "Syntactic clustering of
the web", 1997). Numbers are no words: a calendar's days differ in nothing else.
"""

from collections.abc import Iterable
from typing import Protocol

from app.policy.focus.words import tokens

MOST_WORDS = 3_000  # of a page: the beginning tells
LEAST_PHRASES = 3
MANY_PHRASES, SAMPLED = 80, 4  # of so many, every fourth by its hash is enough to compare


class Seen(Protocol):
    """A set of hashes, which may answer yes by mistake."""

    def __contains__(self, item: int, /) -> bool: ...
    def update(self, items: Iterable[int], /) -> object: ...


def words_of(text: str) -> list[str]:
    """The words at the beginning of a text."""
    return tokens(text[: MOST_WORDS * 12])[:MOST_WORDS]


def phrases(text: str, words: list[str]) -> set[int]:
    """Hashes of a text's phrases, valid in this process. A text of a few words is one phrase, with its numbers; none
    has none.
    """
    found = set(map(hash, zip(words, words[1:], words[2:], strict=False)))
    if len(found) >= MANY_PHRASES:
        return {phrase for phrase in found if phrase % SAMPLED == 0}
    if len(found) >= LEAST_PHRASES:
        return found
    short = " ".join(text[: MOST_WORDS * 12].split())
    return {hash(short)} if short else set()


def new_share(found: set[int], seen: Iterable[Seen]) -> float:
    """The share of these that no set holds."""
    known = set()
    for each in seen:
        known |= {phrase for phrase in found if phrase in each}
    return 1 - len(known) / len(found)
