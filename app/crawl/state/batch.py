"""What the next settle of a visit writes."""

from dataclasses import dataclass, field
from typing import NamedTuple

from app.model import Cause, Failure, Origin
from app.policy.candidate import Candidate
from app.policy.lifecycle import UrlState
from app.policy.lifecycle_visit import BatchEvent, BatchState, batch_after
from app.store.budgets import Budget
from app.store.fetches import Fetch
from app.store.pages import PageRow, Revision, Where
from app.store.robots import AskedTdmrep, Fetched
from app.store.suppressions import Suppression
from app.store.url_rows import Due, Result


@dataclass(slots=True, kw_only=True)
class Tally:
    """What one crawl got in a batch."""

    pages: int = 0
    fetches: int = 0
    failed: int = 0
    bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Reading:
    """A document of the batch and the links it wants admitted; page None where it is not kept."""

    page: PageRow | None
    links: list[Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivingUp:
    """Queued URLs of the host that end now.

    prefix        of these URLs, such as an origin's; "" for all
    spares_fresh  but for those of crawls that keep fresh
    """

    state: UrlState
    cause: Cause
    detail: str | None = None
    prefix: str = ""
    spares_fresh: bool = False


@dataclass(slots=True, kw_only=True)
class Batch:
    """What the next settle writes.

    started  since when it has had something to write; at first, when the last one ended
    sent     the settle whose commit was sent
    """

    started: float
    state: BatchState = BatchState.OPEN
    sent: "Sent | None" = None
    results: list[Result] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    links: int = 0  # of the readings
    kept_out: list[Where] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    admissions: list[Candidate] = field(default_factory=list)
    claims: dict[int, tuple[int, int]] = field(default_factory=dict)
    suppressions: dict[tuple[int, bytes, str], Suppression] = field(default_factory=dict)
    robots: list[tuple[Origin, Fetched]] = field(default_factory=list)
    renewed_robots: list[Origin] = field(default_factory=list)
    doubted_robots: set[Origin] = field(default_factory=set)
    tdmrep: list[tuple[Origin, AskedTdmrep]] = field(default_factory=list)
    tallies: dict[int, Tally] = field(default_factory=dict)
    last_end: float | None = None
    give_up: list[GivingUp] = field(default_factory=list)
    counted: Due | None = None
    refused: tuple[Budget, Failure] | None = None
    answered: Budget | None = None
    taken_in: list[tuple[int, str]] = field(default_factory=list)  # crawl, folder: redirects of seeds
    left: int = 0  # results of URLs that nobody had fetched before, and that are not queued any more

    def move(self, event: BatchEvent) -> None:
        """By the table of app.policy.lifecycle_visit. Raises KeyError for what cannot happen: a bug."""
        self.state = batch_after(self.state, event)

    def read(self, page: PageRow | None, links: list[Candidate]) -> None:
        self.readings.append(Reading(page=page, links=links))
        self.links += len(links)

    def tally(self, crawl_id: int) -> Tally:
        return self.tallies.setdefault(crawl_id, Tally())


class Sent(NamedTuple):
    """A settle whose commit was sent. xid: its transaction's.   leaves: it gives the host back."""

    xid: str
    leaves: bool
