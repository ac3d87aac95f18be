"""The worth of a crawl's URLs on the visited host: the core's own order, and all that it asks of a better one.

A feature brings a better one (the hook `worth`). Without any the URLs that are nearest to a seed come first, and none
is refused for what its like has brought.
"""

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from app.model import Page, Refusal, RequestKind, Url
from app.policy.candidate import Candidate
from app.policy.recrawl import USUAL, Often
from app.store.url_rows import Due

if TYPE_CHECKING:
    from app.crawl.state.finder import Finder

ENDING_TRIES = 3  # requests for URLs of a host that end like a file, until one of them is a page
LANE = 1
_PAGE = RequestKind.PAGE


def name_of_ending(ending: str) -> str:
    """The name of all URLs of a host that end so."""
    return f"*.{ending}"


class FoundAt(NamedTuple):
    """Where a link stands.

    depth      links between its URL and a seed;   hops: redirects that led to it
    relevance  that the page hands to each link, 0 to 1; None: a list, a redirect or a handler names it
    """

    found_on: str
    depth: int
    hops: int
    relevance: float | None = None


class Impression:
    """A page that was read, before its links are judged.   relevance: to what its crawl is about, 0 to 1"""

    __slots__ = ()

    @property
    def relevance(self) -> float:
        return 0.0

    def learn(self) -> None:
        """Learn from the page, now that it is taken in."""


class Worth:
    """One crawl on the visited host.

    hears   each page that names a URL of the host counts, though the URL is known
    weighs  a URL that two pages of a batch name is judged for each of them
    """

    __slots__ = ()

    @property
    def hears(self) -> bool:
        return False

    @property
    def weighs(self) -> bool:
        return False

    def hear(
        self, finder: "Finder", crawl_id: int, url: Url, place: FoundAt, anchor: str | datetime | None, *, stands: bool
    ) -> bool:
        """Count a page that names a URL of the host. Returns whether an earlier page did.   stands: it has a row"""
        return False

    def heard(self, found: Candidate, relevance: float) -> None:
        """Note a candidate that no page named before, for those that follow."""

    def per_link(self, relevance: float, links: int) -> float:
        """The relevance that a page with so many links hands to each."""
        return relevance

    def candidate(
        self, crawl_id: int, url: Url, place: FoundAt, *, hint: str | datetime | None, now: datetime, is_here: bool
    ) -> Candidate | Refusal:
        """A link as it may enter the frontier: in its lane, refused with a row, or by its reason without one.

        hint     its anchor's text, or its lastmod by a sitemap that is believed
        is_here  it is of the visited host
        """
        score = 1 / (1 + place.depth)
        return Candidate(crawl_id, url, _PAGE, LANE, score, place.depth, place.hops, place.found_on)

    def as_view(self, found: Candidate) -> Candidate:
        """A candidate that has a query, and whose URL is known without: it may show the same in another way."""
        return found

    def count_again(self, found: Candidate) -> None:
        """Count a link to the visited host that another page of the batch names, too."""

    def first(self, drawn: list[Due]) -> list[Due]:
        """Those of a draw that are fetched before the next one, which may know better links."""
        return drawn

    def trap(self, due: Due, url: Url) -> str | None:
        """Why a URL that was picked is refused by what its like has brought by now; None: it is not."""
        return None

    def refuses_ending(self, ending: str) -> bool:
        """Whether as many URLs of the host with the ending were asked for as may be, and none was a page."""
        return False

    def asked_for(self, ending: str, *, is_page: bool) -> None:
        """Count a request for a URL with the ending of a file."""

    def read(self, due: Due, url: Url, document: Page, *, is_first: bool) -> Impression:
        """A page was read.   is_first: its URL was never fetched before, and its text is kept"""
        return _NONE

    def redirected(self, url: Url, to: Url, *, redirected_by: str | None) -> None:
        """Note a redirect.   redirected_by: the path and query on its host that led to it by a redirect"""

    def brought_nothing(self, url: Url) -> None:
        """Note a request that brought no page."""

    def often(self, target: str) -> Often:
        """How often a page is to be looked at, by its path and query."""
        return USUAL

    def written(self) -> None:
        """Leave nothing to write: it is committed, or Postgres refuses it."""


_NONE = Impression()
PLAIN = Worth()
