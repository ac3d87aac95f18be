"""What went, what came, and how much of the rest is shown; texts that would take long are counted instead."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from app.policy import text_diff
from app.policy.text_diff import ALIGNED_MOST, BoundedMatcher, ChangeKind, Steps, compare


def said(old: str, new: str) -> list[str]:
    return [change.kind + change.text for change in compare(old, new)]


# old, new → what is shown, a kind and a passage a line
@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("", "", []),
        ("a\nb", "a\n\n  b ", []),
        ("", "a", ["+a"]),
        ("a", "", ["-a"]),
        ("a\nb\nc\nd\ne", "a\nb\nx\nd\ne", ["…1", " b", "-c", "+x", " d", "…1"]),
        ("a\nb\nc", "a\nb\nc\nnew", ["…2", " c", "+new"]),
        ("first\na\nb\nc", "a\nb\nc", ["-first", " a", "…2"]),
        ("a\nb", "b\na", ["+b", " a", "-b"]),
        ("a\nb\nc\nd\ne\nf", "x\nb\nc\nd\ne\ny", ["-a", "+x", " b", "…2", " e", "-f", "+y"]),
    ],
)
def test_passages(old: str, new: str, shown: list[str]) -> None:
    assert said(old, new) == shown


def marked(old: str, new: str) -> list[list[str]]:
    return [[change.text[a:b] for a, b in change.marked] for change in compare(old, new)]


def test_words_that_changed_within_a_passage_are_marked() -> None:
    old, new = "Version 4.1 costs 10 euros a month.", "Version 4.2 costs 12 euros a month."
    assert marked(old, new) == [["4.1", "10"], ["4.2", "12"]]


def test_a_passage_that_replaced_another_is_marked_nowhere() -> None:
    assert marked("The old news of yesterday.", "Something else entirely, longer.") == [[], []]


def test_a_passage_of_many_words_is_not_looked_into() -> None:
    old = " ".join(f"w{n}" for n in range(text_diff.WORDS_MOST + 1))
    assert marked(old, old + " more") == [[], []]


def test_texts_beyond_the_bound_are_counted() -> None:
    old = [f"line {n}" for n in range(ALIGNED_MOST + 10)]
    new = [*reversed(old), "line 5", "new"]
    found = [change for change in compare("\n".join(old), "\n".join(new)) if change.kind is not ChangeKind.SKIPPED]
    assert [(change.kind, change.text) for change in found if change.kind is not ChangeKind.SAME] == [
        (ChangeKind.NEW, "line 5"),
        (ChangeKind.NEW, "new"),
    ]


def test_nothing_is_lost_by_comparing() -> None:
    """The old text is what is gone and what is the same; the new one what came and what is the same."""
    draw = random.Random(7)
    for _ in range(200):
        old, new = ([draw.choice("abcdef") for _ in range(draw.randrange(12))] for _ in range(2))
        changes = compare("\n".join(old), "\n".join(new))
        whole = [change for change in changes if change.kind is not ChangeKind.SKIPPED]
        skipped = sum(int(change.text) for change in changes if change.kind is ChangeKind.SKIPPED)
        kept = [change for change in whole if change.kind is ChangeKind.SAME]
        gone = [change.text for change in whole if change.kind is ChangeKind.GONE]
        came = [change.text for change in whole if change.kind is ChangeKind.NEW]
        assert (changes == []) == (old == new)
        if changes:
            assert len(gone) + len(kept) + skipped == len(old)
            assert len(came) + len(kept) + skipped == len(new)


class Counted(list[int]):
    """The places of a text, which count how many of them were visited."""

    visited = 0

    def __iter__(self) -> Iterator[int]:
        for each in super().__iter__():
            Counted.visited += 1
            yield each


def of_few(seed: int, n: int) -> list[str]:
    return random.Random(seed).choices("ab", k=n)


# two texts, in passages, that would take millions of steps and more
MANY = [
    (["a", "b"] * 1_000, ["b", "a", "a", "b"] * 500),
    (["a"] * 2_000, ["a", "b"] * 1_000),
    (of_few(1, 2_000), of_few(2, 2_000)),
    ([f"{n}" for n in range(2_000)], [f"{n}" for n in reversed(range(2_000))]),
    ([*"ab"] * 250 + [f"{n}" for n in range(1_000)], [*"ba"] * 250 + [f"{n}" for n in range(1_000)]),
]


@pytest.mark.parametrize(("before", "after"), MANY, ids=range(len(MANY)))
@pytest.mark.parametrize("most", [1_000, 100_000, 1_000_000])
def test_no_more_places_are_visited_than_the_steps_allow(before: list[str], after: list[str], most: int) -> None:
    steps = Steps(most)
    matcher = BoundedMatcher(before, after, steps)
    matcher.b2j = {name: Counted(places) for name, places in matcher.b2j.items()}
    Counted.visited = 0
    matcher.get_matching_blocks()
    assert Counted.visited <= most - steps.left <= most
    assert steps.is_spent or most > 1_000


@pytest.mark.parametrize(("before", "after"), MANY[:3], ids=range(3))
def test_passages_that_take_too_many_steps_are_counted(before: list[str], after: list[str]) -> None:
    found = [each for each in compare("\n".join(before), "\n".join(after)) if each.kind in "+-"]
    gone = Counter(each.text for each in found if each.kind == "-")
    came = Counter(each.text for each in found if each.kind == "+")
    assert found
    assert came - gone == Counter(after) - Counter(before)
    assert gone - came == Counter(before) - Counter(after)


def test_words_that_take_too_many_steps_are_not_marked() -> None:
    old, new = ("\n".join(" ".join(of_few(seed + n, 500)) for n in range(100)) for seed in (1, 1_000))
    found = compare(old, new)
    assert [each.kind for each in found] == ["-", "+"] * 100
    assert not found[-1].marked


def test_the_same_passages_in_another_order_are_a_change() -> None:
    old = [f"line {n}" for n in range(ALIGNED_MOST + 10)]
    found = compare("\n".join(old), "\n".join(reversed(old)))
    assert (found[0].kind, found[0].text, found[1].text) == ("-", old[0], old[-1])
