"""Makes a worker's resources from the settings."""

import resource
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.crawl.state.canon import make_canon, make_resolver
from app.crawl.state.cap_estimates import FullHosts
from app.crawl.state.lots import Ceiling
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.seen import KnownKeys
from app.crawl.state.slot import SharedBudgets
from app.errors import ServiceError
from app.metrics.counts import Counts
from app.model import Origin, Reply, Request, Unsent, Whereabouts
from app.net.adapter import GuardedAdapter
from app.net.address import make_guard
from app.net.connection import Dialler
from app.net.http import Sender
from app.policy import backoff, identity, pace
from app.sandbox.readers import Readers
from app.store import db

if TYPE_CHECKING:
    from app.net.signature import Signer
from app.crawl.state.worker import Caches, HostRules, ReadingRoom, Starts, Stays, Worker

_log = structlog.get_logger()
# In hand at most, nearly all parked. Each takes 50 to 500 KiB, by its pages' links; where there is no room a host is
# returned.
VISITS_PER_THREAD = 8


def make_engine(settings: Settings, *, pool_size: int | None = None, session_name: str = "tiptoe") -> Engine:
    """Make the engine. Raises ServiceError without a database URL, InputError for one that is not of Postgres."""
    if settings.database_url is None:
        raise ServiceError(
            "TIPTOE_DATABASE_URL is not set", "set it, or let `tiptoe up` or `tiptoe crawl` start a database"
        )
    return db.connect(settings.database_url, pool_size=pool_size or settings.pool_size, session_name=session_name)


def make_sender(settings: Settings, counts: Counts | None = None) -> Sender:
    """Make the process's only sender. Raises InputError for an identity that is not honest.

    counts: of the process
    """
    identity.check(settings.product_token, settings.contact)
    dialler = Dialler(
        make_resolver(settings),
        make_guard(settings.networks),
        require_contact=settings.contact is None,
        on_mixed=partial(note_mixed, counts or Counts()),
    )
    return Sender(
        GuardedAdapter(dialler, idle_s=settings.idle_connection_s, origins_max=_connections_kept(settings.concurrency)),
        identity.headers(
            token=settings.product_token,
            version=version("tiptoe"),
            contact=settings.contact,
            info_url=settings.info_url,
            purpose=settings.purpose,
        )
        | ({} if settings.accept_language is None else {"Accept-Language": settings.accept_language}),
        signer=make_signer(settings),
        credentials=make_credentials(settings),
    )


def note_mixed(counts: Counts, host: str, blocked: Sequence[str]) -> None:
    """Note a name that points to addresses which may be contacted, and to others, which are not."""
    counts.mixed_name()
    _log.info("address.mixed", host=host, blocked=list(blocked))


def _connections_kept(threads: int) -> int:
    """How many idle connections are kept: as many as visits may be in hand, and half of the process's descriptors at
    most.

    The least recently used is closed first, which is the next that is needed where hosts take turns: with one too few
    nearly every request would need a new one."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = threads * VISITS_PER_THREAD
    return wanted if descriptors == resource.RLIM_INFINITY else min(wanted, max(descriptors // 2, 1))


def make_credentials(settings: Settings) -> dict[tuple[str, str, int], Mapping[str, str]]:
    """Load the credentials for the operator's own sites, by origin.

    Raises InputError for a file that cannot be used.
    """
    if settings.credentials_file is None:
        return {}
    from app.net import credentials

    return credentials.load(settings.credentials_file)


def make_signer(settings: Settings) -> "Signer | None":
    """Make the signer of our requests; None without a key. Raises InputError for a key file that cannot be used."""
    if settings.signing_key is None or settings.signature_origin is None:
        return None
    from app.net import signature
    from app.net.signature import AgentForm, Signer

    key = signature.load(settings.signing_key)
    is_item = settings.signature_origin == settings.signature_agent
    return Signer(key, settings.signature_origin, AgentForm.ITEM if is_item else AgentForm.DICTIONARY)


def make_worker(
    settings: Settings,
    *,
    engine: Engine,
    send: Callable[[Request], Reply | Unsent],
    where: Callable[[str, str | None, float], Whereabouts] | None,
    name: str,
) -> Worker:
    """Make the resources, without those for parking visits: a process adds them.   send, where: the sender's"""
    readers = Readers(deadline_s=settings.parse_deadline_s, memory_bytes=settings.parse_memory_bytes)
    return Worker(
        settings=settings,
        engine=engine,
        send=send,
        where=where,
        name=name,
        canon=make_canon(settings),
        robots=RobotsBook(settings.product_token),
        rules=HostRules(
            pace=_pace_rules(settings),
            breaker=backoff.BreakerRules(
                failures=settings.breaker_failures, base_s=settings.breaker_base_s, max_s=settings.breaker_max_s
            ),
            credentialed=frozenset(_origin(*key) for key in make_credentials(settings)) if where else frozenset(),
        ),
        starts=Starts(
            shared=SharedBudgets(settings),
            ceiling=Ceiling(settings.requests_per_s_max) if settings.requests_per_s_max else None,
        ),
        reading=ReadingRoom(readers=readers),
        stays=Stays(slow_slots=threading.Semaphore(max(settings.concurrency // 2, 1))),
        caches=Caches(known=KnownKeys(settings.bloom_keys), full_hosts=FullHosts(cap=settings.frontier_max_per_host)),
    )


def _origin(scheme: str, host: str, port: int) -> Origin:
    """The origin of a connection, whose IPv6 literals have no brackets."""
    return Origin(scheme, f"[{host}]" if ":" in host else host, port)


def _pace_rules(settings: Settings) -> pace.PaceRules:
    return pace.PaceRules(
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
