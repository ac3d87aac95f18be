"""A visit's share of the frontier: what it fetches next, the crawls it serves, and the estimate of what waits."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from app.crawl.state.worth import Worth
from app.model import Refusal, Url
from app.policy.scope import Scope
from app.store.crawls import Crawl
from app.store.url_rows import Due


class PickedCounts(NamedTuple):
    """Counts of `Picked` that a settle changes, and restores if it fails."""

    unfetched: int
    unfetched_on_row: int
    is_counted: bool
    granted: dict[int, int]


@dataclass(slots=True, kw_only=True)
class Picked:
    """URLs that a visit has picked from the frontier, and what it knows of their crawls. `app.crawl.frontier` changes
    it.

    due                the URLs to fetch, next first
    current            the URL that is being fetched
    notes              of the features, by their names
    granted            by crawl with a budget of pages: pages reserved, and not fetched yet
    crawls             that it serves;   scopes: of these;   worth: of the URLs of each, here
    floors             by crawl that is full: the score that a link must exceed
    joined             (directory, href) of links that were joined: most repeat from page to page
    unfetched          estimate of the host's URLs that wait for their first fetch, without the batch's
    unfetched_on_row   what it was when the host's row was last read or written
    is_counted         it was just counted exactly: the next settle writes that to the row
    is_budget_spent    a URL is due, but the page budgets have no room for it
    """

    due: deque[Due] = field(default_factory=deque)
    current: Due | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    granted: dict[int, int] = field(default_factory=dict)
    crawls: dict[int, Crawl] = field(default_factory=dict)
    scopes: dict[int, Scope] = field(default_factory=dict)
    worth: dict[int, Worth] = field(default_factory=dict)
    floors: dict[int, float] = field(default_factory=dict)
    joined: dict[tuple[str, str], Url | Refusal] = field(default_factory=dict)
    unfetched: int
    unfetched_on_row: int
    is_counted: bool = False
    is_budget_spent: bool = False

    def fetched_first(self) -> None:
        """One URL less waits for its first fetch."""
        self.unfetched = max(self.unfetched - 1, 0)

    def use_page(self, crawl_id: int, n: int) -> None:
        """Count pages of a crawl with a budget as fetched; below 0: they were none after all."""
        if crawl_id in self.granted:
            self.granted[crawl_id] -= n

    def learned(self) -> None:
        """Note that what was learned of the worth of URLs is written, or cannot be."""
        for each in self.worth.values():
            each.written()

    def written(self) -> None:
        """Note that the host's row has the estimate."""
        self.unfetched_on_row, self.is_counted = self.unfetched, False

    def counts(self) -> PickedCounts:
        return PickedCounts(self.unfetched, self.unfetched_on_row, self.is_counted, dict(self.granted))

    def restore(self, counts: PickedCounts) -> None:
        self.unfetched, self.unfetched_on_row, self.is_counted, self.granted = counts

    def drop_origin(self, prefix: str) -> None:
        """Leave out the URLs with this prefix: they are picked again when they may be fetched."""
        self.due = deque(due for due in self.due if not due.url.startswith(prefix))
