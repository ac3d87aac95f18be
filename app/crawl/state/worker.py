"""A process's resources for crawling, made once after the fork: settings, engine, sender, and caches.

Caches hold nothing that Postgres does not: dropping them costs time, never correctness. All are bounded.
"""

import random
import threading
from collections import deque
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from sqlalchemy import Engine

from app import plugins
from app.clock import monotonic
from app.config import Settings
from app.crawl.state.cap_estimates import FullHosts
from app.crawl.state.ceiling import Ceiling
from app.crawl.state.grants import Grants
from app.crawl.state.lease import Lease
from app.crawl.state.line import Lines
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.seen import KnownKeys
from app.crawl.state.shared_budgets import SharedBudgets
from app.metrics.counts import Counts
from app.model import Origin, Reply, Request, Unsent, Whereabouts
from app.policy import breaker, pace
from app.policy.scope import Scope
from app.policy.url import Canon
from app.runtime.clock_tie import ClockTie
from app.runtime.delay_queue import DelayQueue
from app.runtime.group_commit import GroupCommit
from app.runtime.lru import Lru
from app.runtime.memory_gate import MemoryGate
from app.runtime.reader_pool import Readers
from app.runtime.seats import Seats
from app.store.crawls import Crawl


class Served(NamedTuple):
    """A crawl that is served, as its row was, and its scope.   revision: that it was read for"""

    revision: int
    crawl: Crawl
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A process's resources. `monotonic` is here so that tests need not wait; `stopping` makes visits leave early.

    name        of the process, in logs and in `visits`: host:pid
    where       the sender's: the addresses that a request would go to. None: budgets per address cannot be kept
    seats       two threads compute at once; the others wait without one
    ceiling     of the whole fleet; None: there is none
    readers     processes that read documents that may have killed a worker
    refunds     attempts to refund (app.crawl.page.isolation): host, crawl, key of the URL
    slow_slots  visits to hosts in trouble that may run at once, so that a hundred silent hosts do not starve the rest
    parking     where visits wait for their host's turn without a thread. None: they leave
    gatherer    settles their batches together. None: each is settled alone
    clock_tie   ties `monotonic` to the database's clock
    draws       engine for drawing a line's starts, which then never wait for a visit's connection. None: `engine`
    resources   what features hold for the process, by their names
    hooks       what the features answer to (app.plugins)
    counts      of what it settled, for its metrics
    credentialed  origins that the operator has credentials for
    leases      of the visits in hand, by host
    lines       where requests of hosts that share budgets wait for their starts
    """

    settings: Settings
    engine: Engine
    send: Callable[[Request], Reply | Unsent]
    name: str
    canon: Canon
    robots: RobotsBook
    shared: SharedBudgets
    readers: Readers
    pace_rules: pace.PaceRules
    breaker_rules: breaker.BreakerRules
    where: Callable[[str, str | None, float], Whereabouts] | None = None
    rng: random.Random = field(default_factory=random.Random)
    known: KnownKeys = field(default_factory=KnownKeys)
    memory_gate: MemoryGate = field(default_factory=MemoryGate)
    seats: Seats = field(default_factory=Seats)
    grants: Grants = field(default_factory=Grants)
    ceiling: Ceiling | None = None
    host_ids: Lru[str, int] = field(default_factory=lambda: Lru(10_000))
    crawls: Lru[int, Served] = field(default_factory=lambda: Lru(1_000))
    full_hosts: FullHosts = field(default_factory=FullHosts)
    refunds: deque[tuple[int, int, bytes]] = field(default_factory=lambda: deque(maxlen=10_000))
    slow_slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1))
    parking: DelayQueue[Any] | None = None
    gatherer: GroupCommit[Any] | None = None
    draws: Engine | None = None
    resources: MutableMapping[str, Any] = field(default_factory=dict)
    hooks: Any = field(default_factory=plugins.hooks)
    credentialed: frozenset[Origin] = frozenset()
    counts: Counts = field(default_factory=Counts)
    leases: WeakValueDictionary[int, Lease] = field(default_factory=WeakValueDictionary)
    lines: Lines = field(default_factory=lambda: Lines(monotonic))
    clock_tie: ClockTie = field(default_factory=lambda: ClockTie(monotonic))
    monotonic: Callable[[], float] = monotonic
    stopping: threading.Event = field(default_factory=threading.Event)
    lineages: Lru[datetime, bool] = field(default_factory=lambda: Lru(1))

    def stop(self) -> None:
        """Make the visits settle their batches and leave."""
        self.stopping.set()
        if self.parking is not None:
            self.parking.close()

    def join(self) -> None:
        """Wait until the parked visits have left. Call it after `stop`."""
        if self.parking is not None:
            self.parking.join()

    def forget_if_restored(self, lineage: datetime | None) -> None:
        """Drop the caches if the database was restored or failed over: they may name rows that no longer exist.

        lineage: since when the rows have been in their present database (app.store.lineage)
        """
        if lineage is not None and self.lineages.get(lineage) is None:
            self.forget_rows()
            self.lineages.put(lineage, True)

    def forget_rows(self) -> None:
        """Drop the caches that name rows."""
        self.known.forget_all()
        self.grants.clear()
        self.host_ids.clear()
        self.crawls.clear()
        self.hooks.rows_forgotten(worker=self)
