"""Subsets of a host's patterns, counted by their yields."""

import pytest

from app.crawl.state.subsets import MOST, Subsets
from app.policy.focus.patterns import EXPLORED, Yield
from app.policy.focus.profile import TrapTerms
from app.policy.focus.subsets import words

TERMS = TrapTerms()
MIXED = Yield().after(True).after(False)
LONG = f"/{'a' * 60}/{'b' * 70}/view?id=1"


@pytest.fixture
def yields() -> dict[str, Yield]:
    return {}


@pytest.fixture
def subsets(yields: dict[str, Yield]) -> Subsets:
    return Subsets(yields)


def note(subsets: Subsets, yields: dict[str, Yield], target: str, *pages: int) -> None:
    for is_new in pages:
        for name, after in list(subsets.after(MIXED, words(target), bool(is_new))):
            yields[name] = after


def speaks(subsets: Subsets, target: str, *, explores: bool = False) -> bool:
    return subsets.speak_for(TERMS, words(target), explores=explores)


def test_a_word_with_new_text_speaks_for_its_urls(subsets: Subsets, yields: dict[str, Yield]) -> None:
    note(subsets, yields, "/mod/quiz/1", 0, 0, 0)
    note(subsets, yields, "/mod/page/2", 1, 1, 1)
    assert speaks(subsets, "/mod/page/3")
    assert not speaks(subsets, "/mod/quiz/3")
    assert not speaks(subsets, "/mod/forum/3")
    assert subsets.worse(TERMS, words("/mod/quiz/3")) == "∋/mod/{quiz}/#"
    assert subsets.worse(TERMS, words("/mod/page/3")) is None


def test_a_few_words_are_tried_and_more_where_one_is_good(subsets: Subsets, yields: dict[str, Yield]) -> None:
    for n in range(EXPLORED):
        assert speaks(subsets, "/mod/more/1", explores=True)
        note(subsets, yields, f"/mod/{'abc'[n]}/1", 0)
    assert not speaks(subsets, "/mod/more/1", explores=True)
    note(subsets, yields, "/mod/page/1", 1, 1)
    note(subsets, yields, "/mod/text/1", 1, 1)
    assert speaks(subsets, "/mod/more/1", explores=True)


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
    assert len(yields) == MOST


def test_they_are_the_same_when_read_again(subsets: Subsets, yields: dict[str, Yield]) -> None:
    note(subsets, yields, "/mod/quiz/1", 0, 0, 0)
    note(subsets, yields, "/mod/page/2", 1, 1, 1)
    again = Subsets(dict(yields))
    assert again.worse(TERMS, words("/mod/quiz/3")) == "∋/mod/{quiz}/#"
    assert speaks(again, "/mod/page/3")


def test_a_name_that_was_cut_is_read_again(subsets: Subsets, yields: dict[str, Yield]) -> None:
    note(subsets, yields, LONG, 0, 0, 0)
    assert Subsets(dict(yields)).worse(TERMS, words(LONG)) is None
