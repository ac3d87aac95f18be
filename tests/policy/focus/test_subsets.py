"""Subsets of patterns, by words and paths, and when one tells good URLs from others."""

from random import Random

import pytest

from app.policy.focus.patterns import Yield, brings, eased, has_turned, is_poor, is_retried, is_worse
from app.policy.focus.profile import TrapTerms
from app.policy.focus.subsets import Subset, paths, place_of, words

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
        ([0] * 3, (3, 3), True),
        ([0] * 3, (6, 3), False),  # one of eight times it is chance
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


def _kept(terms: TrapTerms, seed: int) -> float:
    """Of the good pages of a pattern, of which every second one is good by chance, the share that is fetched."""
    rng = Random(seed)
    waiting, refused = [rng.random() < 0.5 for _ in range(150)], []
    good, found, kept = sum(waiting), Yield(), 0
    while waiting:
        page = waiting.pop(0)
        is_tried = not is_poor(terms, found)
        if not is_tried:
            is_tried, found = is_retried(terms, found), found.refusing()
        if not is_tried:
            refused.append(page)
            continue
        before, found, kept = found, found.after(page), kept + page
        if has_turned(terms, before, found):
            waiting, refused = waiting + refused, []
    return kept / good


def test_where_there_are_requests_to_spare_chance_costs_hardly_a_page() -> None:
    usual, more = ([_kept(terms, seed) for seed in range(300)] for terms in (TERMS, eased(TERMS)))
    assert sum(more) / len(more) > 0.95
    assert sum(usual) / len(usual) < 0.85


def test_a_trap_still_ends_soon() -> None:
    terms, found, asked = eased(TERMS), Yield().after(True), 1
    while found.fetched < terms.trial or brings(terms, found):
        found, asked = found.after(False), asked + 1
    assert asked <= 11
