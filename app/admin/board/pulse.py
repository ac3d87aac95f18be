"""Looks at everything that is live, once for all viewers of a web process: a bounded number of rows each time.

Rates are those of a window that ended some seconds ago: visits write their requests when they settle.

`phase_of` names the phase that a crawl is in, so that a healthy one never looks dead. Pure.
"""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine

from app.admin.failing import NOTHING_FAILED, Failures, failures
from app.admin.live import Round
from app.config import Settings
from app.model import CrawlEnding
from app.model.reasons import HostWait, words
from app.store import board, db, hosts, live, segments, urls
from app.store.board import CrawlLine, Rate, Row, Step
from app.store.live import HostRow
from app.words import counted, span

EARLY_S = 30.0
FIRST_PAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A crawl's phase: in a word, what it means, and whether somebody has to do something."""

    word: str
    means: str
    is_trouble: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The facts that a phase is judged by.

    requests   of the last seconds;   failed: of these;   queued: at most some
    running    visits of its hosts;   is_served: any visit of the fleet runs
    waits_for  what most of its next hosts wait for, as in v_host_status; None: no host waits
    next_s     seconds to the first contact of these; None: unknown
    stopped    why its archive cannot be written
    """

    state: str
    active_s: float
    pages: int
    requests: int
    failed: int
    running: int
    is_served: bool
    queued: int
    waits_for: str | None
    next_s: float | None = None
    keeps_fresh: bool = False
    stopped: str | None = None


def phase_of(now: Progress) -> Phase:
    """The phase of an active crawl."""
    if now.stopped is not None and not now.requests:
        return Phase(word="stopped", means=f"nothing is fetched: {now.stopped}", is_trouble=True)
    if not now.queued and not now.requests:
        return _nothing_queued(now)
    if now.requests and now.failed == now.requests:
        return Phase(word="failing", means="every request of the last seconds failed: see its errors", is_trouble=True)
    if not now.pages and not now.requests:
        return _before_the_first_page(now)
    if now.pages < FIRST_PAGES and now.active_s < EARLY_S:
        return Phase(word="first pages", means="links are being found; the rate grows with the hosts that are met")
    if now.requests:
        return Phase(word="crawling", means="pages are coming in")
    return _quiet(now)


def _nothing_queued(now: Progress) -> Phase:
    if now.keeps_fresh:
        return Phase(word="up to date", means="nothing is queued; pages are fetched again when they are due")
    return Phase(word="ending", means="nothing is queued; it ends once retries are done")


def _before_the_first_page(now: Progress) -> Phase:
    if now.running:
        return Phase(word="first contact", means="robots.txt is fetched before anything else, then the host's delay")
    if now.active_s < EARLY_S:
        return Phase(word="starting", means="hosts are offered to workers")
    return _quiet(now)


def _quiet(now: Progress) -> Phase:
    """Nothing was fetched in the last seconds."""
    wait = None if now.waits_for is None else HostWait.of(now.waits_for)
    if wait in {HostWait.DUE, HostWait.OFFERED} and not now.is_served:
        means = "hosts are due and no worker takes them up: start `tiptoe up`, or a worker and beat"
        return Phase(word="no worker", means=means, is_trouble=True)
    if now.running:
        return Phase(word="waiting", means="visits run, and none of their requests ended in the last seconds")
    if wait in {HostWait.RESTING, HostWait.PAUSED}:
        return Phase(word="resting", means=f"most of its next hosts are {now.waits_for}{_first(now)}")
    if wait in {HostWait.DUE, HostWait.OFFERED}:
        return Phase(word="waiting", means="its hosts are due; workers are busy with others")
    if wait is HostWait.DELAY:
        return Phase(word="waiting", means=f"hosts are between two requests, as their delays ask{_first(now)}")
    return Phase(word="quiet", means=f"no request in the last seconds; {counted(now.queued, 'URL')} queued")


def _first(now: Progress) -> str:
    return "" if now.next_s is None or now.next_s <= 0 else f"; the first contact is in {span(now.next_s)}"


CRAWLS = 12
ROUNDS_KEPT = 600  # crawls whose sums are kept from look to look
SLICE = 1_000  # hosts a look
QUEUED_MOST = 10_000
LATE_S, WINDOW_S = 4.0, 10.0
WAITS_EVERY_S = 10.0
WAITS_MOST = 2_000  # hosts that are asked
NEXT_EVERY_S = 3.0  # a quiet crawl's next hosts are asked
RECENT = 25
HISTORY_S, STEPS = 600, 120
RANGES = (HISTORY_S, 3_600, 86_400)  # seconds that a chart may show
NONE = Rate(None, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlNow:
    """An active, paused or recent crawl. rates: a second.   queued: at most QUEUED_MOST

    left_s: seconds until its budget of pages is reached, or all that is queued is fetched, at this rate; None: unknown
    """

    line: CrawlLine
    phase: Phase
    pages: int
    failed: int
    bytes: int
    is_whole: bool
    queued: int
    pages_s: float
    failed_s: float
    bytes_s: float
    left_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulsation:
    """A moment of the fleet. waits: because, hosts; requests: the newest; failures: of the last day."""

    at: float
    crawls: Sequence[CrawlNow]
    waits: Sequence[Row]
    waits_percent: float
    running: int
    offers: int
    requests: Sequence[Row]
    stopped: str | None
    failures: Failures = NOTHING_FAILED

    def summed(self, rate: str) -> float:
        return float(sum(getattr(crawl, rate) for crawl in self.crawls))


@dataclass(frozen=True, slots=True, kw_only=True)
class NextHosts:
    """The next hosts of a crawl: what most of them wait for, how many are visited, and their first contact.

    asked_at, next_at: seconds of a monotonic clock
    """

    asked_at: float
    waits_for: str | None = None
    running: int = 0
    next_at: float | None = None


@dataclass(slots=True)
class PulseWatch:
    """Looks again and again, and keeps the sums of its looks. Threads may share it: they look one after the other."""

    engine: Engine
    settings: Settings
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _rounds: dict[int, Round] = field(default_factory=dict)
    _waits: tuple[Sequence[Row], float] = ((), 100.0)
    _waits_at: float = float("-inf")
    _failures: Failures = NOTHING_FAILED
    _failures_at: float = float("-inf")
    _left: dict[int, int] = field(default_factory=dict)
    _next: dict[int, NextHosts] = field(default_factory=dict)

    def look(self) -> Pulsation:
        """Read the fleet as it is now. Raises ServiceError."""
        with self._lock, db.transaction(self.engine) as tx:
            self._ask_what_hosts_wait_for(tx)
            self._ask_what_fails(tx)
            lines = board.crawls(tx, CRAWLS)
            rates = {rate.crawl_id: rate for rate in board.rates(tx, from_s=LATE_S + WINDOW_S, until_s=LATE_S)}
            running = len(board.visiting(tx, 1_000))
            stopped = _stopped(tx)
            return Pulsation(
                at=time.time(),
                crawls=[self._crawl(tx, line, rates.get(line.id, NONE), running, stopped) for line in lines],
                waits=self._waits[0],
                waits_percent=self._waits[1],
                running=running,
                offers=sum(hosts.offers_outstanding(tx).values()),
                requests=board.requests(tx, n=RECENT),
                stopped=stopped,
                failures=self._failures,
            )

    def look_at(self, crawl_id: int) -> CrawlNow:
        """Read one crawl as it is now. Raises ServiceError."""
        with self._lock, db.transaction(self.engine) as tx:
            rates = {rate.crawl_id: rate for rate in board.rates(tx, from_s=LATE_S + WINDOW_S, until_s=LATE_S)}
            running = len(board.visiting(tx, 1_000))
            line = board.crawl(tx, crawl_id)
            return self._crawl(tx, line, rates.get(crawl_id, NONE), running, _stopped(tx))

    def waits(self) -> tuple[Sequence[Row], float]:
        """Count hosts by what they wait for, or return the count of some seconds ago; and the percent that was counted.

        Raises ServiceError.
        """
        with self._lock:
            if self._is_count_old():
                with db.transaction(self.engine) as tx:
                    self._ask_what_hosts_wait_for(tx)
            return self._waits

    def _ask_what_hosts_wait_for(self, tx: Connection) -> None:
        if self._is_count_old():
            self._waits = hosts.waits(tx, most=WAITS_MOST)
            self._waits_at = time.monotonic()

    def _ask_what_fails(self, tx: Connection) -> None:
        """Ask again for what hardly changes from look to look."""
        if time.monotonic() - self._failures_at >= WAITS_EVERY_S:
            self._failures, self._left = failures(tx), {}
            self._failures_at = time.monotonic()

    def _is_count_old(self) -> bool:
        return time.monotonic() - self._waits_at >= WAITS_EVERY_S

    def _crawl(self, tx: Connection, line: CrawlLine, rate: Rate, running: int, stopped: str | None) -> CrawlNow:
        got, is_whole = self._got(tx, line)
        is_active = line.state == "active"
        queued = self._queued(tx, line)
        coming = self._coming(tx, line.id) if is_active and queued and not rate.requests else NextHosts(asked_at=0)
        now = Progress(
            state=line.state,
            active_s=line.active_s,
            pages=got["pages"],
            requests=rate.requests,
            failed=rate.failed,
            running=coming.running,
            is_served=running > 0,
            queued=queued,
            waits_for=coming.waits_for,
            next_s=None if coming.next_at is None else coming.next_at - time.monotonic(),
            keeps_fresh=line.keep_fresh,
            stopped=stopped if line.archive else None,
        )
        return CrawlNow(
            line=line,
            phase=phase_of(now) if is_active else _still(line, got["pages"]),
            pages=got["pages"],
            failed=got["failed"],
            bytes=got["bytes"],
            is_whole=is_whole,
            queued=queued,
            pages_s=rate.pages / WINDOW_S,
            failed_s=rate.failed / WINDOW_S,
            bytes_s=rate.bytes / WINDOW_S,
            left_s=left_s(line, got["pages"], queued, rate.pages / WINDOW_S) if is_active else None,
        )

    def _queued(self, tx: Connection, line: CrawlLine) -> int:
        """URLs queued. A finished crawl may have left some, and keeps them: they are counted now and then."""
        if line.state != "finished":
            return urls.queued_some(tx, crawl_id=line.id, most=QUEUED_MOST)
        if line.id not in self._left:
            self._left[line.id] = urls.queued_some(tx, crawl_id=line.id, most=QUEUED_MOST)
        return self._left[line.id]

    def _coming(self, tx: Connection, crawl_id: int) -> NextHosts:
        """Ask what a quiet crawl's next hosts wait for, now and then."""
        now = time.monotonic()
        known = self._next.get(crawl_id)
        if known is None or now - known.asked_at >= NEXT_EVERY_S:
            self._next = {id: each for id, each in self._next.items() if now - each.asked_at < 10 * NEXT_EVERY_S}
            known = next_hosts(live.hosts(tx, crawl_id=crawl_id, queues=self.settings.queue_names), now)
            self._next[crawl_id] = known
        return known

    def _got(self, tx: Connection, line: CrawlLine) -> tuple[Counter[str], bool]:
        """A crawl's counts, with those of its next slice read anew: visits settle for a while after it has ended."""
        if line.id not in self._rounds and len(self._rounds) >= ROUNDS_KEPT:
            self._rounds.clear()
        turn = self._rounds.setdefault(line.id, Round())
        sums = turn.read(lambda after: live.fetched(tx, crawl_id=line.id, after=after, n=SLICE), SLICE)
        return sums, turn.is_whole


def next_hosts(rows: Sequence[HostRow], now: float) -> NextHosts:
    """Sum up a crawl's next hosts.   now: seconds of a monotonic clock"""
    because = Counter(row.because for row in rows)
    running = because.pop(HostWait.VISITED, 0)
    contacts = [row.next_s for row in rows if row.next_s is not None]
    return NextHosts(
        asked_at=now,
        waits_for=because.most_common(1)[0][0] if because else None,
        running=running,
        next_at=now + min(contacts) if contacts else None,
    )


def _stopped(tx: Connection) -> str | None:
    return next((node.stopped_because for node in segments.nodes(tx) if node.stopped_because), None)


def left_s(line: CrawlLine, pages: int, queued: int, pages_s: float) -> float | None:
    """Seconds until a crawl ends at this rate, by its budget of pages or by what is queued; None: nobody can say."""
    if pages_s <= 0 or line.keep_fresh:
        return None
    by_budget = (line.max_pages - pages) / pages_s if line.max_pages is not None else None
    by_queue = queued / pages_s if queued < QUEUED_MOST else None
    known = [each for each in (by_budget, by_queue) if each is not None]
    return max(min(known), 0.0) if known else None


def history(engine: Engine, crawl_id: int | None, *, within_s: int = HISTORY_S) -> Sequence[Step]:
    """The last minutes or hours in steps, as far as the newest requests of the log reach; those without one are 0.

    A step that has not ended yet is none: half of one would look like half the rate.
    """
    step_s = within_s // STEPS
    with db.transaction(engine) as tx:
        found = board.history(tx, crawl_id=crawl_id, within_s=within_s, step_s=step_s)
    known = {step.at: step for step in found[1:]}  # the first step may be cut
    if not known:
        return []
    until = int(time.time() - LATE_S) // step_s * step_s
    return [known.get(at, Step(at, 0, 0, 0)) for at in range(min(known), until, step_s)]


def _still(line: CrawlLine, pages: int) -> Phase:
    if line.state == "paused":
        return Phase(word="paused", means="an operator paused it; nothing of it is fetched until it is resumed")
    because = words(CrawlEnding(line.ended_because), line.ended_detail) if line.ended_because else "it ended"
    return Phase(word="finished", means=because if pages else f"{because}, without a page: its own page says why")
