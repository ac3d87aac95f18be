"""What a process needs in order to crawl, made once after the fork: settings, engine, sender, and caches.

Caches hold nothing that Postgres does not: dropping them costs time, never correctness. All are bounded.
"""

import math
import random
import threading
import time
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from importlib.metadata import version
from struct import Struct
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import Engine

from app.config import Settings
from app.crawl.canon import make_canon
from app.crawl.ceiling import Ceiling
from app.crawl.clock_tie import ClockTie
from app.crawl.full_hosts import FullHosts
from app.crawl.gathering import Gatherer
from app.crawl.grants import Grants
from app.crawl.line import Lines
from app.crawl.parking import Parking
from app.crawl.readers import Readers
from app.crawl.room import Room
from app.crawl.shared import SharedBudgets
from app.errors import ServiceError
from app.model import Origin, Reply, Request, Unsent, Whereabouts
from app.net.address import make_guard
from app.net.dns import Resolver
from app.net.http import Sender
from app.policy import breaker, identity, pace, robots, tdm
from app.policy.scope import Scope
from app.policy.url import Canon
from app.store import db

if TYPE_CHECKING:
    from app.net.signature import Signer

REFUSED_NAME_S = 30.0  # at most
_TAG_AND_SLOT = Struct("<QI").unpack_from
K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """A bounded map that threads share; the least recently used entry gives way."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._map: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            value = self._map.get(key)
            if value is not None:
                self._map.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._map[key] = value
            self._map.move_to_end(key)
            if len(self._map) > self._most:
                self._map.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._map.clear()


class KnownKeys:
    """Keys whose rows are committed: a link seen before needs no round trip (SPEC F12).

    A direct-mapped table of fixed size: a newcomer evicts whoever has its slot, so memory is flat from the start. A key
    counts as known by 64 bits beside the 18 of its slot, all of SHA-256: a false "known" is out of reach of chance.
    """

    SLOTS = 1 << 18  # 2 MiB
    KEPT_S = 3_600.0

    def __init__(self) -> None:
        self._tags = array("Q", bytes(8 * self.SLOTS))
        self._until = -math.inf

    def has(self, crawl_id: int, key: bytes) -> bool:
        slot, tag = self._place(crawl_id, key)
        return self._tags[slot] == tag

    def add(self, crawl_id: int, key: bytes) -> None:
        slot, tag = self._place(crawl_id, key)
        self._tags[slot] = tag

    def forget(self, crawl_id: int, key: bytes) -> None:
        """Its row is gone: a link to it is new again."""
        slot, tag = self._place(crawl_id, key)
        if self._tags[slot] == tag:
            self._tags[slot] = 0

    def forget_all(self) -> None:
        self._tags = array("Q", bytes(8 * self.SLOTS))

    def renew(self, now: float) -> None:
        """Rows may have left the frontier by other processes: whatever is known is known for an hour."""
        if now >= self._until:
            self._until = now + self.KEPT_S
            self.forget_all()

    def _place(self, crawl_id: int, key: bytes) -> tuple[int, int]:
        tag, slot = _TAG_AND_SLOT(key)
        return (slot ^ crawl_id) % self.SLOTS, tag ^ crawl_id or 1


class RobotsBook:
    """Parsed robots.txt: by content for the origins we visit, by origin (for a minute) for those that links lead to."""

    FOREIGN_S = 60.0

    def __init__(self, token: str) -> None:
        self._token = token
        self._parsed: Lru[bytes, robots.Robots] = Lru(1_024)
        self._signals: Lru[bytes, tdm.RobotsSignals] = Lru(1_024)
        self._foreign: Lru[Origin, tuple[float, robots.Robots]] = Lru(4_096)

    def known(self, digest: bytes) -> robots.Robots | None:
        """By the SHA-256 of a body that was parsed before."""
        return self._parsed.get(digest)

    def parsed(self, body: bytes) -> robots.Robots:
        digest = sha256(body).digest()
        found = self._parsed.get(digest)
        if found is None:
            found = robots.parse(body, self._token)
            self._parsed.put(digest, found)
        return found

    def signals(self, digest: bytes, body: Callable[[], bytes]) -> tdm.RobotsSignals:
        """Its lines about text and data mining. body: reads it, where this process has not lately."""
        found = self._signals.get(digest)
        if found is None:
            found = tdm.RobotsSignals(body(), self._token)
            self._signals.put(digest, found)
        return found

    def foreign(self, origin: Origin, now: float) -> robots.Robots | None:
        """ALLOW_ALL for an origin whose file nobody has fetched yet; None: look it up and call `remember`."""
        entry = self._foreign.get(origin)
        return entry[1] if entry and entry[0] > now else None

    def remember(self, origin: Origin, found: robots.Robots, now: float) -> None:
        self._foreign.put(origin, (now + self.FOREIGN_S, found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """A process's resources. `monotonic` is here so that tests need not wait; `stopping` makes visits leave early.

    where       the sender's: which addresses a request would go to. None: budgets per address cannot be kept
    ceiling     of the whole fleet; None: there is none
    readers     processes that read what may have killed a worker
    owed        attempts to be given back (app.crawl.isolation): host, crawl, key of the URL
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


def make_engine(settings: Settings, *, pool_size: int | None = None) -> Engine:
    """Raises ServiceError without a database URL, InputError for one that is not Postgres'."""
    if settings.database_url is None:
        raise ServiceError(
            "TIPTOE_DATABASE_URL is not set", "set it, or let `tiptoe up` or `tiptoe crawl` start a database"
        )
    return db.connect(settings.database_url, pool_size=pool_size or settings.pool_size)


def make_resolver(settings: Settings) -> Resolver:
    """A refusal is forgotten before the shortest rest of a host is over: a try of the host that is no lookup would count as one
    more failure of it."""
    fixed = dict(pair.split("=", 1) for pair in settings.resolve)
    return Resolver(fixed=fixed, negative_ttl_s=min(REFUSED_NAME_S, settings.backoff_base_s / 2))


def make_sender(settings: Settings) -> Sender:
    """The process's one sender. Raises InputError for an identity that is no honest one."""
    identity.check(settings.product_token, settings.contact)
    return Sender(
        headers=identity.headers(
            token=settings.product_token,
            version=version("tiptoe"),
            contact=settings.contact,
            info_url=settings.info_url,
            purpose=settings.purpose,
        ),
        guard=make_guard(settings.networks),
        resolver=make_resolver(settings),
        require_contact=settings.contact is None,
        idle_s=settings.idle_connection_s,
        signer=make_signer(settings),
        credentials=make_credentials(settings),
    )


def make_credentials(settings: Settings) -> dict[tuple[str, str, int], Mapping[str, str]]:
    """What is sent to sites of one's own, by origin. Raises InputError for a file that cannot be used."""
    if settings.credentials_file is None:
        return {}
    from app.net import credentials

    return credentials.load(settings.credentials_file)


def make_signer(settings: Settings) -> "Signer | None":
    """What signs our requests; None without a key. Raises InputError for a key file that cannot be used."""
    if settings.signing_key is None or settings.signature_agent is None:
        return None
    from app.net import signing_key
    from app.net.signature import AgentForm, Signer

    key = signing_key.load(settings.signing_key)
    return Signer(key, settings.signature_agent, AgentForm(settings.signature_agent_form))


def make_kit(
    settings: Settings,
    *,
    engine: Engine,
    send: Callable[[Request], Reply | Unsent],
    where: Callable[[str, str | None], Whereabouts] | None,
    worker: str,
    parking: Parking[Any] | None = None,
    gatherer: Gatherer[Any] | None = None,
    draws: Engine | None = None,
) -> Kit:
    return Kit(
        settings=settings,
        engine=engine,
        draws=draws,
        send=send,
        where=where,
        worker=worker,
        parking=parking,
        gatherer=gatherer,
        shared=SharedBudgets(settings),
        ceiling=Ceiling(settings.requests_per_s_max) if settings.requests_per_s_max else None,
        full_hosts=FullHosts(cap=settings.frontier_max_per_host),
        readers=Readers(deadline_s=settings.parse_deadline_s, memory_bytes=settings.parse_memory_bytes),
        slow_slots=threading.Semaphore(max(settings.concurrency // 2, 1)),
        pace_rules=_pace_rules(settings),
        breaker_rules=breaker.Rules(
            failures=settings.breaker_failures, base_s=settings.breaker_base_s, max_s=settings.breaker_max_s
        ),
        canon=make_canon(settings),
        robots=RobotsBook(settings.product_token),
    )


def _pace_rules(settings: Settings) -> pace.Rules:
    return pace.Rules(
        window=settings.adaptive_window,
        level_max=settings.adaptive_level_max,
        base_min_s=settings.adaptive_base_min_s,
        rate_limited=settings.adaptive_429_levels,
        unavailable=settings.adaptive_503_levels,
        server_errors=settings.adaptive_5xx_in_a_row,
        slow_s=settings.adaptive_slow_s,
        healthy_errors=settings.adaptive_healthy_errors,
        latency_factor=settings.latency_factor,
        latency_weight=settings.latency_weight,
    )
