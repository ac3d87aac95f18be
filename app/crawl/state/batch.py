"""A visit's batch: the results that its next settle writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from app.config import Settings
from app.crawl.state.part import Row, SettlePart
from app.model import Failure, Origin
from app.policy.candidate import Candidate
from app.policy.lifecycle import BatchEvent, BatchState, batch_after
from app.policy.robots import Work
from app.store.budgets import Budget
from app.store.fetches import Fetch
from app.store.pages import PageRow
from app.store.robots import AskedTdmrep, Fetched
from app.store.suppressions import Suppression
from app.store.url_rows import Due, Result

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


class Unread(Protocol):
    """A page that was fetched, and is read before the settle."""

    @property
    def body_bytes(self) -> int: ...
    def read(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class Findings:
    """The documents of a batch, and where they lead.

    links         of the readings
    work          that may still go into judging links by robots.txt
    named         links of the readings, by crawl and form
    admissions    what is admitted that no reading named
    suppressions  refused links, by crawl, key and reason
    taken_in      crawl and folder: redirects of seeds, which widen its scope
    """

    readings: list[ReadDocument] = field(default_factory=list)
    links: int = 0
    work: Work = field(default_factory=Work)
    named: dict[tuple[int, bytes], Candidate] = field(default_factory=dict)
    admissions: list[Candidate] = field(default_factory=list)
    suppressions: dict[tuple[int, bytes, str], Suppression] = field(default_factory=dict)
    taken_in: list[tuple[int, str]] = field(default_factory=list)

    def read(self, page: PageRow | None, links: list[Candidate]) -> ReadDocument:
        reading = ReadDocument(page=page, links=links)
        self.readings.append(reading)
        self.links += len(links)
        return reading


@dataclass(slots=True, kw_only=True)
class Tallies:
    """The counts of a batch.   left: URLs that were fetched for the first time, and are no longer queued"""

    of_crawl: dict[int, Tally] = field(default_factory=dict)
    left: int = 0


@dataclass(slots=True, kw_only=True)
class RobotsNews:
    """News of the host's robots.txt and tdmrep.json, by origin."""

    files: list[tuple[Origin, Fetched]] = field(default_factory=list)
    renewed: list[Origin] = field(default_factory=list)
    doubted: set[Origin] = field(default_factory=set)
    tdmrep: list[tuple[Origin, AskedTdmrep]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class AddressNews:
    """News for the budget of an address, of the host or of a hop: its last refusal, or that it answers again."""

    refused: tuple[Budget, Failure] | None = None
    answered: Budget | None = None


@dataclass(slots=True, kw_only=True)
class Batch:
    """The results that the next settle writes.

    started  monotonic second of its first result; before that, the end of the last batch
    sent     the settle whose commit was sent
    unread   pages that are read before the settle (`app.crawl.page.later`)
    counted  the URL whose attempt was counted ahead (`app.crawl.page.isolation`)
    parts    rows of everything else, by part
    """

    started: float
    state: BatchState = BatchState.OPEN
    sent: "Sent | None" = None
    unread: list[Unread] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    found: Findings = field(default_factory=Findings)
    tallies: Tallies = field(default_factory=Tallies)
    robots: RobotsNews = field(default_factory=RobotsNews)
    address: AddressNews = field(default_factory=AddressNews)
    counted: Due | None = None
    parts: dict[SettlePart[Any], list[Any]] = field(default_factory=dict)

    def move(self, event: BatchEvent) -> None:
        """Change the state by the table of app.policy.lifecycle.

        Raises KeyError for an impossible event: a bug.
        """
        self.state = batch_after(self.state, event)

    def add(self, part: SettlePart[Row], row: Row) -> None:
        self.parts.setdefault(part, []).append(row)

    def rows(self, part: SettlePart[Row]) -> list[Row]:
        """The rows of a part, as they are held; an empty list of nobody's where there are none."""
        return self.parts.get(part, [])

    def mark(self) -> "Mark":
        """How far the batch has come, for `back_to`."""
        parts = dict(zip(self.parts, map(len, self.parts.values()), strict=True)) if self.parts else {}
        return Mark(self.found.links, self.tallies.left, tuple(map(len, self._of_urls())), parts)

    def back_to(self, mark: "Mark") -> None:
        """Take out what a URL has added since: lists and dictionaries grow at their ends alone. Its requests stay."""
        self.found.links, self.tallies.left = mark.links, mark.left
        for held, length in zip(self._of_urls(), mark.lengths, strict=True):
            if isinstance(held, list):
                del held[length:]
            else:
                for key in list(held)[length:]:
                    del held[key]
        for part, rows in self.parts.items():
            if not part.stays:
                del rows[mark.parts.get(part, 0) :]

    def _of_urls(self) -> "tuple[list[Any] | dict[Any, Any], ...]":
        """Collections that one URL adds to, beside the parts: its result, its document and its links."""
        found = self.found
        return self.results, found.readings, found.named, found.admissions, found.suppressions, found.taken_in

    @property
    def urls(self) -> int:
        """URLs with a result, or with a page that is still to be read."""
        return len(self.results) + len(self.unread)

    @property
    def links_expected(self) -> int:
        """Links of the readings, and about those of the pages that are still to be read."""
        return self.found.links + sum(page.body_bytes for page in self.unread) // BYTES_PER_LINK

    def tally(self, crawl_id: int) -> Tally:
        tally = self.tallies.of_crawl.get(crawl_id)
        if tally is None:
            tally = self.tallies.of_crawl[crawl_id] = Tally()
        return tally


class Mark(NamedTuple):
    """A point that a batch can be taken back to.   lengths: of what URLs add to;   parts: numbers of their rows"""

    links: int
    left: int
    lengths: Sequence[int]
    parts: Mapping[SettlePart[Any], int]


class Sent(NamedTuple):
    """A settle whose commit was sent. xid: its transaction id.   leaves: it returns the host."""

    xid: str
    leaves: bool


def most_links(settings: Settings) -> int:
    """The most new links of a settle: it holds the locks of its rows while they are written."""
    return max(settings.max_links, 20_000)


def most_in_hand(settings: Settings, delay_s: float) -> int:
    """The most URLs that a visit to a host with this delay can have fetched and not settled."""
    if delay_s <= settings.linger_s:
        return settings.settle_urls
    return min(int(settings.settle_s / delay_s) + 1, settings.settle_urls)
