"""A visit in progress: its lease, its host's pace, the crawls it serves, and the batch not settled yet.

The one mutable record of a visit; `visit`, `robots`, `fetch`, `read` and `settle` are the steps that work on it.
Points in time are monotonic seconds. A lease counts from *sending* its query, a wait from *receiving* the answer.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from app.crawl.state.batch import Batch, most_in_hand
from app.crawl.state.robots_file import RobotsFile, Tdmrep
from app.crawl.state.slot import Near, Slot
from app.crawl.state.worker import Kit
from app.model import Header, Origin, Refusal, Reply, Rest, RestReason, Url, VisitEnding
from app.model.reasons import TICKETS
from app.policy import breaker, pace, retry_after
from app.policy.hours import Hours
from app.policy.lifecycle_visit import VisitEvent, VisitState, visit_after
from app.policy.scope import Scope
from app.store import host_rows
from app.store.budgets import BudgetAnswer
from app.store.url_rows import Due

LEASE_MARGIN_S = 5.0
SLOW_S = 5.0


@dataclass(slots=True, kw_only=True)
class Stay:
    """A visit in progress.

    unfetched   estimate of the host's URLs that wait for their first fetch, without the batch's;   told: the value on its row
    counted     they were just counted exactly: the next settle writes that to the row
    floors      by crawl that is full: the score that a link must exceed
    held        the budgets that the host shares with nobody for the length of the visit
    is_crowded  other hosts draw on the budgets of its last start
    promised    the shared budget that promised the host a start at `ready_at`, which the visit waits for
    near        the address on whose budgets a start was near, but the line was full
    connect_s   how long connecting took last, where connections are not kept alive: begun this long before a start in line
    resting     why the host rests until rest_until
    is_blocked  an answer made it rest, or its address refused: no further request, and the rest holds if the lease is lost
    wait_until  nothing queued may be fetched before, for the reason in waiting; the host does not rest
    budget_spent  a URL is due, but the page budgets have no room for it
    leaving     the ending that the next settle writes when it returns the host
    state       changed only by the table of app.policy.lifecycle_visit
    """

    kit: Kit
    host_id: int
    token: UUID
    taken: host_rows.TakenHost
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
    resting: Rest | None = None
    is_blocked: bool = False
    wait_until: float | None = None
    waiting: RestReason | None = None
    slot: Slot | None = None
    held: Slot | None = None
    is_crowded: bool = False
    promised: Rest | None = None
    near: Near | None = None
    connect_s: float = 0.0
    denied: tuple[str, BudgetAnswer] | None = None
    scopes: dict[int, Scope] = field(default_factory=dict)
    floors: dict[int, float] = field(default_factory=dict)
    robots: dict[Origin, RobotsFile] = field(default_factory=dict)
    tdmrep: dict[Origin, Tdmrep] = field(default_factory=dict)
    discovered: set[tuple[int, Origin]] = field(default_factory=set)
    due: deque[Due] = field(default_factory=deque)
    granted: dict[int, int] = field(default_factory=dict)
    joined: dict[tuple[str, str], Url | Refusal] = field(default_factory=dict)
    budget_spent: bool = False
    leaving: VisitEnding | None = None
    state: VisitState = VisitState.TAKEN

    def move(self, event: VisitEvent) -> None:
        """Change the state by the table. Raises KeyError for an impossible event: a bug."""
        self.state = visit_after(self.state, event)

    def now(self) -> float:
        return self.kit.monotonic()

    def since_anchor(self, moment: float) -> float:
        """Seconds from the anchor (database time `taken.now`) to a monotonic moment."""
        return moment - self.anchor

    def database_time(self, moment: float) -> datetime:
        """The database's time at a monotonic moment, as in the fetch log: never ahead of it."""
        return self.taken.now + timedelta(seconds=self.since_anchor(moment))

    def set_pace(self) -> None:
        """Set the delay in force from what is known of the host now, and adjust the wait for the next request."""
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
        """Record the end of a request, from which the host's delay counts.   spaced_at: the next one starts no earlier"""
        if not self.batch.fetches:
            self.batch.started = ended
        self.batch.last_end = ended
        self.spaced_at = spaced_at
        self.ready_at = max(ended + self._jittered_s(), self.spaced_at)
        self.requests += 1

    def _jittered_s(self) -> float:
        return pace.with_jitter_s(self.delay_s, self.kit.settings.jitter, self.kit.rng)

    def learn(self, status: int, ms: int | None, *, closes: bool = True) -> None:
        """Adapt the host's level and delay to a result; too many failures in a row close it (promises P4 and P6).

        closes: this result may be the one that closes it.
        """
        rules = self.kit.breaker_rules
        self.history = pace.after(self.history, self.kit.pace_rules, status=status, ms=ms)
        is_probing = breaker.is_probing(self.history.statuses, rules)
        if closes or not is_probing:
            self.trips = breaker.trips_after(self.trips, self.history.statuses, rules)
        self.set_pace()
        if closes and is_probing:
            self.block(breaker.rest_s(self.trips, rules), Rest(RestReason.BREAKER))

    def soft_blocked(self) -> None:
        """Cut the rate after a soft block (promise P7)."""
        self.history = pace.soft_blocked(self.history, self.kit.pace_rules)
        self.set_pace()

    def rest(self, seconds: float, why: Rest) -> None:
        """Let the host rest for this long from now: the visit leaves. The longest of several rests counts."""
        until = self.now() + seconds
        if self.rest_until is None or until > self.rest_until:
            self.rest_until, self.resting = until, why

    def block(self, seconds: float, why: Rest) -> None:
        """Let the host rest because of the last answer: counted from its end, and noted in its row of the log."""
        end = self.now() if self.batch.last_end is None else self.batch.last_end
        self.rest(seconds + end - self.now(), why)
        self.is_blocked = True
        if self.batch.fetches:
            row = self.batch.fetches[-1]
            row["rest_s"] = max(row["rest_s"] or 0.0, seconds)

    @property
    def why_away(self) -> VisitEnding:
        """The ending of a visit that may send nothing now."""
        return VisitEnding.DELAY if self.resting is None else VisitEnding.RESTS

    def detail_of(self, ending: VisitEnding) -> str | None:
        """Details of the ending, for a person."""
        if ending is VisitEnding.RESTS and self.resting is not None:
            return self.resting.words
        return self.waiting if ending is VisitEnding.WAITS else None

    @property
    def rest_s(self) -> float | None:
        return None if self.rest_until is None else self.rest_until - self.now()

    @property
    def has_ticket(self) -> bool:
        """Whether a shared budget promised the host this moment: by its gap, or by the end of its rest."""
        return self.promised is not None or (self.requests == 0 and self.taken.resting_because in TICKETS)

    def asked_s(self, reply: Reply) -> float | None:
        """Seconds from the reply's end that its Retry-After asks for, by the database's clock, bounded; None without one."""
        value = reply.header(Header.RETRY_AFTER)
        if value is None:
            return None
        now = self.database_time(reply.ended_s)
        return retry_after.parse(value, now=now, cap_s=self.kit.settings.retry_after_max_s)

    def out_of_reach(self) -> dict[Origin, tuple[float, RestReason]]:
        """Origins from which no page may be fetched for now: until when at the earliest, and why.

        An origin whose robots.txt is due to be asked for again is not among them: its next URL leads to that.
        """
        now = self.now()
        known = {origin: self.shut(file) for origin, file in self.robots.items() if file.fresh_until > now}
        return {origin: shut for origin, shut in known.items() if shut is not None}

    def shut(self, file: RobotsFile) -> tuple[float, RestReason] | None:
        """Until when, and why, no page may be fetched under this file. None: one may be, at the host's next turn."""
        if file.rules is None:
            return file.fresh_until, RestReason.ROBOTS_OUT_OF_REACH
        turn, hours = max(self.now(), self.ready_at), file.rules.visit_time
        away_s = hours.until_start_s(self.database_time(turn)) if hours else 0.0
        return (turn + away_s, RestReason.VISIT_TIME) if away_s else None

    def wait_for_origins(self, queued: Collection[str]) -> VisitEnding | None:
        """Set the moment to return, with nothing else to fetch: when an origin out of reach may be tried. None: there is none.

        queued: origins that have URLs queued; the others are not waited for. The host itself does not rest, so that a URL of
        another of its origins is fetched at once.
        """
        out_of_reach = [end for origin, end in self.out_of_reach().items() if str(origin) in queued]
        if not out_of_reach:
            return None
        until, why = min(out_of_reach)
        self.wait_until, self.waiting = max(until, self.now() + self.delay_s), why
        return VisitEnding.WAITS

    @property
    def wait_s(self) -> float | None:
        return None if self.wait_until is None else max(self.wait_until - self.now(), 0.0)

    def may_be_served_elsewhere(self, origin: Origin) -> bool:
        """Whether another origin of the host answered for its robots.txt, or is asked next.

        Then a refused connection means that this port is closed, and nothing about the host or its address.
        """
        if any(other != origin and file.status is not None for other, file in self.robots.items()):
            return True
        asked = tuple(f"{each}/" for each in (origin, *self.robots))
        return any(not due.url.startswith(asked) for due in self.due)

    def is_quiet_at(self, hours: str | None) -> bool:
        """Whether it is now within these quiet hours, set by an operator."""
        return hours is not None and Hours.parse(hours).contains(self.database_time(self.now()))

    def quiet_for_s(self, hours: str | None) -> float:
        """Seconds until these quiet hours end; 0.0 outside of them."""
        is_quiet = hours is not None and self.is_quiet_at(hours)
        return Hours.parse(hours).until_end_s(self.database_time(self.now())) if is_quiet and hours else 0.0

    def is_slow(self) -> bool:
        """Whether the host did not serve its last visit, or takes seconds to answer."""
        is_silent = self.history.statuses[-1:] == (pace.NO_ANSWER,)
        return self.failures > 0 or is_silent or (self.history.latency_s or 0.0) > SLOW_S

    def patience_s(self) -> float:
        """Seconds that the visit waits for its turn in its thread: a little, and at its start for an early offer."""
        settings = self.kit.settings
        return settings.linger_s + (settings.dispatch_tick_s if self.requests == 0 else self.connect_s)

    def is_promised(self) -> bool:
        """Whether a shared budget promised a start that the visit waits for."""
        return self.promised is not None

    def longest_wait_s(self) -> float:
        """Seconds that the visit keeps its lease for one start."""
        settings = self.kit.settings
        return settings.promise_longest_s if self.is_promised() else settings.settle_s

    def longest_s(self) -> float:
        """Seconds that the visit may last: more where it shares a budget, so that it may get several starts."""
        settings = self.kit.settings
        return settings.visit_longest_s if self.is_crowded or self.is_promised() else settings.visit_max_s

    def is_early(self) -> bool:
        """Whether the host's turn is further away than the visit waits for it in its thread."""
        return self.ready_at - self.now() > self.patience_s()

    def batch_size(self) -> int:
        """The number of URLs to pick: as many as can be fetched until the next settle; one on a host that is probed."""
        settings = self.kit.settings
        if self.isolate > 0 or breaker.is_probing(self.history.statuses, self.kit.breaker_rules):
            return 1
        if self.delay_s > settings.linger_s and self.kit.parking is None:
            return 1
        return most_in_hand(settings, self.delay_s)
