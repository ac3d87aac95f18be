"""Subsets of a host's patterns, counted by their yields."""

import pytest

from app.policy.focus.patterns import MOST_SUBSETS, Subsets, Yield, words
from app.policy.focus.profile import TrapTerms
from tests.features.focus.test_focus import judging, learn, prose

TERMS = TrapTerms()
MIXED = Yield().after(True).after(False)
LONG = f"/{'a' * 60}/{'b' * 70}/view?id=1"


@pytest.fixture
def yields() -> dict[str, Yield]:
    return {}


@pytest.fixture
def subsets(yields: dict[str, Yield]) -> Subsets:
    return Subsets(yields)


def note(subsets: Subsets, yields: dict[str, Yield], target: str, *pages: int, is_copy: bool = False) -> None:
    for is_new in pages:
        for name, after in list(subsets.after(MIXED, words(target), bool(is_new), is_copy=is_copy)):
            yields[name] = after


def speaks(subsets: Subsets, target: str) -> bool:
    return subsets.speak_for(TERMS, words(target))


def test_a_word_with_new_text_speaks_for_its_urls(subsets: Subsets, yields: dict[str, Yield]) -> None:
    note(subsets, yields, "/mod/quiz/1", 0, 0, 0, 0)
    note(subsets, yields, "/mod/page/2", 1, 1, 1)
    assert speaks(subsets, "/mod/page/3")
    assert not speaks(subsets, "/mod/quiz/3")
    assert not speaks(subsets, "/mod/forum/3")
    assert subsets.worse(TERMS, words("/mod/quiz/3")) == "∋/mod/{quiz}/#"
    assert subsets.worse(TERMS, words("/mod/page/3")) is None


def test_a_word_with_one_new_page_speaks_for_no_more_than_the_next_one(
    subsets: Subsets, yields: dict[str, Yield]
) -> None:
    """Each page of a tree of folders is a copy of others, and counts against no word."""
    note(subsets, yields, "/tree/a/1", 1)
    note(subsets, yields, "/tree/b/1", 1, 1)
    note(subsets, yields, "/tree/c/1", 0, 0, 0, 0)
    assert speaks(subsets, "/tree/a/2")
    for word in "ab":
        note(subsets, yields, f"/tree/{word}/2", *[0] * 9, is_copy=True)
    assert [speaks(subsets, f"/tree/{word}/3") for word in "abc"] == [False, True, False]
    assert [subsets.worse(TERMS, words(f"/tree/{word}/3")) for word in "abc"] == [None, None, "∋/tree/{c}/#"]


def test_copies_make_no_word_worse_of_whose_own_pages_half_brought_something(
    subsets: Subsets, yields: dict[str, Yield]
) -> None:
    note(subsets, yields, "/tree/a/1", *[1] * 20)
    note(subsets, yields, "/tree/b/1", 1, 1, 0, 0)
    note(subsets, yields, "/tree/b/2", *[0] * 9, is_copy=True)
    assert subsets.worse(TERMS, words("/tree/b/3")) is None


def test_a_word_that_all_have_tells_nothing(subsets: Subsets, yields: dict[str, Yield]) -> None:
    note(subsets, yields, "/mod/view/1", 0, 0, 0, 0, 0, 0, 0, 0)
    assert subsets.worse(TERMS, words("/mod/view/2")) is None


def test_where_all_pages_bring_something_nothing_is_kept(subsets: Subsets) -> None:
    assert list(subsets.after(Yield().after(True), words("/mod/view/1"), True)) == []


def test_a_host_has_only_so_many(subsets: Subsets, yields: dict[str, Yield]) -> None:
    letters = "abcdefghijklmnopqrst"
    for first in letters:
        for second in letters:
            note(subsets, yields, f"/mod/{first}{second}/1", 0)
    assert len(yields) == MOST_SUBSETS


def test_they_are_the_same_when_read_again(subsets: Subsets, yields: dict[str, Yield]) -> None:
    note(subsets, yields, "/mod/quiz/1", 0, 0, 0, 0)
    note(subsets, yields, "/mod/page/2", 1, 1, 1)
    again = Subsets(dict(yields))
    assert again.worse(TERMS, words("/mod/quiz/3")) == "∋/mod/{quiz}/#"
    assert speaks(again, "/mod/page/3")


def test_a_name_that_was_cut_is_read_again(subsets: Subsets, yields: dict[str, Yield]) -> None:
    note(subsets, yields, LONG, 0, 0, 0, 0)
    assert Subsets(dict(yields)).worse(TERMS, words(LONG)) is None


def test_copies_of_fetched_pages_do_not_count_against_a_word() -> None:
    """Those of a mirror that came first: what they say is known, and not for their word."""
    focus = judging()
    for n in range(6):
        learn(focus, f"/docs/text/{n}", prose(f"docs {n}"))
    learn(focus, "/docs/text/6", prose("docs 0"))
    for n in range(10, 16):
        learn(focus, f"/docs/mirror/{n}", prose(n))
    for n in range(10, 16):
        learn(focus, f"/docs/shop/{n}", prose(n))
        learn(focus, f"/docs/form/{n + 90}", prose("a form"))
    assert "∋/docs/{shop}/#" not in focus.yields
    assert focus.yields["∋/docs/{form}/#"].fetched in {5, 6}, "a filter takes one in fifty for a copy"
