"""One request of a page to a host whose lease is held.

    rules of its origin ▶ start ▶ send ▶ what it tells of the host

As in a visit, and by the same steps (`app.crawl.robots.obtain`, `app.crawl.request`): scope was judged before. A page
waits for the host's turn, and for shared budgets, as long as it may take; a visit would leave and return.

One request of a page to another host, such as a CDN: that host's lease is taken for it, exactly as a visit takes it.

offer ▶ take up ▶ robots.txt, turn, send ▶ settle and leave. While somebody else visits the host, or its turn is further
away than a page waits, the request is refused: no page makes another host wait.
"""

import threading
from typing import assert_never

import structlog

from app.browser.values import Answer, Refused
from app.crawl.page.failures import rest_challenged
from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.request.learn import soft_blocked, trouble
from app.crawl.robots import obtain
from app.crawl.robots.obtain import NoRules
from app.crawl.state.host_rest import HostRest
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, go_on, return_host, take_up
from app.errors import ServiceError, is_ours
from app.features.render.cache import Asking
from app.model import Origin, Outcome, Reply, Request, RequestKind, RestReason, Url, VisitEnding
from app.model.reasons import TICKETS
from app.model.render import RenderRefusal
from app.policy.outcome import is_host_trouble
from app.policy.robots import Robots
from app.store import db, hosts
from app.store.host_rows import Offer, host_rows

_log = structlog.get_logger()
_LEAST_S = 0.05  # between two looks at the turn
_LEAST_DEADLINE_S = 1.0
LONGEST_S = 10.0  # that a page waits for the turn of another host
_LOOK_S = 0.25


def fetch(
    visit: Visit, url: Url, crawl_id: int, asking: Asking, *, until: float, is_over: threading.Event | None = None
) -> Answer | Refused:
    """Send the request in the host's turn, if that comes by `until` (monotonic) and before the page is over.

    Raises LeaseLost, ServiceError.
    """
    try:
        return _fetch(visit, url, crawl_id, asking, until=until, is_over=is_over)
    except Exception as error:
        if is_ours(error):
            raise
        _log.exception("render.request_crashed", url=url.text)
        return Refused(RenderRefusal.FAILED)


def _fetch(
    visit: Visit, url: Url, crawl_id: int, asking: Asking, *, until: float, is_over: threading.Event | None
) -> Answer | Refused:
    rules = rules_of(visit, url.origin, until=until, authorised=asking.authorised)
    if isinstance(rules, Refused):
        return rules
    decision = rules.judge(url)
    if not decision.allowed:
        return Refused(RenderRefusal.TOO_COSTLY if decision.is_too_costly else RenderRefusal.ROBOTS)
    deadline_s = min(visit.worker.settings.request_deadline_s, max(until - visit.now(), _LEAST_DEADLINE_S))
    slot = _slot(visit, url, until, deadline_s)
    if slot is None:
        return Refused(RenderRefusal.BUDGET if visit.rest.until is not None else RenderRefusal.TIME)
    if is_over is not None and is_over.is_set():  # while it waited for its turn
        return Refused(RenderRefusal.TIME)
    is_post = asking.method == "POST"
    request = Request(
        url=url.text,
        kind=RequestKind.SUBREQUEST,
        max_body_bytes=5_000_000,  # of one answer, decoded
        deadline_s=deadline_s,
        method=asking.method,
        fields=asking.fields,
        content=asking.content,
        authorised=asking.authorised,
        fresh=is_post,  # over a kept connection it might be lost with it, and nobody would know whether it arrived
    )
    sent = send.send(visit, slot, Sending(request, url, "render post" if is_post else "render", crawl_id))
    if sent is None:
        return Refused(RenderRefusal.BUDGET)
    reply, outcome, _ = sent
    _consequences(visit, url.origin, crawl_id, reply, outcome)
    return _answer(reply, outcome)


def rules_of(visit: Visit, origin: Origin, *, until: float, authorised: bool) -> Robots | Refused:
    """The rules in force, asked for in the host's turn where they are not known.   authorised: as in Request

    Raises LeaseLost, ServiceError.
    """
    while True:
        found = obtain.of(visit, origin, authorised=authorised)
        match found:
            case Robots():
                return found
            case NoRules.SHUT:
                return Refused(RenderRefusal.ROBOTS)
            case NoRules.WAIT:
                if not _wait(visit, visit.rest.until or visit.turn.ready_at, until):
                    return Refused(RenderRefusal.BUDGET if visit.rest.until is not None else RenderRefusal.TIME)
            case never:
                assert_never(never)


def _slot(visit: Visit, url: Url, until: float, deadline_s: float) -> Slot | None:
    """A start by `until`. None: the host's turn, or that of a budget it shares, comes later."""
    while visit.rest.until is None and visit.now() < until:
        slot = slots.wait(visit, url, until - visit.now(), deadline_s)
        if slot is not None:
            return slot
        if visit.rest.until is None or not _wait(visit, visit.rest.until, until):
            return None
    return None


def _wait(visit: Visit, moment: float, until: float) -> bool:
    """Wait for a moment that comes soon enough, and forget the rest that it ends. False: it does not, or we stop."""
    rest = visit.rest
    if rest.is_blocked or moment >= until:
        return False
    if visit.worker.stopping.wait(max(moment - visit.now(), _LEAST_S)) or visit.now() >= until:
        return False
    if rest.why is not None and rest.why.reason in TICKETS:
        visit.start.promised = rest.why  # it returns on time, and does not queue again
    visit.rest = HostRest()
    return True


def _consequences(visit: Visit, origin: Origin, crawl_id: int, reply: Reply, outcome: Outcome) -> None:
    """Note what the answer tells of the host, as after any page; the URL has no row that could change."""
    tally = visit.batch.tally(crawl_id)
    tally.fetches += 1
    tally.bytes += reply.wire_bytes
    if reply.status in {403, 429}:
        obtain.doubt(visit.worker, visit.origins, visit.batch, origin)
    if outcome is Outcome.SOFT_BLOCKED:
        soft_blocked(visit.worker, visit.turn, visit.origins.crawl_delay_s())
    if outcome in {Outcome.RATE_LIMITED, Outcome.UNAVAILABLE}:
        trouble(visit, reply, RestReason(outcome.value))
    elif outcome is Outcome.CHALLENGED:
        rest_challenged(visit)
    elif not is_host_trouble(outcome) and outcome is not Outcome.BLOCKED_ADDRESS:
        visit.pace.serve(reply.status)


def _answer(reply: Reply, outcome: Outcome) -> Answer | Refused:
    """The answer for the page. A challenge is not: its script would try to solve it."""
    if outcome is Outcome.BLOCKED_ADDRESS:
        return Refused(RenderRefusal.ADDRESS)
    if reply.status is None or reply.failure is not None or outcome is Outcome.CHALLENGED:
        return Refused(RenderRefusal.FAILED)
    if reply.truncated:
        return Refused(RenderRefusal.BYTES)
    return Answer(status=reply.status, headers=reply.headers, body=reply.body)


def fetch_elsewhere(
    worker: Worker,
    url: Url,
    crawl_id: int,
    asking: Asking,
    *,
    until: float,
    is_over: threading.Event | None = None,
) -> Answer | Refused:
    """Send the request by `until` (monotonic), and before the page is over. Raises ServiceError."""
    until = min(until, worker.monotonic() + LONGEST_S)
    offer = _offer(worker, url.host, until)
    if isinstance(offer, Refused):
        return offer
    visit = take_up(worker, offer.host_id, offer.token, picks=False)
    if visit is None:
        return Refused(RenderRefusal.BUDGET)
    found: list[Answer | Refused] = []

    def act() -> VisitEnding:
        found.append(fetch(visit, url, crawl_id, asking, until=until, is_over=is_over))
        return VisitEnding.RENDERED

    try:
        report = go_on(visit, act)
    except CutOff as error:
        return_host(error.visit)
        raise ServiceError(error.what, error.remedy) from error
    return found[0] if found and report.ending is VisitEnding.RENDERED else Refused(RenderRefusal.FAILED)


def _offer(worker: Worker, name: str, until: float) -> Offer | Refused:
    """An offer of the host to ourselves, by `until`."""
    settings = worker.settings
    with db.transaction(worker.engine) as tx:
        hosts.ensure(tx, rows=host_rows([name], settings.queues), delay_s=settings.default_delay_s)
    while worker.monotonic() < until:
        with db.transaction(worker.engine) as tx:
            offer = hosts.offer_now(tx, name=name, offer_s=settings.offer_s, isolate=settings.settle_urls)
            free_s = hosts.free_in(tx, name) if offer is None else 0.0
        if offer is not None:
            return offer
        if free_s is None or worker.monotonic() + free_s >= until:
            return Refused(RenderRefusal.BUDGET)
        if worker.stopping.wait(max(free_s, _LOOK_S)):
            break
    return Refused(RenderRefusal.TIME)
