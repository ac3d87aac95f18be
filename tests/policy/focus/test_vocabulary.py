"""A crawl's vocabulary: it learns from every page, and the visits that share it disturb no other.

All crawls of a process share a bound.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from math import log

import pytest

from app.policy.focus.vocabulary import MOST_WORDS, MOST_WORDS_OF_ALL, Vocabulary, keep_within


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


def test_a_word_is_worth_what_all_pages_say_however_many_there_are() -> None:
    """A word that a section begins to use after thousands of pages counts as often as it is there."""
    vocabulary = Vocabulary()
    for page in range(4_000):
        vocabulary.learn(["everywhere", *(["late"] if page >= 3_998 else [])])
    assert vocabulary.worth("late") == pytest.approx(log(4_001 / 3) / log(4_001))
    assert vocabulary.worth("everywhere") == 0.0


def of(words: int, pages: int = 20) -> Vocabulary:
    found = Vocabulary()
    for _ in range(pages):
        found.learn(str(word) for word in range(words))
    return found


def test_the_vocabularies_of_many_crawls_are_bounded_together() -> None:
    first = of(15_000)
    crawls = [deepcopy(first) for _ in range(20)]
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
