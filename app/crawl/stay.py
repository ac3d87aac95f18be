"""What a visit in progress knows: its lease, its host's pace, the crawls it serves, and the batch not settled yet.

The one mutable record of a visit; `visit`, `robots`, `fetch`, `read` and `settle` are the steps that work on it.
Points in time are monotonic seconds. A lease's rest counts from *sending* the query that set it, a wait from
*receiving* its answer: neither can come out too long, nor too short.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from app.config import Settings
from app.crawl.kit import Kit
from app.crawl.line import Line
from app.model import Failure, Header, Origin, Refusal, Reply, Url
from app.policy import breaker, pace, retry_after
from app.policy.hours import Hours
from app.policy.lifecycle import UrlState
from app.policy.robots import Availability, Robots
from app.policy.scope import Scope
from app.policy.tdm import NO_SIGNALS, RobotsSignals
from app.store import hosts
from app.store.budgets import Answer, Budget, BudgetKind
from app.store.fetches import Fetch
from app.store.pages import PageRow, Revision, Where
from app.store.robots import AskedTdmrep, Fetched
from app.store.suppressions import Suppression
from app.store.urls import Admission, Due, Result

LEASE_MARGIN_S = 5.0
SLOW_S = 5.0
OUT_OF_REACH = "robots.txt out of reach"
VISIT_TIME = "visit-time of robots.txt"


def most_in_hand(settings: Settings, delay_s: float) -> int:
    """How many URLs a visit to a host with this delay can have fetched and not settled."""
    if delay_s <= settings.linger_s:
        return settings.settle_urls
    return min(int(settings.settle_s / delay_s) + 1, settings.settle_urls)


@dataclass(slots=True, kw_only=True)
class RobotsFile:
    """An origin's robots.txt as the visit holds it. Points in time are monotonic seconds.

    rules                            what is in force (app.crawl.robots decides); None: complete disallow
    signals                          what it says about text and data mining, where its rules are in force
    availability, status, failures   of the last attempt, and how many failed in a row
    asked, fresh_until               the last attempt, and when the next is due
    unreachable_from                 the first failure after the last success
    body_sha256, etag, last_modified, crawl_delay_s   of the file, or of its last good copy
    """

    rules: Robots | None = None
    signals: RobotsSignals = NO_SIGNALS
    availability: Availability
    status: int | None
    failures: int
    asked: float
    fresh_until: float
    unreachable_from: float | None
    body_sha256: bytes | None
    etag: str | None
    last_modified: str | None
    crawl_delay_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tdmrep:
    """An origin's /.well-known/tdmrep.json as the visit holds it.

    body    empty where there is none, and where nobody knows
    ask_at  monotonic seconds: asked for before the next page from then on
    """

    body: bytes
    ask_at: float


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
    links: list[Admission]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivingUp:
    """Queued URLs of the host that end now.

    prefix        of these URLs, such as an origin's; "" for all
    spares_fresh  but for those of crawls that keep fresh
    """

    state: UrlState
    cause: str
    prefix: str = ""
    spares_fresh: bool = False


@dataclass(slots=True, kw_only=True)
class Batch:
    """What the next settle writes. started: since when it has had something to write; at first, when the last one ended."""

    started: float
    results: list[Result] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    links: int = 0  # of the readings
    kept_out: list[Where] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    admissions: list[Admission] = field(default_factory=list)
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

    def read(self, page: PageRow | None, links: list[Admission]) -> None:
        self.readings.append(Reading(page=page, links=links))
        self.links += len(links)

    def tally(self, crawl_id: int) -> Tally:
        return self.tallies.setdefault(crawl_id, Tally())


class Doubt(NamedTuple):
    """A settle whose commit was not answered. xid: its transaction's.   leaves: it gave the host back."""

    xid: str
    leaves: bool


class Slot(NamedTuple):
    """The start of one request; of every request until `held_until`, where the host has its budgets to itself.

    address   the only one to connect to; None: no budget depends on it
    drawn     budgets that it was granted on
    ready_at  monotonic seconds;   not_after: a later start would come too close to the next one's
    granted_at  database time and monotonic second of the grant: the log tells the start by it
    probes    its address had refused the last connection
    dns_ms    that finding the address took
    line      where the request is to wait for its start, with a connection: several hosts share what was drawn on
    """

    address: str | None = None
    drawn: tuple[Budget, ...] = ()
    ready_at: float = 0.0
    not_after: float | None = None
    granted_at: tuple[datetime, float] | None = None
    probes: bool = False
    dns_ms: float | None = None
    held_until: float | None = None
    line: Line | None = None

    @property
    def address_budget(self) -> Budget | None:
        for each in self.drawn:
            if each.kind in {BudgetKind.ADDRESS, BudgetKind.NETWORK}:
                return each
        return None


class Near(NamedTuple):
    """A start is near on the budgets of this address: they are not asked again before `until`, in monotonic seconds."""

    address: str
    answer: Answer
    until: float


@dataclass(slots=True, kw_only=True)
class Stay:
    """A visit in progress.

    unfetched  how many URLs of the host wait for their first fetch, as estimated, but for the batch's;   told: what its row says
    counted    they have been counted just now: the row is to say so
    floors     by crawl that is full: the score that a link must exceed
    held       the budgets that it has to itself for the time of the visit
    is_crowded  other hosts draw on the budgets of its last start
    promised    the shared budget that told the host to come when it is ready next, and the visit waits for it
    near        where a start was near, and the line too long
    connect_s   what connecting took last, where the connection does not last: it is begun so much ahead of a start in line
    wait_until  nothing queued may be fetched before, for the reason in waiting_because; the host does not rest
    leaving    why the next settle gives the host back
    in_doubt   a commit was sent and not answered
    """

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
    unfetched: int
    told: int
    counted: bool = False
    address: str | None = None
    history: pace.History
    trips: int
    quiet: Hours | None
    spaced_at: float = 0.0
    requests: int = 0
    rest_until: float | None = None
    resting_because: str | None = None
    is_blocked: bool = False
    wait_until: float | None = None
    waiting_because: str | None = None
    slot: Slot | None = None
    held: Slot | None = None
    is_crowded: bool = False
    promised: str | None = None
    near: Near | None = None
    connect_s: float = 0.0
    denied: tuple[str, Answer] | None = None
    scopes: dict[int, Scope] = field(default_factory=dict)
    floors: dict[int, float] = field(default_factory=dict)
    robots: dict[Origin, RobotsFile] = field(default_factory=dict)
    tdmrep: dict[Origin, Tdmrep] = field(default_factory=dict)
    discovered: set[tuple[int, Origin]] = field(default_factory=set)
    due: deque[Due] = field(default_factory=deque)
    granted: dict[int, int] = field(default_factory=dict)
    joined: dict[tuple[str, str], Url | Refusal] = field(default_factory=dict)
    budget_spent: bool = False
    has_left: bool = False
    leaving: str | None = None
    in_doubt: Doubt | None = None

    def now(self) -> float:
        return self.kit.monotonic()

    def since_anchor(self, moment: float) -> float:
        """Seconds from the anchor (database time `taken.now`) to a monotonic moment."""
        return moment - self.anchor

    def database_time(self, moment: float) -> datetime:
        """The database's time at a monotonic moment, as in the fetch log: never ahead of it."""
        return self.taken.now + timedelta(seconds=self.since_anchor(moment))

    def set_pace(self) -> None:
        """The delay in force, from what is known of the host now; the wait for the next request follows it."""
        settings = self.kit.settings
        self.robots_delay_s = pace.slowest(file.crawl_delay_s for file in self.robots.values())
        base_s = pace.base_delay_s(
            operator_s=self.taken.delay_override_s,
            robots_s=self.robots_delay_s,
            default_s=settings.default_delay_s,
            robots_max_s=settings.crawl_delay_max_s,
        )
        before, self.delay_s = (
            self.delay_s,
            pace.delay_in_force_s(
                base_s,
                self.history,
                self.kit.pace_rules,
                floor_s=settings.delay_override_s,
                most_s=settings.crawl_delay_max_s,
            ),
        )
        if self.batch.last_end is not None and self.delay_s != before:
            self.ready_at = max(self.batch.last_end + self._jittered_s(), self.spaced_at)
        elif self.taken.contacted:
            self.ready_at += max(self.delay_s - before, 0.0)

    def contacted(self, ended: float, spaced_at: float) -> None:
        """A request has ended: the host's delay counts from here.   spaced_at: nor does the next one start before."""
        if not self.batch.fetches:
            self.batch.started = ended
        self.batch.last_end = ended
        self.spaced_at = spaced_at
        self.ready_at = max(ended + self._jittered_s(), self.spaced_at)
        self.requests += 1

    def _jittered_s(self) -> float:
        return pace.with_jitter_s(self.delay_s, self.kit.settings.jitter, self.kit.rng)

    def learn(self, status: int, ms: int | None, *, closes: bool = True) -> None:
        """A result of the host: its level and its delay adapt; so many failures in a row close it (P4, P6).

        closes: this one can be the last of these.
        """
        rules = self.kit.breaker_rules
        self.history = pace.after(self.history, self.kit.pace_rules, status=status, ms=ms)
        is_probing = breaker.is_probing(self.history.statuses, rules)
        if closes or not is_probing:
            self.trips = breaker.trips_after(self.trips, self.history.statuses, rules)
        self.set_pace()
        if closes and is_probing:
            self.block(breaker.rest_s(self.trips, rules), breaker.BECAUSE)

    def soft_blocked(self) -> None:
        """The rate is cut (P7)."""
        self.history = pace.soft_blocked(self.history, self.kit.pace_rules)
        self.set_pace()

    def rest(self, seconds: float, because: str) -> None:
        """Leave, and leave the host alone for this long from now. The longest of several rests counts."""
        until = self.now() + seconds
        if self.rest_until is None or until > self.rest_until:
            self.rest_until, self.resting_because = until, because

    def block(self, seconds: float, because: str) -> None:
        """The same by the answer that has just come: counted from its end, and noted in its row of the log."""
        end = self.now() if self.batch.last_end is None else self.batch.last_end
        self.rest(seconds + end - self.now(), because)
        self.is_blocked = True
        if self.batch.fetches:
            row = self.batch.fetches[-1]
            row["rest_s"] = max(row["rest_s"] or 0.0, seconds)

    @property
    def rest_s(self) -> float | None:
        return None if self.rest_until is None else self.rest_until - self.now()

    @property
    def has_ticket(self) -> bool:
        """A shared budget told the host to come now: by its gap, or by the end of its rest."""
        because = self.taken.resting_because or ""
        return self.promised is not None or (
            self.requests == 0 and (because.endswith(" budget") or " rests: " in because)
        )

    def asked_s(self, reply: Reply) -> float | None:
        """Seconds from the reply's end that a Retry-After asks for, by the database's clock, bounded; None when there is none."""
        value = reply.header(Header.RETRY_AFTER)
        if value is None:
            return None
        now = self.database_time(reply.ended_s)
        return retry_after.parse(value, now=now, cap_s=self.kit.settings.retry_after_max_s)

    def out_of_reach(self) -> dict[Origin, tuple[float, str]]:
        """Origins that no page may be fetched from for now: until when at the soonest, and why.

        One whose robots.txt is to be asked for again is none of them: its next URL leads to that.
        """
        now = self.now()
        known = {origin: self.shut(file) for origin, file in self.robots.items() if file.fresh_until > now}
        return {origin: shut for origin, shut in known.items() if shut is not None}

    def shut(self, file: RobotsFile) -> tuple[float, str] | None:
        """Until when, and why, no page may be fetched under this file; None: it may, when the host's turn comes."""
        if file.rules is None:
            return file.fresh_until, OUT_OF_REACH
        turn, hours = max(self.now(), self.ready_at), file.rules.visit_time
        away_s = hours.until_start_s(self.database_time(turn)) if hours else 0.0
        return (turn + away_s, VISIT_TIME) if away_s else None

    def wait_for_origins(self, queued: Collection[str]) -> str | None:
        """With nothing else to fetch, come again when an origin out of reach may be tried. Returns why; None: there is none.

        queued: origins that have something queued: nobody waits for the others. The host itself does not rest, so that a URL of
        another origin of it is fetched at once.
        """
        out_of_reach = [end for origin, end in self.out_of_reach().items() if str(origin) in queued]
        if not out_of_reach:
            return None
        until, why = min(out_of_reach)
        self.wait_until, self.waiting_because = max(until, self.now() + self.delay_s), why
        return why

    @property
    def wait_s(self) -> float | None:
        return None if self.wait_until is None else max(self.wait_until - self.now(), 0.0)

    def may_be_served_elsewhere(self, origin: Origin) -> bool:
        """Whether another origin of the host answered when its robots.txt was asked for, or is to be asked next.

        Then a refused connection says that this port is dead, and nothing of the host or its address.
        """
        if any(other != origin and file.status is not None for other, file in self.robots.items()):
            return True
        asked = tuple(f"{each}/" for each in (origin, *self.robots))
        return any(not due.url.startswith(asked) for due in self.due)

    def is_quiet_at(self, hours: str | None) -> bool:
        """Whether it is now within these quiet hours of an operator's."""
        return hours is not None and Hours.parse(hours).contains(self.database_time(self.now()))

    def quiet_for_s(self, hours: str | None) -> float:
        """Seconds until these quiet hours of an operator's end; 0.0 outside of them."""
        return (
            Hours.parse(hours).until_end_s(self.database_time(self.now())) if self.is_quiet_at(hours) and hours else 0.0
        )

    def is_slow(self) -> bool:
        """It did not serve the last visitor, or takes seconds to."""
        is_silent = self.history.statuses[-1:] == (pace.NO_ANSWER,)
        return self.failures > 0 or is_silent or (self.history.latency_s or 0.0) > SLOW_S

    def patience_s(self) -> float:
        """How long the visit waits for its turn itself: a little, and at its start for an offer that came early."""
        settings = self.kit.settings
        return settings.linger_s + (settings.dispatch_tick_s if self.requests == 0 else self.connect_s)

    def is_promised(self) -> bool:
        """A shared budget has promised it a start, and the visit waits for it."""
        return self.promised is not None

    def longest_wait_s(self) -> float:
        """How long it keeps its lease for one start."""
        settings = self.kit.settings
        return settings.promise_s if self.is_promised() else settings.settle_s

    def longest_s(self) -> float:
        """How long it stays: longer where it shares a budget, so that it may be given several starts."""
        settings = self.kit.settings
        return settings.visit_longest_s if self.is_crowded or self.is_promised() else settings.visit_max_s

    def is_early(self) -> bool:
        """The host's turn is further away than the visit waits for it in its thread."""
        return self.ready_at - self.now() > self.patience_s()

    def batch_size(self) -> int:
        """How many URLs to pick: as many as can be fetched until the next settle. On a host that is probed one is all."""
        settings = self.kit.settings
        if self.isolate > 0 or breaker.is_probing(self.history.statuses, self.kit.breaker_rules):
            return 1
        if self.delay_s > settings.linger_s and self.kit.parking is None:
            return 1
        return most_in_hand(settings, self.delay_s)
