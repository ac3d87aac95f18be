"""Subsets of patterns, by words and paths, and when one tells good URLs from others."""

import pytest

from app.policy.focus.patterns import Subset, Yield, is_worse, paths, place_of, words
from app.policy.focus.profile import TrapTerms

TERMS = TrapTerms()


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("/mod/quiz/view?id=3", {"∋/mod/{quiz}/w?id": "/mod/{}/w?id", "∋/mod/w/{view}?id": "/mod/w/{}?id"}),
        ("/match/7/report", {}),  # the last word names a page
        ("/hc/en/articles/36-x", {"∋/hc/{en}/w/w#": "/hc/{}/w/w#", "∋/hc/w/{articles}/w#": "/hc/w/{}/w#"}),
        ("/2024/05/News/17", {"∋/@/#/{news}/#": "/@/#/{}/#"}),
        ("/wiki/Talk:Cats/x", {"∋/wiki/{talk:cats}/w": "/wiki/{}/w"}),
        ("/match", {}),  # its first word is in its shape
        ("/match?id=1", {}),
        ("/a" * 9, {}),
    ],
)
def test_words_of_a_shape_are_subsets(target: str, named: dict[str, str]) -> None:
    assert dict(words(target)) == named


@pytest.mark.parametrize(
    ("target", "difference", "named"),
    [
        ("/Mod/quiz/view?id=3", "≈?id", [Subset("∋/mod/quiz/view?id", "≈?id")]),
        ("/x?a=1&b=2", "≈?a&b", [Subset("∋/x?a&b", "≈?a&b")]),
        ("/r/blame/x", "≈/w/{blame}/w", []),
    ],
)
def test_paths_are_subsets_of_a_difference_in_the_query(target: str, difference: str, named: list[Subset]) -> None:
    assert paths(target, difference) == named


@pytest.mark.parametrize("target", ["/mod/quiz/view?id=3", "/hc/en/articles/36-x", "/wiki/talk:cats/x"])
def test_a_name_says_its_place(target: str) -> None:
    found = [*words(target), *paths(target, "≈?id")]
    assert [place_of(each.name) for each in found] == [each.place for each in found]


@pytest.mark.parametrize(
    ("own", "others", "is_so"),
    [
        ([0] * 4, (3, 3), True),
        ([0] * 3, (3, 3), False),  # three others prove little
        ([0] * 5, (6, 3), False),  # one of 32 times it is chance
        ([0] * 6, (6, 3), True),
        ([0] * 6, (0, 0), False),  # there are no others
        ([0] * 6, (9, 0), False),  # which are no better
        ([0] * 2, (9, 9), False),  # before its trial is over
        ([0] * 6 + [1], (9, 9), False),
    ],
)
def test_a_subset_is_worse_if_it_is_hardly_chance(own: list[int], others: tuple[int, int], is_so: bool) -> None:
    found = Yield()
    for is_new in own:
        found = found.after(bool(is_new))
    assert is_worse(TERMS, found, fetched=others[0], new=others[1]) is is_so
