"""The vocabulary of a crawl: which words its pages use, and how much each tells of a subject (promise S3).

It is learned in memory from the pages that a process reads, and starts anew with the process: no row is written for
it, and so none is hot. TF-IDF as in K. Spärck Jones, "A statistical interpretation of term specificity", 1972.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from app.policy.focus.relevance import TopicShare

MOST_WORDS = 20_000  # of a crawl
MOST_WORDS_OF_ALL = 100_000  # of a process's crawls: 10 MB
LEAST_PAGES = 5  # before a vocabulary says anything


class Vocabulary:
    """Words and the number of pages that each is on. Threads that share it may lose a count.

    topics   how much of the pages is of the crawl's topics
    """

    __slots__ = ("_pages", "_words", "topics")

    def __init__(self) -> None:
        self._words: Counter[str] = Counter()
        self._pages = 0  # that were counted
        self.topics = TopicShare()

    def learn(self, words: Iterable[str]) -> None:
        """Count one more page."""
        known = self._words
        self._pages += 1
        known.update(set(words))
        if len(known) > MOST_WORDS:
            left = {word: pages for word, pages in known.copy().items() if pages > 1}  # another thread may add to it
            if len(left) > MOST_WORDS // 2:
                self.halve()
            else:
                self._words = Counter(left)

    def halve(self) -> None:
        """Count half the pages, so that what is rare by now goes."""
        self._words = Counter({word: pages // 2 for word, pages in self._words.copy().items() if pages > 3})
        self._pages //= 2

    @property
    def size(self) -> int:
        """The number of its words."""
        return len(self._words)

    def worth(self, word: str) -> float:
        """0 for words of one page or none, and nearly 0 for those of all pages; near 1 for rare ones."""
        pages = self._words.get(word, 0)
        if pages < 2 or self._pages < LEAST_PAGES:
            return 0.0
        return max(log((1 + self._pages) / (1 + pages)) / log(1 + self._pages), 0.0)


def keep_within(vocabularies: Sequence[Vocabulary], most_words: int = MOST_WORDS_OF_ALL) -> None:
    """Have those that were not used for longest halved, as far as all together have more words than that.

    vocabularies: the least recently used first. The last one keeps its own bound.
    """
    excess = sum(each.size for each in vocabularies) - most_words
    for each in vocabularies[:-1] if excess > 0 else ():
        while excess > 0 and (before := each.size):
            each.halve()
            excess -= before - each.size
