"""One snapshot of the fleet: every number that people and programs are shown of now, read in one transaction.

The live view, the dashboard, `status`, metrics and readiness render it, so that they agree. It costs about the same
however large the frontier is. What is under a lease, and what a crawl brought, is counted; what hosts wait for, and
what is queued by lane, comes from a sample of the table's blocks. A table that fits into it is counted in full.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine

from app import plugins
from app.model.reasons import HostWait
from app.store import board, db, deadline, live, renders, segments, urls
from app.store.board import CrawlLine, Row
from app.store.live import HostRow
from app.store.renders import RenderWorker
from app.store.segments import ArchiveNode

_sql = db.queries("fleet")
T = TypeVar("T")
KEPT_S: Final = 5.0  # a sample is good for so long
CRAWLS: Final = 12  # that are read one by one
BROUGHT_HOSTS: Final = 5_000  # of a crawl, whose counts are read; of more, these blocks are
QUEUED_MOST: Final = 10_000  # URLs of a crawl that are counted
MISSES: Final = 3  # offers in a row that no worker took up
LATE_S, WINDOW_S = 4.0, 10.0  # visits write their requests when they settle
TAKES_S: Final = 20.0


class Depth(NamedTuple):
    """URLs of a lane that are queued.   due: of hosts that are due and unclaimed"""

    queued: float
    due: float


class JudgedGaps(NamedTuple):
    """Violations among the newest requests, each compared with the one before to its host."""

    judged: int
    concurrent: int
    gap: int


class Rate(NamedTuple):
    """Requests of a crawl in a window of time. crawl_id: None for robots.txt."""

    crawl_id: int | None
    requests: int
    pages: int
    failed: int
    bytes: int


class Serving(NamedTuple):
    """A process that serves metrics.

    name     of its sessions: `session_name`
    address  that Postgres sees it at; None: a socket of this machine
    is_near  whether that is the asker's, too
    """

    name: str
    address: str | None
    is_near: bool


class Leased(NamedTuple):
    """Hosts of a queue that are offered, or being visited."""

    because: HostWait
    queue: str
    hosts: int
    earliest: datetime


class Unserved(NamedTuple):
    """Work that is due and not done.

    overdue_s    since when the first host is due and unclaimed; None: none is
    missed       hosts with MISSES offers in a row that no worker took up;   missed_most: offers of one of them
    """

    overdue_s: float | None
    missed: int
    missed_most: int

    def lag_s(self, offer_s: float) -> float:
        """Seconds that the host that has been due for longest waits for a worker.   offer_s: that an offer stands"""
        return max(self.overdue_s or 0.0, self.missed_most * offer_s)


NONE_JUDGED: Final = JudgedGaps(0, 0, 0)
NO_REQUESTS: Final = Rate(None, 0, 0, 0, 0)


class CrawlCounts(NamedTuple):
    """Counts of a crawl in its round, as in `Totals`.

    is_exact  False: of so many hosts fetches, failed and hosts are estimated
    """

    pages: int
    fetches: int
    failed: int
    bytes: int
    hosts: int
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlFigures:
    """A crawl.

    queued    URLs, QUEUED_MOST if there are more
    rate      of the WINDOW_S that ended LATE_S ago
    next      hosts that are visited or next, where the crawl is active and had no request in that time
    """

    line: CrawlLine
    brought: CrawlCounts
    queued: int
    rate: Rate
    next: Sequence[HostRow] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSample:
    """The part that is read now and then: it comes from samples, or hardly changes.

    lanes    queued URLs of active crawls
    waits    hosts by what they wait for, but for those under a lease: because, hosts, earliest
    percent  the share of the hosts that was asked; 100: the numbers are exact
    judged   the newest requests;   failing: rows of `board.failing`
    backlog  pages that wait, by the feature that they wait for
    renders  pages of active crawls that wait for a browser
    """

    lanes: Mapping[int, Depth] = field(default_factory=dict)
    waits: Sequence[Row] = ()
    percent: float = 100.0
    judged: JudgedGaps = NONE_JUDGED
    failing: Sequence[Row] = ()
    backlog: Mapping[str, int] = field(default_factory=dict)
    renders: int = 0


NOTHING: Final = FleetSample()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetNow:
    """A moment of the fleet.

    crawls    active ones, then paused ones, then the newest;   states: how many there are of each state
    leased    hosts under a lease;   unserved: work that is due and not done
    nodes     that write the archive;   browsers: workers that have one;   serving: processes with metrics
    sampled   NOTHING where the asker needs none
    """

    crawls: Sequence[CrawlFigures]
    states: Mapping[str, int]
    leased: Sequence[Leased]
    unserved: Unserved
    nodes: Sequence[ArchiveNode]
    browsers: Sequence[RenderWorker]
    serving: Sequence[Serving]
    sampled: FleetSample

    @property
    def visited(self) -> int:
        """Hosts that a worker visits."""
        return sum(each.hosts for each in self.leased if each.because == HostWait.VISITED)

    @property
    def offers(self) -> Mapping[str, int]:
        """Offers that are not taken up yet, by queue."""
        return offers(self.leased)

    @property
    def all_waits(self) -> Sequence[Row]:
        """Hosts by what they wait for, those under a lease and those that wait for nothing too; most hosts first."""
        found = [*self.sampled.waits]
        for because in (HostWait.OFFERED, HostWait.VISITED):
            of = [each for each in self.leased if each.because == because]
            if of:
                earliest = min(each.earliest for each in of)
                found.append({"because": because.value, "hosts": sum(each.hosts for each in of), "earliest": earliest})
        return sorted(found, key=lambda row: (-row["hosts"], row["because"]))

    @property
    def waits(self) -> Sequence[Row]:
        """Hosts by what they wait for."""
        return [row for row in self.all_waits if row["because"] != HostWait.NOTHING]

    @property
    def stopped(self) -> str | None:
        """Why an archive cannot be written."""
        return stopped(self.nodes)


class RecentReads:
    """Values that cost much and hardly change: each is read again after KEPT_S."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._values: dict[tuple[str, int], tuple[float, Any]] = {}

    def last(self, what: str, id: int = 0) -> Any:
        """The value that was read last, while it is good; else None."""
        at, value = self._values.get((what, id), (float("-inf"), None))
        return value if self._monotonic() - at < KEPT_S else None

    def of(self, read: Callable[[], T], what: str, id: int = 0) -> T:
        """The value, read now where the last one is too old."""
        last: T | None = self.last(what, id)
        if last is not None:
            return last
        if len(self._values) >= 2_000:
            self._values.clear()
        at, found = self._monotonic(), read()
        self._values[what, id] = at, found
        return found


@dataclass(slots=True)
class FleetWatch:
    """Reads the fleet again and again for all who look in a process. Threads share it, and read one after the other.

    queues: all that hosts may be on
    """

    engine: Engine
    queues: Sequence[str]
    kept: RecentReads = field(default_factory=RecentReads)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self, *, sampled: bool = True, most: int = CRAWLS, only: int | None = None) -> FleetNow:
        """The fleet as it is now. As `reading`."""
        with self.reading(sampled=sampled, most=most, only=only) as (_, found):
            return found

    @contextmanager
    def reading(
        self, *, sampled: bool = True, most: int = CRAWLS, only: int | None = None
    ) -> Iterator[tuple[Connection, FleetNow]]:
        """The fleet as it is now, in a transaction for what is to be read beside. Raises ServiceError.

        sampled: whether samples are needed, which are KEPT_S old at most;   most, only: as in `now`
        """
        with self._lock, snapshot(self.engine) as tx:
            found = self.kept.of(lambda: sample(tx), "sample") if sampled else self.kept.last("sample") or NOTHING
            yield tx, now(tx, self.queues, found, self.kept, most=most, only=only)

    def judged(self) -> JudgedGaps:
        """The newest requests, as in the last sample while it is good. Raises ServiceError."""
        last: FleetSample | None = self.kept.last("sample")
        if last is not None:
            return last.judged
        with snapshot(self.engine) as tx:
            return _judged(tx)


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A transaction in which all is of one moment; it only reads, and takes TAKES_S at most."""
    remedy = "Postgres is overloaded, or its statistics are old: run ANALYZE, and see docs/operating.md"
    bound = deadline.within(TAKES_S, what="the state of the fleet", remedy=remedy)
    with bound, db.transaction(engine, frozen=True) as tx:
        yield tx


def now(
    tx: Connection,
    queues: Sequence[str],
    sampled: FleetSample,
    kept: RecentReads,
    *,
    most: int = CRAWLS,
    only: int | None = None,
) -> FleetNow:
    """The fleet, in a snapshot's transaction.

    queues: that hosts may be on; none: neither is `unserved` read, nor `next`
    most: crawls that are read, and in their place `only` this one
    """
    lines = board.crawls(tx, most) if only is None else [board.crawl(tx, only)]
    rates = _rates(tx) if lines else {}
    return FleetNow(
        crawls=[_figures(tx, line, rates.get(line.id), queues, kept) for line in lines],
        states={row.state: row.crawls for row in db.run(tx, _sql["states"])},
        leased=leased(tx),
        unserved=unserved(tx, queues),
        nodes=segments.nodes(tx),
        browsers=renders.workers(tx),
        serving=serving(tx),
        sampled=sampled,
    )


def sample(tx: Connection, *, hosts: int = 2_000) -> FleetSample:  # asked what they wait for
    """Sample the fleet.   hosts: that are asked what they wait for"""
    # Some 1,000 URLs: their figures are within a fifth, two times of three.
    share = db.run(tx, _sql["sample_percents"], {"blocks": 32, "hosts": hosts}).one()
    lanes = db.run(tx, _sql["frontier"], {"percent": share.urls})
    return FleetSample(
        lanes={row.lane: Depth(row.queued * 100 / share.urls, row.due * 100 / share.urls) for row in lanes},
        waits=[row._asdict() for row in db.run(tx, _sql["waits"], {"percent": share.hosts})],
        percent=share.hosts,
        judged=_judged(tx),
        failing=board.failing(tx, crawl_id=None, rows=board.FAILED_ROWS),
        backlog=plugins.backlog(tx),
        renders=renders.depth(tx, 10_000),
    )


def leased(tx: Connection) -> list[Leased]:
    """Count hosts under a lease."""
    return [Leased(HostWait(row.because), *row[1:]) for row in db.run(tx, _sql["leased"])]


def offers(found: Sequence[Leased]) -> dict[str, int]:
    """Offers that are not taken up yet, by queue."""
    return {each.queue: each.hosts for each in found if each.because == HostWait.OFFERED}


def unserved(tx: Connection, queues: Sequence[str]) -> Unserved:
    """Look for work of these queues that is due and not done."""
    (found,) = db.run(tx, _sql["unserved"], {"queues": list(queues), "misses": MISSES}).of(Unserved)
    return found


def brought(tx: Connection, crawl_id: int) -> CrawlCounts:
    """Count what a crawl brought in this round: at its hosts, BROUGHT_HOSTS at most, else by sums and a sample."""
    (found,) = db.run(tx, _sql["brought"], {"crawl_id": crawl_id, "most": BROUGHT_HOSTS}).of(CrawlCounts)
    if found.hosts == BROUGHT_HOSTS:
        where = {"crawl_id": crawl_id, "blocks": 64}
        (found,) = db.run(tx, _sql["brought_by_many"], where).of(CrawlCounts)
    return found


def minute(tx: Connection) -> Rate:
    """Requests of all crawls in the minute that ended LATE_S ago."""
    found = [rate[1:] for rate in _rates(tx, 60.0).values()] or [NO_REQUESTS[1:]]
    return Rate(None, *map(sum, zip(*found, strict=True)))


def crawl_now(tx: Connection, crawl_id: int) -> CrawlFigures:
    """One crawl, without its next hosts."""
    return _figures(tx, board.crawl(tx, crawl_id), _rates(tx).get(crawl_id), (), RecentReads())


def queued(tx: Connection, crawl_id: int) -> int:
    """URLs of a crawl that are queued, QUEUED_MOST if there are more."""
    return urls.queued_some(tx, crawl_id=crawl_id, most=QUEUED_MOST)


def stopped(nodes: Sequence[ArchiveNode]) -> str | None:
    """Why one of these machines cannot write the archive."""
    return next((node.stopped_because for node in nodes if node.stopped_because), None)


def _figures(
    tx: Connection, line: CrawlLine, rate: Rate | None, queues: Sequence[str], kept: RecentReads
) -> CrawlFigures:
    waiting = partial(queued, tx, line.id)
    left = kept.of(waiting, "left", line.id) if line.state == "finished" else waiting()
    is_quiet = line.state == "active" and left > 0 and rate is None
    coming = partial(live.hosts, tx, crawl_id=line.id, queues=queues)
    return CrawlFigures(
        line=line,
        brought=brought(tx, line.id),
        queued=left,
        rate=rate or NO_REQUESTS,
        next=kept.of(coming, "next", line.id) if is_quiet and queues else (),
    )


def _judged(tx: Connection) -> JudgedGaps:
    (found,) = db.run(tx, _sql["judged"], {"n": 200}).of(JudgedGaps)  # the newest requests
    return found


def _rates(tx: Connection, window_s: float = WINDOW_S) -> dict[int | None, Rate]:
    where = {"from_s": LATE_S + window_s, "until_s": LATE_S, "n": board.NEWEST}
    return {rate.crawl_id: rate for rate in db.run(tx, _sql["rates"], where).of(Rate)}


def session_name(role: str, address: str, port: int) -> str:
    """The name of the Postgres sessions of a process that serves metrics: `serving` finds it by that.

    address: "*" for every one."""
    return f"tiptoe {role} at {address}:{port}"


def serving(tx: Connection) -> list[Serving]:
    """Processes that serve metrics and have a session now."""
    return db.run(tx, _sql["serving"]).of(Serving)
