"""What a process needs in order to crawl, made once after the fork: settings, engine, sender, and caches.

Caches hold nothing that Postgres does not: dropping them costs time, never correctness. All are bounded.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from app.config import Settings
from app.crawl.state.cap_estimates import FullHosts
from app.crawl.state.ceiling import Ceiling
from app.crawl.state.grants import Grants
from app.crawl.state.line import Lines
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.seen import KnownKeys
from app.crawl.state.shared_budgets import SharedBudgets
from app.model import Reply, Request, Unsent, Whereabouts
from app.policy import breaker, pace
from app.policy.scope import Scope
from app.policy.url import Canon
from app.runtime.clock_tie import ClockTie
from app.runtime.delay_queue import Parking
from app.runtime.group_commit import Gatherer
from app.runtime.lru import Lru
from app.runtime.memory_gate import Room
from app.runtime.reader_pool import Readers

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """A process's resources. `monotonic` is here so that tests need not wait; `stopping` makes visits leave early.

    where       the sender's: which addresses a request would go to. None: budgets per address cannot be kept
    ceiling     of the whole fleet; None: there is none
    readers     processes that read what may have killed a worker
    owed        attempts to be given back (app.crawl.page.isolation): host, crawl, key of the URL
    slow_slots  visits to hosts in trouble that may run at once, so that a hundred silent ones do not starve the rest
    parking     where visits wait for their host's turn without a thread. None: they leave
    gatherer    who settles their batches together. None: each is settled alone
    clock_tie   how `monotonic` stands to the database's clock
    draws       a connection for those who draw starts for others in line: they wait for no visit. None: they use the engine
    lines       where requests of hosts that share budgets wait for their starts
    """

    settings: Settings
    engine: Engine
    send: Callable[[Request], Reply | Unsent]
    worker: str
    canon: Canon
    robots: RobotsBook
    shared: SharedBudgets
    readers: Readers
    pace_rules: pace.Rules
    breaker_rules: breaker.Rules
    where: Callable[[str, str | None], Whereabouts] | None = None
    rng: random.Random = field(default_factory=random.Random)
    known: KnownKeys = field(default_factory=KnownKeys)
    room: Room = field(default_factory=Room)
    grants: Grants = field(default_factory=Grants)
    ceiling: Ceiling | None = None
    host_ids: Lru[str, int] = field(default_factory=lambda: Lru(10_000))
    scopes: Lru[int, tuple[int, int, Scope]] = field(default_factory=lambda: Lru(1_000))
    full_hosts: FullHosts = field(default_factory=FullHosts)
    owed: deque[tuple[int, int, bytes]] = field(default_factory=lambda: deque(maxlen=10_000))
    slow_slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1))
    parking: Parking[Any] | None = None
    gatherer: Gatherer[Any] | None = None
    draws: Engine | None = None
    lines: Lines = field(default_factory=lambda: Lines(time.monotonic))
    clock_tie: ClockTie = field(default_factory=lambda: ClockTie(time.monotonic))
    monotonic: Callable[[], float] = time.monotonic
    stopping: threading.Event = field(default_factory=threading.Event)
    lineages: Lru[datetime, bool] = field(default_factory=lambda: Lru(1))

    def stop(self) -> None:
        """Visits settle what they have and leave."""
        self.stopping.set()
        if self.parking is not None:
            self.parking.close()

    def join(self) -> None:
        """After `stop`: wait until those that were parked have left."""
        if self.parking is not None:
            self.parking.join()

    def heed(self, lineage: datetime | None) -> None:
        """Since when the rows are in what they are in (app.store.lineage). What the caches tell of may never have been there."""
        if lineage is not None and self.lineages.get(lineage) is None:
            self.known.forget_all()
            self.grants.clear()
            self.host_ids.clear()
            self.scopes.clear()
            self.lineages.put(lineage, True)
