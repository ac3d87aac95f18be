"""Decides whether two pages whose fingerprints are alike say the same (promise C1).

A fingerprint alone calls the pages of a reference alike that differ in the one name that they are about. So both texts
are read: most of their phrases must be the same, and neither may be headed by a word that the other does not have, nor
repeat one. Numbers name nothing here: a release, a date, a counter may differ. What falls short is shown for review.
"""

import re
from collections import Counter
from enum import StrEnum
from typing import Final

from app.policy.focus.simhash import DUPLICATE_BITS, LEAST_PHRASES, REVIEW_BITS, words_of

SAME_PHRASES: Final = 0.8  # of all phrases of both: four sentences in five
_HEAD_LINES, _HEAD_CHARS = 2, 300
_REPEATED, _REPEATED_BY_BOTH = 3, 2  # times: no chance word; another name in the same place
_NAME: Final = re.compile(r"[^\W\d]\w+")


class Likeness(StrEnum):
    NEAR = "near"  # a duplicate: its links are not worth a request of their own
    REVIEW = "review"  # alike: a person decides


def likeness(bits: int, text: str, other: str) -> Likeness | None:
    """How alike two pages are whose fingerprints differ in so many bits. None: they are about different things."""
    if bits > REVIEW_BITS or _has_other_subject(text, other):
        return None
    is_near = bits <= DUPLICATE_BITS and resemblance(words_of(text), words_of(other)) >= SAME_PHRASES
    return Likeness.NEAR if is_near else Likeness.REVIEW


def resemblance(words: list[str], others: list[str]) -> float:
    """The share of the phrases of both that they have in common."""
    here, there = _phrases(words), _phrases(others)
    together = len(here | there)
    return len(here & there) / together if together >= LEAST_PHRASES else 0.0


def _has_other_subject(text: str, other: str) -> bool:
    """Whether words that stand in one text alone name what it is about: in its head, or again and again."""
    here, there = Counter(_names(text)), Counter(_names(other))
    own, others = _own(here, there), _own(there, here)
    if not own.keys().isdisjoint(_names(_head(text))) or not others.keys().isdisjoint(_names(_head(other))):
        return True
    most = max(own.values(), default=0), max(others.values(), default=0)
    return max(most) >= _REPEATED or min(most) >= _REPEATED_BY_BOTH


def _own(names: Counter[str], others: Counter[str]) -> dict[str, int]:
    return {name: n for name, n in names.items() if name not in others}


def _head(text: str) -> str:
    return " ".join(text[:_HEAD_CHARS].split("\n")[:_HEAD_LINES])


def _names(text: str) -> list[str]:
    return _NAME.findall(text.lower())


def _phrases(words: list[str]) -> set[tuple[str, str, str]]:
    return set(zip(words, words[1:], words[2:], strict=False))
