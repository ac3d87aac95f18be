"""A render turn: one page of one host, under the host's lease.

    claim ▶ take up ▶ rules of its origin ▶ browser (its requests are ours) ▶ read ▶ settle and leave

The lease makes it exclusive, and the token fences what it writes, as in any visit. A page is counted before the browser
opens it, so that one which ends its worker is given up in the end. A browser that dies over the page costs it one
attempt; one that never showed it says nothing of the page, unless this machine shows others.

How a page's rendering ends: a row of the batch, done, failed, or due again; what the browser made is archived first.

Its record stands beside the plain answer that it was made from. Not where its owner wants no copy, or the plain answer
is not in the archive. What stands there already is not written again.
"""

import re
import zlib
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import partial
from hashlib import sha256
from typing import Final, Protocol, assert_never

import structlog

from app.browser.values import (
    Ask,
    Bounds,
    BrowserDeath,
    BrowserProblem,
    PlainResponse,
    Refused,
    Rendering,
    ResourceKind,
)
from app.crawl.frontier import pick
from app.crawl.state.visit import Visit, outlast
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, go_on, return_host, take_up
from app.errors import ArchiveStopped, is_ours, raised
from app.features.archive.keep import CAPTURES, holds, keeper_of
from app.features.archive.recording import RenderedDocument
from app.features.focus.on_host import focus_of
from app.features.render.at_host import rules_of
from app.features.render.cache import SharedCache
from app.features.render.requests import PageRequests
from app.features.render.take_in import RENDERED, TakenIn, judge, read_in, take_in
from app.model import Outcome, Refusal, Url, VisitEnding
from app.model.reasons import KEPT_OUT
from app.model.render import RenderEnding, RenderRefusal
from app.policy import backoff
from app.policy.focus.patterns import MUCH
from app.policy.scope import may_authenticate
from app.store import captures, db, renders
from app.store.renders import RenderEnd, TakenRender
from app.store.url_rows import Due

TAKES_MOST: Final = 3
PROBLEM_S: Final = 60.0
SLOW_STARTS_MOST: Final = 4  # two of each thread, of half a minute each
BUSY_SHARE: Final = 0.2  # of its time, that a browser has at least where a script keeps its page from rest
REST_S: Final = 5.0  # for what the page does beside its requests
LEASE_REST_S: Final = 15.0  # of a lease, for reading the document, the settle, and the request that is under way
# Scripts and styles of a document, as a browser finds them. A count for an estimate, not a parser.
_SCRIPTS: Final = re.compile(rb"<script\b[^>]*\bsrc\s*=", re.IGNORECASE)
_STYLES: Final = re.compile(rb"<link\b[^>]*\brel\s*=\s*[\"']?stylesheet", re.IGNORECASE)
_log = structlog.get_logger()
ATTEMPTS_MOST: Final = 3


class Renders(Protocol):
    """Browsers, as `app.browser.page.Browsers` has them."""

    def render(
        self, plain: PlainResponse, ask: Ask, bounds: Bounds, *, user_agent: str, screenshot: bool = False
    ) -> Rendering | BrowserDeath: ...


class TurnEnding(Enum):
    """Whether there was a page to render."""

    NOTHING = "no page is due whose host may be contacted now"
    DONE = "a page was dealt with"


@dataclass(slots=True, kw_only=True)
class RenderTurns:
    """The state that turns share. Threads use it at once.

    user_agent  that the browser has: ours
    problem     why no browser starts here; None: one does, as far as is known
    slow_starts  in a row: a busy machine has one now and then, and crawls would end for it with their pages waiting
    """

    worker: Worker
    browsers: Renders
    user_agent: str
    cache: SharedCache = field(default_factory=SharedCache)
    problem: BrowserProblem | None = None
    slow_starts: int = 0

    def run(self) -> TurnEnding:
        """Render one page. Raises ServiceError."""
        worker, settings = self.worker, self.worker.settings
        with db.transaction(worker.engine) as tx:
            # Of a host's turn: dispatch, which claims less far ahead, would leave none to us.
            offer = renders.claim(tx, ahead_s=1.0, offer_s=settings.offer_s, isolate=settings.settle_urls)
        if offer is None:
            return TurnEnding.NOTHING
        visit = take_up(worker, offer.host_id, offer.token, picks=False)
        if visit is not None:
            try:
                go_on(visit, partial(self._work, visit))
            except CutOff as error:
                return_host(error.visit)
                raise
        return TurnEnding.DONE

    def _work(self, visit: Visit) -> VisitEnding:
        found = _take(visit)
        if found is None:
            return VisitEnding.NOTHING_DUE
        taken, due = found
        with structlog.contextvars.bound_contextvars(url=taken.url):
            mark, captures = visit.batch.mark(), len(visit.batch.rows(CAPTURES))
            try:
                self._page(visit, taken, due)
            except ArchiveStopped as error:  # the page waits, and is not to blame
                given_back(visit, taken, str(error), due_s=PROBLEM_S)
            except Exception as error:
                if is_ours(error):
                    raise
                _log.exception("render.page_crashed")
                visit.batch.back_to(mark)
                del visit.batch.rows(CAPTURES)[captures:]
                failed(visit, taken, raised("rendering it", error))
        return VisitEnding.RENDERED

    def _page(self, visit: Visit, taken: TakenRender, due: Due) -> None:
        """Render the page, and put its ending into the batch. Raises LeaseLost, ServiceError."""
        if taken.takes > TAKES_MOST:
            failed(visit, taken, f"its worker or its browser died {TAKES_MOST} times before it was rendered")
            return
        url = visit.worker.canon.of_row(due.url, due.key, due.linked)
        if isinstance(url, Refusal):
            failed(visit, taken, f"no URL of ours any more: {url}")
            return
        if (now := _otherwise_now(due, taken)) is not None:
            failed(visit, taken, now)
            return
        settings, plain = visit.worker.settings, zlib.decompress(taken.body)
        expected = estimate(plain, delay_s=visit.pace.delay_s)
        bounds = bounds_for(
            expected, wall_s=settings.render_s, requests=settings.render_requests, lease_s=settings.lease_s
        )
        until = visit.now() + bounds.wall_s
        authorised = may_authenticate(visit.picked.scopes[due.crawl_id], url)
        rules = rules_of(visit, url.origin, until=until, authorised=authorised)
        if isinstance(rules, Refused):
            _without_rules(visit, taken, rules.reason)
        elif not rules.permits(url):
            is_too_costly = rules.judge(url).is_too_costly
            what = "has too many patterns to judge it by" if is_too_costly else "does not allow it any more"
            failed(visit, taken, f"robots.txt {what}")
        else:
            outlast(visit.worker, visit.lease, bounds.wall_s + LEASE_REST_S)
            unwanted = unwanted_by(expected, bounds)
            check(visit, due)
            entitled = url.origin if authorised else None
            ask = PageRequests(
                visit=visit, due=due, cache=self.cache, until=until, entitled=entitled, unwanted=unwanted
            )
            guarded = frozenset(map(str, visit.worker.rules.credentialed))
            response = PlainResponse(
                url=url.text, status=taken.status, headers=taken.headers, body=plain, guarded=guarded
            )
            try:
                found = self.browsers.render(response, ask, bounds, user_agent=self.user_agent)
            finally:
                ask.end()
            self._conclude(visit, taken, due, url, found, ask)

    def _conclude(
        self, visit: Visit, taken: TakenRender, due: Due, url: Url, found: Rendering | BrowserDeath, ask: PageRequests
    ) -> None:
        match found:
            case BrowserDeath(problem=BrowserProblem() as problem):
                self._not_shown(visit, taken, problem)
            case BrowserDeath(is_proof=True):
                failed(visit, taken, found.cause)
            case BrowserDeath():
                retried(visit, taken, found.cause)
            case Rendering():
                self.problem, self.slow_starts = None, 0
                _read(visit, taken, due, url, found, ask)
            case never:
                assert_never(never)

    def _not_shown(self, visit: Visit, taken: TakenRender, problem: BrowserProblem) -> None:
        """The page waits, and is not to blame, unless it is shown to nobody while this machine shows the others."""
        is_suspect = problem.is_slowness and self.slow_starts == 0  # the last page was shown
        self._note(problem)
        if is_suspect and taken.takes == TAKES_MOST:
            retried(visit, taken, problem.finding)
        else:
            takes = taken.takes if is_suspect else taken.takes - 1
            given_back(visit, taken, problem.line, due_s=PROBLEM_S, takes=takes)

    def _note(self, problem: BrowserProblem) -> None:
        """Note why no browser showed a page. One that was slow is a problem where the next ones are, too."""
        self.slow_starts += problem.is_slowness
        if not problem.is_slowness or self.slow_starts >= SLOW_STARTS_MOST:
            self.problem = problem


def _read(visit: Visit, taken: TakenRender, due: Due, url: Url, found: Rendering, ask: PageRequests) -> None:
    """Read what the browser made of the page, and put it and its ending into the batch."""
    made = read_in(visit, due, url, taken, found)
    if made is None:
        failed(visit, taken, "its document cannot be read")
    elif ask.late and visit.worker.stopping.is_set():
        given_back(visit, taken, "its worker stopped", due_s=0.0)
    elif (lacking := _lacking(taken, found, made.brought, late=ask.late)) is not None:
        retried(visit, taken, lacking, found, cached=ask.cached)
    else:
        brought = judge(visit, due, url, taken, found, made)
        keep(visit, due, url, taken, found, brought)  # first: without its record it is not the page
        take_in(visit, due, taken, found, made, brought)
        if (focus := focus_of(visit.picked, due.crawl_id)) is not None:
            focus.rendered(url, brought.brought)
        ended(visit, taken, found, brought, cached=ask.cached)


def _take(visit: Visit) -> tuple[TakenRender, Due] | None:
    """The page, with what its crawl is. None: there is none, or not any more."""
    worker = visit.worker
    with db.transaction(worker.engine) as tx:
        taken = renders.take(tx, host_id=visit.host_id, token=visit.lease.token)
        due = renders.page(tx, taken) if taken is not None else None
        if taken is None or due is None:
            return None
        pick.serve(visit, tx, due.crawl_id, due.crawl.revision)
        pick.load_worth(visit, tx, due.crawl_id, refuses=due.crawl.has_page_budget)
        pick.set_floor(worker.settings, visit.picked, due.crawl_id, due.crawl.admits_above)
    return taken, due


def _otherwise_now(due: Due, taken: TakenRender) -> str | None:
    """Say why nothing is left to render, by what its URL has answered since; None: it is as it was."""
    if due.cause in KEPT_OUT:  # the body may be the same: a header says it, too
        return f"since then it is {due.cause}"
    if due.outcome in {Outcome.GONE, Outcome.REDIRECT}:
        return "it is gone since, or redirects"
    return None if due.known.body_sha256 == taken.body_sha256 else "it has changed since, and is not empty any more"


def _lacking(taken: TakenRender, found: Rendering, brought: int, *, late: int) -> str | None:
    """Say why the document is to be made again, twice at most; None: it stands as it is.   late: of what it needs"""
    is_last = taken.attempts + 1 >= ATTEMPTS_MOST
    if late and brought < (1 if is_last else MUCH):
        return "its hosts' turns came too late for what it asked for"
    # No script kept it from rest: the machine was busy with something else, or what it waited for came late.
    is_idle = found.ending is RenderEnding.DEADLINE and found.cpu_s < found.wall_s * BUSY_SHARE
    lacks = brought < 1 or (brought < MUCH and RenderRefusal.TIME in found.refused)
    return "it was not at rest in time, and its browser had done little" if is_idle and lacks and not is_last else None


def _without_rules(visit: Visit, taken: TakenRender, reason: RenderRefusal) -> None:
    """Its robots.txt is out of reach, or its host's turn is not near: the page waits, and is not to blame."""
    rest_s = max((visit.rest.until or 0.0) - visit.now(), backoff.url_retry_s(1, visit.worker.rng))
    given_back(visit, taken, f"it waits for its host: {reason}", due_s=rest_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The requests that a page is expected to make.   time: one after another, at the host's delay"""

    scripts: int
    styles: int
    time: timedelta


def estimate(body: bytes, *, delay_s: float) -> Estimate:
    """By the document's own tags. What its scripts fetch comes on top: one request for data is counted."""
    scripts, styles = len(_SCRIPTS.findall(body)), len(_STYLES.findall(body))
    return Estimate(scripts=scripts, styles=styles, time=timedelta(seconds=(scripts + styles + 1) * delay_s))


def bounds_for(expected: Estimate, *, wall_s: float, requests: int, lease_s: float) -> Bounds:
    """A page at a slow host gets longer, as far as a lease reaches."""
    needed_s = expected.time.total_seconds() + REST_S
    return Bounds(wall_s=max(min(max(wall_s, needed_s), lease_s - LEASE_REST_S), 1.0), requests=requests)


def unwanted_by(expected: Estimate, bounds: Bounds) -> frozenset[ResourceKind]:
    """Kinds that are left out so that scripts and their data have the time that there is."""
    if expected.time.total_seconds() + REST_S <= bounds.wall_s:
        return frozenset()
    return frozenset({ResourceKind.STYLESHEET})


def ended(visit: Visit, taken: TakenRender, found: Rendering, brought: TakenIn, *, cached: int) -> None:
    """It was rendered, and read as it stood.   cached: of its requests, those that were not sent"""
    row = _row(taken, state="done", found=found) | {"cached": cached}
    row |= {"brought": brought.brought, "text_sha256": brought.text_sha256, "changed": brought.changed}
    _end(visit, row)


def failed(visit: Visit, taken: TakenRender, cause: str) -> None:
    """No attempt can help."""
    _end(visit, _row(taken, state="failed", cause=cause))


def retried(visit: Visit, taken: TakenRender, cause: str, found: Rendering | None = None, *, cached: int = 0) -> None:
    """The attempt counts; the page is tried again, or has failed by now."""
    attempts = taken.attempts + 1
    if attempts >= ATTEMPTS_MOST:
        row = _row(taken, state="failed", cause=f"{cause}, {attempts} times", attempts=attempts, found=found)
    else:
        due_s = backoff.url_retry_s(attempts, visit.worker.rng)
        row = _row(taken, state="due", cause=cause, attempts=attempts, due_s=due_s, found=found)
    _end(visit, row | {"cached": cached})


def given_back(visit: Visit, taken: TakenRender, cause: str, *, due_s: float, takes: int = 0) -> None:
    """The page was not opened, and is not to blame.   takes: that count further, where it may be after all"""
    _end(visit, _row(taken, state="due", cause=cause, attempts=taken.attempts, due_s=due_s) | {"takes": takes})


def _end(visit: Visit, row: RenderEnd) -> None:
    visit.batch.add(RENDERED, row)
    _log.info("render.ended", state=row["state"], cause=row["cause"], ending=row["ending"], wall_ms=row["wall_ms"])


def _row(
    taken: TakenRender,
    *,
    state: str,
    cause: str | None = None,
    attempts: int = 0,
    due_s: float | None = None,
    found: Rendering | None = None,
) -> RenderEnd:
    return {
        "host_id": taken.host_id,
        "crawl_id": taken.crawl_id,
        "key": taken.key,
        "body_sha256": taken.body_sha256,
        "state": state,
        "cause": cause,
        "attempts": attempts,
        "takes": 0,
        "due_s": due_s,
        "ending": found.ending.value if found else None,
        "brought": None,
        "wall_ms": found.wall_s * 1000 if found else None,
        "cpu_ms": found.cpu_s * 1000 if found else None,
        "asked": found.asked if found else None,
        "answered": found.answered if found else 0,
        "cached": 0,
        "refused": {reason.value: n for reason, n in found.refused.items()} if found else None,
        "text_sha256": None,
        "changed": False,
    }


def check(visit: Visit, due: Due) -> None:
    """Raises ArchiveStopped where the document could not be kept."""
    keeper = keeper_of(visit.worker)
    if keeper is not None and holds(visit, due):
        keeper.check()


def keep(visit: Visit, due: Due, url: Url, taken: TakenRender, found: Rendering, made: TakenIn) -> None:
    """Write the document's records, and put its capture into the batch. Raises ArchiveStopped, ServiceError."""
    keeper = keeper_of(visit.worker)
    if keeper is None or not holds(visit, due) or not made.may_be_kept:
        return
    with db.transaction(visit.worker.engine) as tx:
        source = captures.rendered(
            tx, host_id=taken.host_id, crawl_id=taken.crawl_id, key=taken.key, body_sha256=taken.body_sha256
        )
    body_sha256 = sha256(made.body).digest()
    if source is None or source.standing == body_sha256:
        return
    refused = {f"refused-{reason.value}": n for reason, n in found.refused.items()}
    document = RenderedDocument(
        host_id=taken.host_id,
        crawl_id=taken.crawl_id,
        key=taken.key,
        url=source.url,
        rendered_at=visit.lease.database_time(visit.now()),
        status=source.status,
        source=source.id,
        source_record=source.record_id,
        body=made.body,
        body_sha256=body_sha256,
        text_sha256=made.text_sha256,
        at=made.at.text if made.at.key != url.key else None,
        is_cut=found.ending is RenderEnding.DOM,
        notes={"ending": found.ending.value, "wallTimeMs": round(found.wall_s * 1000), "asked": found.asked, **refused},
    )
    visit.batch.add(CAPTURES, keeper.append_rendered(document))
