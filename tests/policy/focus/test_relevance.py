"""The relevance of a page to the topics of its crawl: against the mean, which follows the crawl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.focus.profile_text import read
from app.policy.focus.vocabulary import MANY_LINKS, MOST_PAGES, TopicShare, per_link, relevance, topic_share


# share of the page, mean of the crawl → relevance
@pytest.mark.parametrize(
    ("share", "mean", "expected"),
    [(0.0, 0.02, 0.0), (0.01, 0.02, 0.25), (0.02, 0.02, 0.5), (0.04, 0.02, 1.0), (0.9, 0.02, 1.0), (0.5, 0.0, 0.0)],
)
def test_relevance_is_against_the_mean(share: float, mean: float, expected: float) -> None:
    assert relevance(share, mean) == pytest.approx(expected)


def test_the_first_page_has_nothing_to_be_compared_with() -> None:
    shares = TopicShare()
    assert [shares.relevance(share) for share in (0.9, 0.9, 0.9)] == pytest.approx([0.0, 0.5, 0.5])


# relevance of a page, its links → what each is handed
@pytest.mark.parametrize(
    ("relevance", "links", "expected"),
    [(0.8, 1, 0.8), (0.8, MANY_LINKS, 0.8), (0.8, 4 * MANY_LINKS, 0.4), (0.8, 0, 0.8), (0.0, 900, 0.0)],
)
def test_a_page_that_names_much_says_less_of_each(relevance: float, links: int, expected: float) -> None:
    assert per_link(relevance, links) == pytest.approx(expected)


def test_the_first_page_with_a_topic_after_it_is_a_mean_one() -> None:
    shares = TopicShare()
    assert [shares.relevance(share) for share in (0.0, 0.1, 0.1, 0.0)] == pytest.approx([0.0, 0.5, 0.75 * 4 / 3, 0.0])


def test_the_mean_follows_the_crawl() -> None:
    shares = TopicShare()
    for share in [0.5] * MOST_PAGES + [0.01] * 4 * MOST_PAGES:
        last = shares.relevance(share)
    assert last == pytest.approx(0.5, abs=0.25)


@given(st.lists(st.floats(0, 1)))
def test_any_page_has_a_relevance(shares: list[float]) -> None:
    found = TopicShare()
    assert all(0 <= found.relevance(share) <= 1 for share in shares)


# topics, words of a page → the share that is of them
@pytest.mark.parametrize(
    ("topics", "words", "expected"),
    [
        ('words = ["Index", "query"]\nlanguage = "en"', ["index", "indexs", "an", "querys"], 0.75),
        ('words = ["index"]', ["index", "indexs"], 0.5),
        ('words = ["class"]\nlanguage = "en"', ["class", "classs"], 0.5),
        ('words = ["index"]', [], 0.0),
        ("words = []", ["index"], 0.0),
    ],
)
def test_topics_are_counted_as_anchors_spell_them(topics: str, words: list[str], expected: float) -> None:
    assert topic_share(read(f"[topics]\n{topics}\n"), words) == pytest.approx(expected)
