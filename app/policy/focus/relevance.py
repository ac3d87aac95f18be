"""Tells how relevant a page is to the topics of its crawl, against the crawl's other pages (promise S3).

The share of a page's words that are topics says little alone: it is 5 % for a common word and 0.1 % for a rare one.
So it is compared with the mean of the crawl's pages, which is learned in memory as a vocabulary is.
"""

from collections.abc import Collection
from math import sqrt
from typing import Final

from app.policy.focus.profile import Profile

MOST_PAGES: Final = 1_000  # of a mean; then all count half, so that it follows the crawl
AT_BEST: Final = 2.0  # times the mean: it is worth all, and the mean page a half
MANY_LINKS: Final = 40  # a page that names more says less of each: a list of releases, a table of contents


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
