"""The vocabulary of a crawl: which words its pages use, and how much each tells of a subject (promise S3).

It is learned in memory from the pages that a process reads, and starts anew with the process: no row is written for
it, and so none is hot. TF-IDF as in K. Spärck Jones, "A statistical interpretation of term specificity", 1972.

Words of anchors, paths and pages, as scores compare them. No stemming but the English plural: a dictionary is not
worth it.

Tells how relevant a page is to the topics of its crawl, against the crawl's other pages (promise S3).

The share of a page's words that are topics says little alone: it is 5 % for a common word and 0.1 % for a rare one.
So it is compared with the mean of the crawl's pages, which is learned in memory as a vocabulary is.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import log, sqrt
from typing import Final

from app.policy.focus.profile import Profile

MOST_WORDS = 20_000  # of a crawl
MOST_WORDS_OF_ALL = 100_000  # of a process's crawls: 10 MB
LEAST_PAGES = 5  # before a vocabulary says anything
LANGUAGES: Final = ("any", "en")
_WORD: Final = re.compile(r"[^\W\d_]{2,40}")
_ASCII_WORD: Final = re.compile(r"[a-z]{2,40}")  # the same of ASCII in lower case, in two thirds of the time
_PLURAL: Final = re.compile(r"(?<=[^s])s\Z")
MOST_PAGES: Final = 1_000  # of a mean; then all count half, so that it follows the crawl
AT_BEST: Final = 2.0  # times the mean: it is worth all, and the mean page a half
MANY_LINKS: Final = 40  # a page that names more says less of each: a list of releases, a table of contents


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


def tokens(text: str, language: str = "any") -> list[str]:
    """The words of a text in lower case, in their order; numbers and single letters are left out."""
    lower = text.lower()
    found = (_ASCII_WORD if lower.isascii() else _WORD).findall(lower)
    if language == "en":
        return [_PLURAL.sub("", word) if len(word) > 3 else word for word in found]
    return found


class TopicShare:
    """The mean share of topics in pages. Not for threads: its owner locks it, or bears a lost count."""

    __slots__ = ("_pages", "_sum")

    def __init__(self) -> None:
        self._pages = 0
        self._sum = 0.0

    def relevance(self, share: float) -> float:
        """The relevance, 0 to 1, of a page with such a share.

        The first page has none, as there is nothing to compare it with: it names the whole site mostly. Of the others
        the first with a topic is a mean one.
        """
        before, pages = self._sum, self._pages
        self._pages, self._sum = pages + 1, before + share
        if self._pages >= MOST_PAGES:
            self._pages, self._sum = self._pages // 2, self._sum / 2
        return relevance(share, before / pages if before else share) if pages else 0.0


def relevance(share: float, mean: float) -> float:
    """0 for a page without topics, 1 from twice the mean on."""
    return min(share / (AT_BEST * mean), 1.0) if share and mean else 0.0


def per_link(relevance: float, links: int) -> float:
    """The relevance that a page with so many links hands to each."""
    return relevance * sqrt(min(MANY_LINKS / links, 1.0)) if links else relevance


def topic_share(profile: Profile, words: Collection[str]) -> float:
    """The share of words, as `novelty.words_of` gives them, that are topics."""
    return sum(map(profile.spelled_topics.__contains__, words)) / len(words) if words else 0.0
