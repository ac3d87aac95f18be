"""Compares two texts of a page passage by passage: what went, what came, and which words of a passage changed.

A passage is a line of the main text: a paragraph, a heading, an item. Passages are aligned by the longest runs that
both texts have (difflib, after Ratcliff and Obershelp). That takes cubic time at worst, and sites write the texts: a
comparison has STEPS_MOST for its passages, and as many for the words in them. Beyond these, and beyond ALIGNED_MOST
passages that differ, passages are counted instead of aligned; words are not marked.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from enum import StrEnum
from itertools import accumulate, zip_longest
from typing import Final, NamedTuple

ALIGNED_MOST: Final = 2_000  # passages of a text
STEPS_MOST: Final = 3_000_000  # pairs of equal passages, or words, that are looked at: 0.2 s; 2,000 reversed take 2 M
WORDS_MOST: Final = 500  # words of a passage whose changed words are marked
CONTEXT: Final = 1  # passages around a change
ALIKE: Final = 0.3  # of two passages: below, one replaced the other as a whole


class Steps:
    """Counts a bound down.   is_spent: something was refused"""

    def __init__(self, most: int) -> None:
        self.left = most
        self.is_spent = False

    def take(self, n: int) -> bool:
        self.is_spent = self.is_spent or n > self.left
        if not self.is_spent:
            self.left -= n
        return not self.is_spent


class BoundedMatcher(SequenceMatcher[str]):
    """A SequenceMatcher that finds no more once its steps are spent.

    To look for the longest run of a part visits, for each of its elements, every place of the same in the other text.
    """

    a: Sequence[str]
    b2j: dict[str, list[int]]  # documented, and not in typeshed: the places of each element in the other text

    def __init__(self, before: Sequence[str], after: Sequence[str], steps: Steps) -> None:
        super().__init__(None, before, after, autojunk=False)
        self._steps = steps
        places = self.b2j
        self._until = [0, *accumulate(1 + len(places.get(each, ())) for each in before)]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        ahi = len(self.a) if ahi is None else ahi
        if not self._steps.take(self._until[ahi] - self._until[alo]):
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)


class ChangeKind(StrEnum):
    """The place of a passage in a comparison."""

    GONE = "-"
    NEW = "+"
    SAME = " "  # beside a change
    SKIPPED = "…"  # `text` says how many passages


class PassageChange(NamedTuple):
    """A passage.   marked: (start, end), in characters, of the words that changed within it"""

    kind: ChangeKind
    text: str
    marked: Sequence[tuple[int, int]] = ()


def compare(old: str, new: str) -> list[PassageChange]:
    """The passages that differ, in order, with those beside them. None where the texts say the same."""
    before, after = _passages(old), _passages(new)
    if before == after:
        return []
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    middle_before, middle_after = before[start : len(before) - end], after[start : len(after) - end]
    same = [*_same(before[:start]), *_differing(middle_before, middle_after), *_same(after[len(after) - end :])]
    return list(_folded(same))


def _passages(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of passages at the beginning that both have."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _same(passages: Sequence[str]) -> list[PassageChange]:
    return [PassageChange(ChangeKind.SAME, each) for each in passages]


def _differing(before: Sequence[str], after: Sequence[str]) -> Iterator[PassageChange]:
    steps, words = Steps(STEPS_MOST), Steps(STEPS_MOST)
    codes = BoundedMatcher(before, after, steps).get_opcodes() if max(len(before), len(after)) <= ALIGNED_MOST else []
    if steps.is_spent or not codes:
        counted = list(_counted(before, after))
        yield from counted or _replaced(before, after, Steps(0))  # the same passages in another order
        return
    for tag, a, b, c, d in codes:
        if tag == "equal":
            yield from _same(after[c:d])
        else:
            yield from _replaced(before[a:b], after[c:d], words)


def _counted(before: Sequence[str], after: Sequence[str]) -> Iterator[PassageChange]:
    """Passages that one text has more often than the other, in its order."""
    for kind, passages, others in ((ChangeKind.GONE, before, after), (ChangeKind.NEW, after, before)):
        left = Counter(others)
        for each in passages:
            if left[each] > 0:
                left[each] -= 1
            else:
                yield PassageChange(kind, each)


def _replaced(before: Sequence[str], after: Sequence[str], words: Steps) -> Iterator[PassageChange]:
    """Passages in pairs, as far as there are pairs."""
    for old, new in zip_longest(before, after):
        gone, came = _marks(old, new, words) if old is not None and new is not None else ((), ())
        if old is not None:
            yield PassageChange(ChangeKind.GONE, old, gone)
        if new is not None:
            yield PassageChange(ChangeKind.NEW, new, came)


def _marks(old: str, new: str, steps: Steps) -> tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]:
    """The words of each passage that the other lacks; none where they have little in common, are long, or are too many
    to compare.
    """
    before, after = _words(old), _words(new)
    if max(len(before), len(after)) > WORDS_MOST or steps.is_spent:
        return (), ()
    matcher = BoundedMatcher([old[a:b] for a, b in before], [new[a:b] for a, b in after], steps)
    if matcher.ratio() < ALIKE or steps.is_spent:
        return (), ()
    changed = [codes for codes in matcher.get_opcodes() if codes[0] != "equal"]
    gone = [(before[a][0], before[b - 1][1]) for _, a, b, _, _ in changed if a < b]
    return gone, [(after[c][0], after[d - 1][1]) for _, _, _, c, d in changed if c < d]


def _words(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(r"\S+", text)]


def _folded(passages: Sequence[PassageChange]) -> Iterator[PassageChange]:
    """Passages beside a change stay; longer runs of equal ones are counted."""
    changed = {n for n, each in enumerate(passages) if each.kind is not ChangeKind.SAME}
    near = {n + by for n in changed for by in range(-CONTEXT, CONTEXT + 1)}
    skipped = 0
    for n, each in enumerate(passages):
        if n not in near:
            skipped += 1
            continue
        if skipped:
            yield PassageChange(ChangeKind.SKIPPED, str(skipped))
        skipped = 0
        yield each
    if skipped:
        yield PassageChange(ChangeKind.SKIPPED, str(skipped))
