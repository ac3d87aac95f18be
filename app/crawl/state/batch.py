"""A visit's batch: the results that its next settle writes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from app.archive.recording import Recording
from app.config import Settings
from app.model import Capture, Cause, Failure, Origin
from app.policy.candidate import Candidate
from app.policy.lifecycle import UrlState
from app.policy.lifecycle_visit import BatchEvent, BatchState, batch_after
from app.policy.robots import Work
from app.store.budgets import Budget
from app.store.fetches import Fetch
from app.store.links import LinksRow
from app.store.pages import PageRow, Revision, Where
from app.store.renders import RenderEnd, RenderRow
from app.store.robots import AskedTdmrep, Fetched
from app.store.suppressions import Suppression
from app.store.url_rows import Due, Raise, Result

# What one URL adds to: its result, its document and its links. Not its requests, which were made.
_OF_A_URL = (
    "results",
    "readings",
    "named",
    "kept_out",
    "kept_links",
    "revisions",
    "admissions",
    "raises",
    "suppressions",
    "give_up",
    "taken_in",
    "renders",
)
BYTES_PER_LINK = 200  # of HTML; links are what a group commit is bounded by


@dataclass(slots=True, kw_only=True)
class Tally:
    """The counts of one crawl in a batch."""

    pages: int = 0
    fetches: int = 0
    failed: int = 0
    bytes: int = 0


@dataclass(slots=True, kw_only=True)
class ReadDocument:
    """A document of the batch, and its links to be admitted. page: None where the document is not kept."""

    page: PageRow | None
    links: list[Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivingUp:
    """Queued URLs of the host that end now.

    prefix        the prefix of these URLs, such as an origin; "" for all
    spares_fresh  leave out those of crawls that keep fresh
    """

    state: UrlState
    cause: Cause
    detail: str | None = None
    prefix: str = ""
    spares_fresh: bool = False


class Unread(Protocol):
    """A page that was fetched, and is read before the settle."""

    @property
    def body_bytes(self) -> int: ...
    def read(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class Batch:
    """The results that the next settle writes.

    started  monotonic second of its first result; before that, the end of the last batch
    sent     the settle whose commit was sent
    """

    started: float
    state: BatchState = BatchState.OPEN
    sent: "Sent | None" = None
    results: list[Result] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)  # `app.crawl.page.later`
    readings: list[ReadDocument] = field(default_factory=list)
    links: int = 0  # of the readings
    work: Work = field(default_factory=Work)  # that may still go into judging links by robots.txt
    named: dict[tuple[int, bytes], Candidate] = field(default_factory=dict)  # links of these, by crawl and form
    kept_out: list[Where] = field(default_factory=list)
    kept_links: list[LinksRow] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    admissions: list[Candidate] = field(default_factory=list)
    raises: dict[tuple[int, bytes], Raise] = field(default_factory=dict)  # by crawl and key: scores of URLs that wait
    claims: dict[int, tuple[int, int]] = field(default_factory=dict)
    suppressions: dict[tuple[int, bytes, str], Suppression] = field(default_factory=dict)
    robots: list[tuple[Origin, Fetched]] = field(default_factory=list)
    renewed_robots: list[Origin] = field(default_factory=list)
    doubted_robots: set[Origin] = field(default_factory=set)
    tdmrep: list[tuple[Origin, AskedTdmrep]] = field(default_factory=list)
    tallies: dict[int, Tally] = field(default_factory=dict)
    give_up: list[GivingUp] = field(default_factory=list)
    counted: Due | None = None
    refused: tuple[Budget, Failure] | None = None
    answered: Budget | None = None
    taken_in: list[tuple[int, str]] = field(default_factory=list)  # crawl, folder: redirects of seeds
    unstored: list[tuple[Callable[[], Recording], Fetch]] = field(default_factory=list)  # not archived yet
    captures: list[Capture] = field(default_factory=list)
    renders: list[RenderRow] = field(default_factory=list)  # pages that a browser is to open
    rendered: list[RenderEnd] = field(default_factory=list)  # pages that one has opened
    left: int = 0  # URLs that were fetched for the first time, and are no longer queued

    def move(self, event: BatchEvent) -> None:
        """Change the state by the table of app.policy.lifecycle_visit.

        Raises KeyError for an impossible event: a bug.
        """
        self.state = batch_after(self.state, event)

    def read(self, page: PageRow | None, links: list[Candidate]) -> None:
        self.readings.append(ReadDocument(page=page, links=links))
        self.links += len(links)

    def mark(self) -> "Mark":
        """How far the batch has come, for `back_to`."""
        return Mark(self.links, self.left, tuple([len(getattr(self, name)) for name in _OF_A_URL]))

    def back_to(self, mark: "Mark") -> None:
        """Take out what a URL has added since: lists and dictionaries grow at their ends alone."""
        self.links, self.left = mark.links, mark.left
        for name, length in zip(_OF_A_URL, mark.lengths, strict=True):
            held = getattr(self, name)
            if isinstance(held, list):
                del held[length:]
            while len(held) > length:
                held.popitem()

    @property
    def urls(self) -> int:
        """URLs with a result, or with a page that is still to be read."""
        return len(self.results) + len(self.unread)

    @property
    def links_expected(self) -> int:
        """Links of the readings, and about those of the pages that are still to be read."""
        return self.links + sum(page.body_bytes for page in self.unread) // BYTES_PER_LINK

    def tally(self, crawl_id: int) -> Tally:
        return self.tallies.setdefault(crawl_id, Tally())


class Mark(NamedTuple):
    """A point that a batch can be taken back to. lengths: of its collections, in the order of _OF_A_URL."""

    links: int
    left: int
    lengths: tuple[int, ...]


class Sent(NamedTuple):
    """A settle whose commit was sent. xid: its transaction id.   leaves: it returns the host."""

    xid: str
    leaves: bool


def most_in_hand(settings: Settings, delay_s: float) -> int:
    """The most URLs that a visit to a host with this delay can have fetched and not settled."""
    if delay_s <= settings.linger_s:
        return settings.settle_urls
    return min(int(settings.settle_s / delay_s) + 1, settings.settle_urls)
