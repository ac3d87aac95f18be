"""A process's visits share a crawl's vocabulary: one that it forgets half of disturbs no other."""

import sys
from concurrent.futures import ThreadPoolExecutor

from app.policy.focus.vocabulary import MOST_WORDS, Vocabulary


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
