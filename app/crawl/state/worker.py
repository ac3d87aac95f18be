"""A process's resources for crawling, made once after the fork: settings, engine, sender, and caches.

Caches hold nothing that Postgres does not: dropping them costs time, never correctness. All are bounded.
"""

import random
import threading
from collections import deque
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from sqlalchemy import Engine

from app import plugins
from app.clock import monotonic
from app.config import Settings
from app.crawl.state.cap_estimates import FullHosts
from app.crawl.state.lease import Lease
from app.crawl.state.line import Lines
from app.crawl.state.lots import Ceiling, Grants
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.seen import KnownKeys
from app.crawl.state.slot import SharedBudgets
from app.metrics.counts import Counts
from app.model import Origin, Reply, Request, Unsent, Whereabouts
from app.policy.backoff import BreakerRules
from app.policy.pace import PaceRules
from app.policy.scope import Scope
from app.policy.url import Canon
from app.runtime.clock_tie import ClockTie
from app.runtime.delay_queue import DelayQueue
from app.runtime.group_commit import GroupCommit
from app.runtime.lru import Lru
from app.runtime.memory_gate import MemoryGate
from app.runtime.seats import Seats
from app.store.crawls import Crawl

if TYPE_CHECKING:
    from app.sandbox.readers import Readers


class ServedCrawl(NamedTuple):
    """A crawl that is served, as its row was, and its scope.   revision: that it was read for"""

    revision: int
    crawl: Crawl
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """A process's memory of rows: dropping it costs time.

    grants      pages of crawls with a budget that it has drawn
    full_hosts  hosts at their cap
    lineages    the database that the rows are of
    """

    known: KnownKeys = field(default_factory=KnownKeys)
    grants: Grants = field(default_factory=Grants)
    host_ids: Lru[str, int] = field(default_factory=lambda: Lru(10_000))
    crawls: Lru[int, ServedCrawl] = field(default_factory=lambda: Lru(1_000))
    full_hosts: FullHosts = field(default_factory=FullHosts)
    lineages: Lru[datetime, bool] = field(default_factory=lambda: Lru(1))

    def forget_rows(self) -> None:
        """Drop what names rows."""
        self.known.forget_all()
        self.grants.clear()
        self.host_ids.clear()
        self.crawls.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """When a request may start, by what hosts share.

    ceiling    of the whole fleet; None: there is none
    lines      where requests of hosts that share budgets wait for their starts
    draws      engine for drawing a line's starts, which then never wait for a visit's connection. None: the worker's
    clock_tie  ties `monotonic` to the database's clock
    """

    shared: SharedBudgets
    ceiling: Ceiling | None = None
    lines: Lines = field(default_factory=lambda: Lines(monotonic))
    draws: Engine | None = None
    clock_tie: ClockTie = field(default_factory=lambda: ClockTie(monotonic))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """The operator's rules for hosts.   credentialed: origins that there are credentials for"""

    pace: PaceRules
    breaker: BreakerRules
    credentialed: frozenset[Origin] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRoom:
    """How documents are read.

    readers      processes that read documents that may have killed a worker
    memory_gate  room for what reading takes
    refunds      attempts to refund (app.crawl.page.isolation): host, crawl, key of the URL
    """

    readers: "Readers"
    memory_gate: MemoryGate = field(default_factory=MemoryGate)
    refunds: deque[tuple[int, int, bytes]] = field(default_factory=lambda: deque(maxlen=10_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stays:
    """The visits in hand.

    slow_slots  visits to hosts in trouble that may run at once, so that a hundred silent hosts do not starve the rest
    parking     where visits wait for their host's turn without a thread. None: they leave
    gatherer    settles their batches together. None: each is settled alone
    seats       two threads compute at once; the others wait without one
    leases      by host

    settled_within_s  a parked visit waits so long at most from one settle to the next, so that it notices a pause, and
                      fetches what is wanted. The delay of a far host is twice its latency: leaving would cost a take-up
                      and a message for each of its pages
    parked_links      links and joins that it holds: few, because hundreds of visits are parked in a process
    """

    slow_slots: threading.Semaphore
    parking: DelayQueue[Any] | None = None
    gatherer: GroupCommit[Any] | None = None
    seats: Seats = field(default_factory=Seats)
    leases: WeakValueDictionary[int, Lease] = field(default_factory=WeakValueDictionary)
    settled_within_s: float = 5.0
    parked_links: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A process's resources. `monotonic` is here so that tests need not wait; `stopping` makes visits leave early.

    name       of the process, in logs and in `visits`: host:pid
    where      the sender's: the addresses that a request would go to. None: budgets per address cannot be kept
    resources  what features hold for the process, by their names
    hooks      what the features answer to (app.plugins)
    counts     of what it settled, for its metrics
    """

    settings: Settings
    engine: Engine
    send: Callable[[Request], Reply | Unsent]
    name: str
    canon: Canon
    robots: RobotsBook
    rules: HostRules
    starts: Starts
    reading: ReadingRoom
    stays: Stays
    where: Callable[[str, str | None, float], Whereabouts] | None = None
    caches: Caches = field(default_factory=Caches)
    resources: MutableMapping[str, Any] = field(default_factory=dict)
    hooks: Any = field(default_factory=plugins.hooks)
    counts: Counts = field(default_factory=Counts)
    rng: random.Random = field(default_factory=random.Random)
    monotonic: Callable[[], float] = monotonic
    stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Make the visits settle their batches and leave."""
        self.stopping.set()
        if self.stays.parking is not None:
            self.stays.parking.close()

    def join(self) -> None:
        """Wait until the parked visits have left. Call it after `stop`."""
        if self.stays.parking is not None:
            self.stays.parking.join()

    def forget_if_restored(self, lineage: datetime | None) -> None:
        """Drop the caches if the database was restored or failed over: they may name rows that no longer exist.

        lineage: since when the rows have been in their present database (app.store.lineage)
        """
        if lineage is not None and self.caches.lineages.get(lineage) is None:
            self.forget_rows()
            self.caches.lineages.put(lineage, True)

    def forget_rows(self) -> None:
        """Drop the caches that name rows, the features', too."""
        self.caches.forget_rows()
        self.hooks.rows_forgotten(worker=self)
