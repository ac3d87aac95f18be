"""Profiles: what a crawl values, as a table of paths, lanes, topics and limits (promise S2). The values;
`profile_text` reads them.

A profile ranks links and decides when pages are due. It never widens a crawl's scope, nor its pace.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

from app.model import Url
from app.policy.recrawl import Often

REACH: Final = (
    256  # characters of path and query that patterns see: with two repetitions in a row a search takes 30 ms at most
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Some paths, and how a profile treats them.

    name        as a person sees it: its first word, or its pattern
    lane        front queue, 0 to 3
    weight      the base of the score, 0 to 1
    every_s     base recrawl interval; None: the setting recrawl_base_s
    importance  how much the freshness of its pages counts under a budget: 2 is as good as half the price of a request
    """

    name: str
    lane: int = 1
    weight: float = 0.5
    every_s: float | None = None
    importance: float = 1.0

    @property
    def often(self) -> Often:
        """How often its pages are wanted."""
        return Often(self.every_s, self.importance)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapTerms:
    """How far patterns of URLs that bring nothing new are followed.

    trial      pages of a pattern that are fetched before it must have brought something
    new_share  of its latest pages, the least that must bring new text, themselves or by the pages that they name first
    retry      after so many refused URLs one is fetched after all, then after eight times as many, and so on
    depth      path segments beyond which a URL is refused
    repeats    times in a row that segments may repeat in a path
    allow      searched in path and query: what matches is never refused as a trap
    """

    trial: int = 3
    new_share: float = 0.2
    retry: int = 1_000
    depth: int = 24
    repeats: int = 3
    allow: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A crawl's values: where it spends its requests.

    shares    of the draws, by lane
    rest      for paths that no branch names
    words     branches by a whole segment of the path, in lower case: the first segment that is named decides
    patterns  branches by a pattern, searched in path and query before the words
    topics    words that the crawl is about, as `vocabulary.tokens` spells them
    language  of the topics: "en" or "any"
    requests_per_day  for recrawls of the whole crawl; None: no limit
    posts     searched in path and query: what rendered pages may POST to, within the scope; none: nothing
    """

    name: str
    shares: tuple[int, int, int, int] = (8, 4, 2, 1)
    rest: Branch = field(default_factory=lambda: Branch(name="any other"))
    words: dict[str, Branch] = field(default_factory=dict)
    patterns: tuple[tuple[re.Pattern[str], Branch], ...] = ()
    topics: frozenset[str] = frozenset()
    language: str = "any"
    traps: TrapTerms = field(default_factory=TrapTerms)
    requests_per_day: float | None = None
    posts: tuple[re.Pattern[str], ...] = ()

    @cached_property
    def weights(self) -> dict[int, int]:
        """Lane → its share of the draws."""
        return dict(enumerate(self.shares))

    @cached_property
    def spelled_topics(self) -> frozenset[str]:
        """The topics, with the plurals that `vocabulary.tokens` folds: a page's words need no folding then."""
        plurals = {f"{topic}s" for topic in self.topics if len(topic) > 2 and not topic.endswith("s")}
        return self.topics | plurals if self.language == "en" else self.topics

    def branch(self, target: str) -> Branch:
        """The branch of a path and query. Only the path counts, but for patterns."""
        return self._remembered_branch(target)

    @cached_property
    def _remembered_branch(self) -> Callable[[str], Branch]:
        """A link is asked for once more by the next pages of its batch, and when it is fetched."""
        return lru_cache(maxsize=1_024)(self._branch)

    def _branch(self, target: str) -> Branch:
        for pattern, branch in self.patterns:
            if pattern.search(target, 0, REACH):
                return branch
        path = target.partition("?")[0].lower()
        words = self.words
        for segment in path.split("/"):
            if segment in words:
                return words[segment]
        return self.rest

    def may_post(self, url: Url) -> bool:
        """Whether a rendered page may POST there, by its path."""
        return any(pattern.search(url.target, 0, REACH) for pattern in self.posts)

    def allows(self, url: Url) -> bool:
        """Whether the profile says that this is no trap."""
        return any(pattern.search(url.target, 0, REACH) for pattern in self.traps.allow)
