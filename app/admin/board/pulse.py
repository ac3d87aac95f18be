"""Renders the snapshot of the fleet for three faces, with a bounded number of rows for each look.

The dashboard shows all crawls, each in the phase that `phase_of` names, so that a healthy one never looks dead. The
live view shows one crawl, with its hosts and failures. Probes are told whether the crawl can go on, by its progress.
Rates are those of a window that ended some seconds ago: visits write their requests when they settle. The summary at
the end of a crawl is counted in full (`app.store.crawls.totals`).
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine

from app.admin.check import Check, Grade, broken
from app.admin.failing import NOTHING_FAILED, Failures, of_rows
from app.errors import TiptoeError, TookTooLong
from app.model import CrawlEnding
from app.model.reasons import HostWait, words
from app.store import board, db, fleet, live, migrate, segments
from app.store.board import CrawlLine, Row, Step
from app.store.fleet import LATE_S, QUEUED_MOST, WINDOW_S, CrawlFigures, FleetNow, FleetWatch
from app.store.live import HostRow
from app.words import counted, span

EARLY_S = 30.0
HOSTS_PAGE = 100
MOST_QUEUED = 1_000


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
    if now.pages < 20 and now.active_s < EARLY_S:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Checks, and whether all of them hold."""

    checks: Sequence[Check]

    @property
    def is_ready(self) -> bool:
        return all(check.grade is not Grade.FAIL for check in self.checks)


def readiness(watch: FleetWatch, *, stall_s: float | None) -> Readiness:
    """Check what a crawl needs: not whether processes are alive, but whether work that is due gets done.

    stall_s: seconds for which a host may be due
    """
    try:
        if not migrate.is_at_head(watch.engine):
            found = migrate.revision(watch.engine)
            remedy = ": ".join(migrate.unknown(found)) if migrate.is_newer(found) else "tiptoe db upgrade"
            finding = f"is {found or 'not there'}, and this Tiptoe wants {migrate.revisions()[-1]}"
            schema = Check(name="schema", grade=Grade.FAIL, finding=finding, remedy=remedy)
            return Readiness(checks=[schema])
        with fleet.snapshot(watch.engine) as tx:  # it waits for nobody who looks
            now = fleet.now(tx, watch.queues, fleet.NOTHING, watch.kept, most=0)
    except TookTooLong:  # the viewer asked for a page: whether Postgres serves others is not known
        raise
    except TiptoeError as error:
        return Readiness(checks=[broken("postgres", error)])
    return Readiness(
        checks=[
            Check(name="postgres", grade=Grade.OK, finding="answers"),
            Check(name="schema", grade=Grade.OK, finding="at head"),
            _beat(now.states.get("active", 0), now.unserved.overdue_s, stall_s or 60.0),
            _workers(now.unserved.missed),
        ]
    )


def status(watch: FleetWatch, *, after: str = "") -> dict[str, Any]:
    """How it goes, for a program: frontier, totals, errors, queues, and the last contact of each host, a page of them.

    frontier is Postgres' estimate. queued is counted up to QUEUED_MOST. after: the last host that was seen
    """
    with watch.reading(sampled=False) as (tx, now):
        minute = fleet.minute(tx)
        lines = board.crawls(tx, n=1_000)
        known = {each.line.id: each.queued for each in now.crawls}
        queued = {
            line.name: known[line.id] if line.id in known else fleet.queued(tx, line.id)
            for line in lines
            if line.state != "finished"
        }
        sizes = board.sizes(tx)
        names = [row["host"] for row in board.names_after(tx, after=after, n=HOSTS_PAGE)]
        contacts = {row["host"]: row["last_contact_at"] for row in board.hosts(tx, names=names, waits_for=None)}
    return {
        "frontier": {"urls": sizes.get("urls", 0), "hosts": sizes.get("hosts", 0), "queued": queued},
        "crawled": {"requests": sizes.get("fetches", 0), "pages": sizes.get("pages", 0)},
        "last_minute": {
            "requests": minute.requests,
            "pages": minute.pages,
            "errors": minute.failed,
            "error_rate": minute.failed / minute.requests if minute.requests else 0.0,
        },
        "crawls": {line.name: line.state for line in lines},
        "queues": now.offers,
        "hosts": {name: contacts[name] for name in names},
        "next": names[-1] if len(names) == HOSTS_PAGE else None,
    }


def _beat(active: int, overdue_s: float | None, most_s: float) -> Check:
    """Check beat by its effect: hosts that are due are claimed."""
    if not active or overdue_s is None or overdue_s <= most_s:
        return Check(name="beat", grade=Grade.OK, finding="no host is overdue" if active else "no crawl is active")
    return Check(
        name="beat",
        grade=Grade.FAIL,
        finding=f"a host has been due for {overdue_s:,.0f} s and was not claimed",
        remedy="start `tiptoe up`, or one celery -A app beat; with one running, see its log",
    )


def _workers(missed: int) -> Check:
    if not missed:
        return Check(name="workers", grade=Grade.OK, finding="offers are taken up")
    return Check(
        name="workers",
        grade=Grade.FAIL,
        finding=f"{missed:,} offers in a row were not taken up",
        remedy="start a worker for these queues, or restart one that hangs",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A moment of a crawl.

    queued    URLs queued; MOST_QUEUED stands for that or more
    failures  (class, requests) of the last minute, and since the crawl's start, the most frequent first
    hosts     some hosts that are being visited, and those that are next; none where the crawl is not active
    pages_s   pages a second, as on the dashboard; None: the crawl is younger than the time that this is measured in
    newest    the URL of its newest request in the last minute
    stopped   why nothing is fetched: the archive cannot be written
    is_full   False: all but the crawl is as it was at the last full look, or left out
    is_exact  False: it has so many hosts that failed is an estimate
    """

    crawl: CrawlLine
    pages: int
    failed: int
    bytes: int
    queued: int
    failures: Sequence[tuple[str, int]]
    hosts: Sequence[HostRow]
    is_exact: bool = True
    pages_s: float | None = None
    newest: str | None = None
    stopped: str | None = None
    is_full: bool = True

    @property
    def state(self) -> str:
        return self.crawl.state


@dataclass(slots=True)
class Live:
    """Watches one crawl.   queues: all that hosts may be on"""

    engine: Engine
    crawl_id: int
    queues: Sequence[str]
    _seen: Look | None = None

    def look(self, *, in_full: bool = True) -> Look:
        """Read the crawl as it is now. Raises ServiceError.

        in_full: to be shown. Else only whether the crawl goes on is asked
        """
        with fleet.snapshot(self.engine) as tx:
            if in_full or self._seen is None:
                self._seen = self._read(tx)
                return self._seen
            return replace(self._seen, crawl=board.crawl(tx, self.crawl_id), is_full=False, failures=(), hosts=())

    def _read(self, tx: Connection) -> Look:
        crawl = fleet.crawl_now(tx, self.crawl_id)
        is_active = crawl.line.state == "active"  # else nothing comes, whatever the hosts' rows say
        return Look(
            crawl=crawl.line,
            pages=crawl.brought.pages,
            failed=crawl.brought.failed,
            bytes=crawl.brought.bytes,
            queued=min(crawl.queued, MOST_QUEUED),
            failures=live.failures(tx, self.crawl_id),
            hosts=live.hosts(tx, crawl_id=self.crawl_id, queues=self.queues) if is_active else (),
            is_exact=crawl.brought.is_exact,
            pages_s=crawl.rate.pages / WINDOW_S if crawl.line.active_s > LATE_S + WINDOW_S else None,
            newest=live.newest(tx, self.crawl_id),
            stopped=fleet.stopped(segments.nodes(tx)),
        )
