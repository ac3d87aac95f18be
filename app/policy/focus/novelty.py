"""Tells how much of a page's text is new: the share of its phrases that were not seen on its host so far.

A phrase is three words in a row (w-shingling: A. Broder, S. Glassman, M. Manasse, G. Zweig, "Syntactic clustering of
the web", 1997). Numbers are no words: a calendar's days differ in nothing else.
"""

from collections.abc import Iterable
from typing import Protocol

from app.policy.focus.words import tokens

MOST_CHARS = 4_000  # of a text: half from its beginning, half from its middle
LEAST_PHRASES = 3
MANY_PHRASES, SAMPLED = 80, 4  # of so many, every fourth by its hash is enough to compare


class Seen(Protocol):
    """A set of hashes, which may answer yes by mistake."""

    def __contains__(self, item: int, /) -> bool: ...
    def update(self, items: Iterable[int], /) -> object: ...


def words_of(text: str) -> list[str]:
    """The words of a text that are compared."""
    return tokens(_sample(text))


def phrases(text: str, words: list[str]) -> set[int]:
    """Hashes of a text's phrases, valid in this process. A text of a few words is one phrase, with its numbers; none
    has none.
    """
    found = set(map(hash, zip(words, words[1:], words[2:], strict=False)))
    if len(found) >= MANY_PHRASES:
        return {phrase for phrase in found if phrase % SAMPLED == 0}
    if len(found) >= LEAST_PHRASES:
        return found
    short = " ".join(_sample(text).split())
    return {hash(short)} if short else set()


def new_share(found: set[int], seen: Iterable[Seen]) -> float:
    """The share of these that no set holds."""
    new = list(found)
    for each in seen:
        new = [phrase for phrase in new if phrase not in each]
    return len(new) / len(found)


def _sample(text: str) -> str:
    """All of a short text; of others two parts. Of texts that differ a little it is nearly the same."""
    if len(text) <= MOST_CHARS:
        return text
    half, middle = MOST_CHARS // 2, len(text) // 2
    return f"{text[:half]} {text[middle : middle + half]}"
