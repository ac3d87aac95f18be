"""Renders the snapshot of the fleet for the dashboard: a bounded number of rows for each look.

Rates are those of a window that ended some seconds ago: visits write their requests when they settle.

`phase_of` names the phase that a crawl is in, so that a healthy one never looks dead. Pure.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from app.admin.failing import NOTHING_FAILED, Failures, of_rows
from app.model import CrawlEnding
from app.model.reasons import HostWait, words
from app.store import board, db
from app.store.board import CrawlLine, Row, Step
from app.store.fleet import LATE_S, QUEUED_MOST, WINDOW_S, CrawlFigures, FleetNow, FleetWatch
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


RECENT = 25
HISTORY_S, STEPS = 600, 120
RANGES = (HISTORY_S, 3_600, 86_400)  # seconds that a chart may show


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlNow:
    """An active, paused or recent crawl. rates: a second.   queued: at most QUEUED_MOST;   is_exact: else failed is not

    left_s: seconds until its budget of pages is reached, or all that is queued is fetched, at this rate; None: unknown
    """

    line: CrawlLine
    phase: Phase
    pages: int
    failed: int
    bytes: int
    is_exact: bool
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
    """The next hosts of a crawl: what most of them wait for, how many are visited, and seconds to the first contact."""

    waits_for: str | None = None
    running: int = 0
    next_s: float | None = None


def look(fleet: FleetWatch) -> Pulsation:
    """Read the fleet as it is now. Raises ServiceError."""
    with fleet.reading() as (tx, now):
        return Pulsation(
            at=time.time(),
            crawls=[crawl_now(each, now) for each in now.crawls],
            waits=now.waits,
            waits_percent=now.sampled.percent,
            running=now.visited,
            offers=sum(now.offers.values()),
            requests=board.requests(tx, n=RECENT),
            stopped=now.stopped,
            failures=of_rows(now.sampled.failing),
        )


def look_at(fleet: FleetWatch, crawl_id: int) -> CrawlNow:
    """Read one crawl as it is now. Raises ServiceError."""
    now = fleet.now(sampled=False, only=crawl_id)
    return crawl_now(now.crawls[0], now)


def crawl_now(crawl: CrawlFigures, fleet: FleetNow) -> CrawlNow:
    """A crawl for its page."""
    line, got, pages_s = crawl.line, crawl.brought, crawl.rate.pages / WINDOW_S
    is_active = line.state == "active"
    coming = next_hosts(crawl.next)
    now = Progress(
        state=line.state,
        active_s=line.active_s,
        pages=got.pages,
        requests=crawl.rate.requests,
        failed=crawl.rate.failed,
        running=coming.running,
        is_served=fleet.visited > 0,
        queued=crawl.queued,
        waits_for=coming.waits_for,
        next_s=coming.next_s,
        keeps_fresh=line.keep_fresh,
        stopped=fleet.stopped if line.archive else None,
    )
    return CrawlNow(
        line=line,
        phase=phase_of(now) if is_active else _still(line, got.pages),
        pages=got.pages,
        failed=got.failed,
        bytes=got.bytes,
        is_exact=got.is_exact,
        queued=crawl.queued,
        pages_s=pages_s,
        failed_s=crawl.rate.failed / WINDOW_S,
        bytes_s=crawl.rate.bytes / WINDOW_S,
        left_s=left_s(line, got.pages, crawl.queued, pages_s) if is_active else None,
    )


def next_hosts(rows: Sequence[HostRow]) -> NextHosts:
    """Sum up a crawl's next hosts."""
    because = Counter(row.because for row in rows)
    running = because.pop(HostWait.VISITED, 0)
    contacts = [row.next_s for row in rows if row.next_s is not None]
    return NextHosts(
        waits_for=because.most_common(1)[0][0] if because else None,
        running=running,
        next_s=min(contacts) if contacts else None,
    )


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
