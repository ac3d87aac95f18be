"""What a visit in progress knows: its lease, its host's pace, the crawls it serves, and the batch not settled yet.

The one mutable record of a visit; `visit`, `robots`, `fetch`, `read` and `settle` are the steps that work on it.
Points in time are monotonic seconds. A lease's rest counts from *sending* the query that set it, a wait from
*receiving* its answer: neither can come out too long, nor too short.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from app.crawl.kit import Kit
from app.model import Header, Origin, Refusal, Reply, Url
from app.policy import pace, retry_after
from app.policy.lifecycle import UrlState
from app.policy.robots import Robots
from app.policy.scope import Scope
from app.store import hosts
from app.store.fetches import Fetch
from app.store.pages import PageRow
from app.store.robots import Fetched
from app.store.suppressions import Suppression
from app.store.urls import Admission, Due, Result

LEASE_MARGIN_S = 5.0


@dataclass(slots=True, kw_only=True)
class RobotsFile:
    """An origin's robots.txt as the visit holds it. rules None: unreachable, and so complete disallow.

    fresh_until   monotonic seconds
    """

    rules: Robots | None
    fresh_until: float
    failures: int = 0
    body_sha256: bytes | None = None
    etag: str | None = None
    last_modified: str | None = None
    crawl_delay_s: float | None = None


@dataclass(slots=True, kw_only=True)
class Tally:
    """What one crawl got in a batch."""

    pages: int = 0
    fetches: int = 0
    failed: int = 0
    bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Reading:
    """A document of the batch and the links it wants admitted; page None where texts are not kept."""

    page: PageRow | None
    links: list[Admission]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivingUp:
    """Queued URLs of the host that end now. prefix: of these URLs, such as an origin's; "" for all."""

    state: UrlState
    cause: str
    prefix: str = ""


@dataclass(slots=True, kw_only=True)
class Batch:
    """What the next settle writes."""

    started: float
    results: list[Result] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    suppressions: dict[tuple[int, bytes, str], Suppression] = field(default_factory=dict)
    robots: list[tuple[Origin, Fetched]] = field(default_factory=list)
    renewed_robots: list[Origin] = field(default_factory=list)
    tallies: dict[int, Tally] = field(default_factory=dict)
    last_end: float | None = None
    give_up: GivingUp | None = None

    def tally(self, crawl_id: int) -> Tally:
        return self.tallies.setdefault(crawl_id, Tally())


@dataclass(slots=True, kw_only=True)
class Stay:
    """A visit in progress."""

    kit: Kit
    host_id: int
    token: UUID
    taken: hosts.Taken
    started: float
    anchor: float
    lease_ends: float
    ready_at: float
    delay_s: float
    robots_delay_s: float | None
    failures: int
    isolate: int
    batch: Batch
    answered: bool
    address: str | None = None
    requests: int = 0
    rest_s: float | None = None
    resting_because: str | None = None
    scopes: dict[int, Scope] = field(default_factory=dict)
    robots: dict[Origin, RobotsFile] = field(default_factory=dict)
    due: deque[Due] = field(default_factory=deque)
    granted: dict[int, int] = field(default_factory=dict)
    joined: dict[tuple[str, str], Url | Refusal] = field(default_factory=dict)
    budget_spent: bool = False
    has_left: bool = False

    def now(self) -> float:
        return self.kit.monotonic()

    def since_anchor(self, moment: float) -> float:
        """Seconds from the anchor (database time `taken.now`) to a monotonic moment."""
        return moment - self.anchor

    def set_pace(self) -> None:
        """The delay in force, from what is known of the host now."""
        settings = self.kit.settings
        self.robots_delay_s = pace.slowest(file.crawl_delay_s for file in self.robots.values())
        before, self.delay_s = (
            self.delay_s,
            pace.delay_in_force_s(
                operator_s=self.taken.delay_override_s,
                robots_s=self.robots_delay_s,
                default_s=settings.default_delay_s,
                robots_max_s=settings.crawl_delay_max_s,
                floor_s=settings.delay_override_s,
            ),
        )
        if self.batch.last_end is not None:
            self.ready_at = max(self.ready_at + self.delay_s - before, self.batch.last_end + self.delay_s)

    def contacted(self, ended: float) -> None:
        """A request has ended: the host's delay counts from here."""
        self.batch.last_end = ended
        self.ready_at = ended + self.delay_s
        self.requests += 1

    def rest(self, seconds: float, because: str) -> None:
        """Leave the host alone for this long, from now."""
        self.rest_s, self.resting_because = seconds, because

    def asked_s(self, reply: Reply) -> float | None:
        """Seconds that a Retry-After asks for, by the database's clock, bounded; None when there is none."""
        value = reply.header(Header.RETRY_AFTER)
        if value is None:
            return None
        now = self.taken.now + timedelta(seconds=self.since_anchor(self.now()))
        return retry_after.parse(value, now=now, cap_s=self.kit.settings.retry_after_max_s)

    def out_of_reach(self) -> dict[Origin, RobotsFile]:
        """Origins that are completely disallowed for now, their robots.txt being out of reach."""
        now = self.now()
        return {origin: file for origin, file in self.robots.items() if file.rules is None and file.fresh_until > now}

    def patience_s(self) -> float:
        """How long the visit waits for its turn itself: a little, and at its start for an offer that came early."""
        settings = self.kit.settings
        return settings.linger_s + (settings.dispatch_tick_s if self.requests == 0 else 0.0)

    def batch_size(self) -> int:
        """How many URLs to pick: on a host whose delay is longer than we linger, one is all that we shall fetch."""
        if self.isolate > 0 or self.delay_s > self.kit.settings.linger_s:
            return 1
        return self.kit.settings.settle_urls
