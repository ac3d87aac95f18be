"""A crawl's vocabulary: after many pages it learns from every fourth, and the visits that share it disturb no other.

All crawls of a process share a bound.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.policy.focus.vocabulary import (
    MANY_PAGES,
    MOST_WORDS,
    MOST_WORDS_OF_ALL,
    SAMPLED,
    Vocabulary,
    keep_within,
)


def test_threads_may_learn_while_rare_words_are_forgotten() -> None:
    vocabulary, before = Vocabulary(), sys.getswitchinterval()

    def visit(number: int) -> None:
        for page in range(30):
            vocabulary.learn(f"{number}-{page}-{word}" for word in range(MOST_WORDS // 2))

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(3) as threads:
            for each in [threads.submit(visit, number) for number in range(3)]:
                each.result()
    finally:
        sys.setswitchinterval(before)


class _Page:
    """The words of a page, which are read when it is learned from."""

    read = 0

    def __init__(self, *words: str) -> None:
        self._words = words

    def __iter__(self) -> Iterator[str]:
        _Page.read += 1
        return iter(self._words)


def test_of_many_pages_every_fourth_is_learned_from_and_a_word_is_worth_the_same() -> None:
    sampled, whole = Vocabulary(), Vocabulary()
    for page in range(MANY_PAGES):
        words = ["everywhere", *(["rare"] if page % 50 == 0 else [])]
        sampled.learn(words)
        whole.learn(words)
    _Page.read = 0
    for page in range(8 * MANY_PAGES):
        sampled.learn(_Page("everywhere", *(["rare"] if page // SAMPLED % 50 == 0 else [])))
    assert _Page.read == 8 * MANY_PAGES // SAMPLED
    for word in ("everywhere", "rare"):
        assert sampled.worth(word) == pytest.approx(whole.worth(word), abs=0.1), word
    assert sampled.worth("rare") > 0.4 > 0.01 > sampled.worth("everywhere")


def of(words: int, pages: int = 20) -> Vocabulary:
    found = Vocabulary()
    for _ in range(pages):
        found.learn(str(word) for word in range(words))
    return found


def test_the_vocabularies_of_many_crawls_are_bounded_together() -> None:
    crawls = [of(15_000) for _ in range(20)]
    for n in range(1, 21):
        keep_within(crawls[:n])
    assert sum(each.size for each in crawls) <= MOST_WORDS_OF_ALL
    assert [each.size for each in crawls[-6:]] == 6 * [15_000]


def test_a_crawl_forgets_its_rare_words_first() -> None:
    done, now = of(1_000), of(500)
    done.learn(f"rare {n}" for n in range(1_000))
    keep_within([done, now], most_words=1_500)
    assert (done.size, now.size) == (1_000, 500)


def test_the_vocabulary_in_use_keeps_its_own_bound() -> None:
    alone = of(10_000)
    keep_within([alone], most_words=100)
    assert alone.size == 10_000
