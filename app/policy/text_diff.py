"""Compares two texts of a page passage by passage: what went, what came, and which words of a passage changed.

A passage is a line of the main text: a paragraph, a heading, an item. Passages are aligned by the longest runs that
both texts have (difflib, after Ratcliff and Obershelp). That takes quadratic time at worst, and sites write the texts:
beyond ALIGNED_MOST passages that differ they are counted instead of aligned.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest
from typing import Final, NamedTuple

ALIGNED_MOST: Final = 2_000  # passages of a text: reversed, the worst case, they take some seconds
WORDS_MOST: Final = 500  # words of a passage whose changed words are marked
CONTEXT: Final = 1  # passages around a change
ALIKE: Final = 0.3  # of two passages: below, one replaced the other as a whole


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
    if max(len(before), len(after)) > ALIGNED_MOST:
        yield from _counted(before, after)
        return
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from _same(after[c:d])
        else:
            yield from _replaced(before[a:b], after[c:d])


def _counted(before: Sequence[str], after: Sequence[str]) -> Iterator[PassageChange]:
    """Passages that one text has more often than the other, in its order."""
    for kind, passages, others in ((ChangeKind.GONE, before, after), (ChangeKind.NEW, after, before)):
        left = Counter(others)
        for each in passages:
            if left[each] > 0:
                left[each] -= 1
            else:
                yield PassageChange(kind, each)


def _replaced(before: Sequence[str], after: Sequence[str]) -> Iterator[PassageChange]:
    """Passages in pairs, as far as there are pairs."""
    for old, new in zip_longest(before, after):
        gone, came = _marks(old, new) if old is not None and new is not None else ((), ())
        if old is not None:
            yield PassageChange(ChangeKind.GONE, old, gone)
        if new is not None:
            yield PassageChange(ChangeKind.NEW, new, came)


def _marks(old: str, new: str) -> tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]:
    """The words of each passage that the other lacks; none where they have little in common, or are long."""
    before, after = _words(old), _words(new)
    if max(len(before), len(after)) > WORDS_MOST:
        return (), ()
    matcher = SequenceMatcher(None, [old[a:b] for a, b in before], [new[a:b] for a, b in after], autojunk=False)
    if matcher.ratio() < ALIKE:
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
