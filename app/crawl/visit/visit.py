"""A visit: one worker's exclusive, bounded stay at one host.

take up ▶ (fetch ▶ fetch ▶ … ▶ settle)* ▶ leave. The lease makes it exclusive and the token fences its writes. While the
lease runs, the host's next contact is the lease's end plus the delay: after a crash nothing needs to be repaired.
Between two requests a visit to a host with a delay is parked (`app.runtime.delay_queue`): it uses no thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog

from app.config import Settings
from app.config.settings import LEASE_MARGIN_S
from app.crawl.frontier import caps, pick
from app.crawl.page import fetch, isolation
from app.crawl.request import slots
from app.crawl.robots import obtain
from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.picked import Picked
from app.crawl.state.slot import SharedStart
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.errors import LeaseLost, ServiceError
from app.model import Rest, RestReason, VisitEnding
from app.model.reasons import TICKETS
from app.policy import pace
from app.policy.lifecycle import BatchEvent, BatchState, VisitEvent, VisitState
from app.policy.moment import Hours
from app.runtime.group_commit import SETTLE_LINKS
from app.store import db, hosts
from app.store.host_rows import HostPace, TakenHost

_log = structlog.get_logger()
SLOW_S = 5.0
# A parked visit is resumed so much before its turn: a busy process takes as long to wake a thread and to get a request
# ready, and the rest is waited for in the thread.
PREPARE_S = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitReport:
    """The ending of a visit, PARKED if it is parked. host None: it never began, and the ending is CLOSED."""

    host: str | None
    ending: VisitEnding
    requests: int = 0


class CutOff(ServiceError):
    """A service failed during a visit: call `return_host` when Postgres is available again."""

    def __init__(self, visit: Visit, error: ServiceError) -> None:
        super().__init__(error.what, error.remedy)
        self.visit = visit


def visit(worker: Worker, host_id: int, token: UUID) -> VisitReport:
    """Take up the offer `token` of a host and stay while there is something to fetch soon.

    Raises ServiceError, CutOff.
    """
    isolation.refund(worker)
    taken = take_up(worker, host_id, token)
    return VisitReport(host=None, ending=VisitEnding.CLOSED) if taken is None else go_on(taken)


def go_on(visit: Visit, act: Callable[[], VisitEnding] | None = None) -> VisitReport:
    """Continue a visit that was just taken up, or was parked, until it ends or is parked. Raises CutOff.

    act: what it does at the host; D: its work. Its requests are sent and logged as a visit's
    """
    with structlog.contextvars.bound_contextvars(visit=visit.lease.visit_id):
        visit.move(VisitEvent.SERVED)
        try:
            ending = work(visit) if act is None else act()
            if ending is VisitEnding.PARKED:  # it belongs to another thread now
                return VisitReport(host=visit.lease.host, ending=ending)
            if visit.state is not VisitState.LEFT:
                _keep_promise(visit)
                visit.leaving = ending
                if gather(visit):
                    return VisitReport(host=visit.lease.host, ending=VisitEnding.PARKED)
                settle.leave(visit, ending)
        except LeaseLost:
            settle.log_fenced(visit)
            ending = VisitEnding.FENCED
        except ServiceError as error:
            isolation.refund_later(visit.worker, visit.host_id, visit.batch)
            visit.move(VisitEvent.CUT_OFF)
            raise CutOff(visit, error) from error
        return _left(visit, ending)


def work(visit: Visit) -> VisitEnding:
    """Work at the host until its visit ends or is parked. Slow hosts get at most half of the threads (promise F7); a
    visit that finds none free leaves, and the host rests a moment.
    """
    if not _is_slow(visit.pace):
        return _work(visit)
    if not visit.worker.stays.slow_slots.acquire(blocking=False):
        visit.rest.prolong(visit.now() + 2.0, Rest(RestReason.SLOW_SHARE))
        return VisitEnding.RESTS
    try:
        return _work(visit)
    finally:
        visit.worker.stays.slow_slots.release()


def _work(visit: Visit) -> VisitEnding:
    """Fetch until there is a reason to leave, or to park. Returns it."""
    while True:
        ending = _step(visit)
        if ending is not None:
            return ending


def _step(visit: Visit) -> VisitEnding | None:
    """Fetch the next URL, then leave, settle or park. None: fetch the next one."""
    if visit.worker.stopping.is_set():
        return VisitEnding.STOPS
    if not visit.picked.due and (ending := refill(visit)) is not None:
        return ending
    due = visit.picked.due.popleft()
    ending = fetch.fetch(visit, due)
    is_postponed = (
        ending is VisitEnding.DELAY and visit.rest.until is None and (_is_early(visit) or visit.start.is_promised)
    )
    if is_postponed:
        visit.picked.due.appendleft(due)  # such as after a request for robots.txt: the page's turn is the next one
    elif ending is not None:
        return ending
    left = _why_leave(visit) or _wait(visit, is_postponed=is_postponed)
    if left in {VisitEnding.LONG_ENOUGH, VisitEnding.DELAY} and not visit.picked.due and visit.leaving is None:
        return refill(visit) or left  # refused URLs may be queued now: without any the crawl would end
    return left


def _why_leave(visit: Visit) -> VisitEnding | None:
    if visit.rest.is_blocked:
        return VisitEnding.ADDRESS_RESTS if visit.rest.why is None else VisitEnding.RESTS
    if visit.worker.stopping.is_set():
        return VisitEnding.STOPS
    if max(visit.now(), visit.turn.ready_at) - visit.lease.anchor > _longest_s(visit.worker.settings, visit.start):
        return VisitEnding.LONG_ENOUGH
    return None


def _wait(visit: Visit, *, is_postponed: bool) -> VisitEnding | None:
    """Settle if the batch is full, and park if the host's turn is not near. None: fetch the next URL."""
    is_early = is_postponed or _is_early(visit)
    if is_early and not _may_park(visit):
        return VisitEnding.DELAY
    if _is_full(visit, is_early=is_early) or (is_early and not visit.picked.due):
        if gather(visit):
            return VisitEnding.PARKED
        ending = settle.go_on(visit)
        if ending is not None:
            return ending
        is_early = is_postponed or _is_early(visit)
    return park(visit) if is_early and visit.picked.due else None


def park(visit: Visit) -> VisitEnding:
    stays = visit.worker.stays
    parking = stays.parking
    if len(visit.picked.joined) > stays.parked_links:
        visit.picked.joined.clear()
    if parking is None:
        return VisitEnding.DELAY
    until = visit.turn.ready_at - max(visit.start.connect_s, min(PREPARE_S, visit.worker.settings.linger_s))
    if visit.start.is_promised:
        until = min(until, visit.now() + stays.settled_within_s)
    visit.move(VisitEvent.PARKED)  # first: once parked, it belongs to another thread
    if parking.park(visit, until):
        return VisitEnding.PARKED
    visit.move(VisitEvent.SERVED)
    return VisitEnding.DELAY


def gather(visit: Visit) -> bool:
    """Hand the batch to a group commit, if there is time and it may join. True: the visit belongs to another thread
    now.

    A visit whose host is to rest is not gathered: its rest is written at once.
    """
    gatherer, now = visit.worker.stays.gatherer, visit.now()
    if gatherer is None or visit.rest.until is not None or not settle.may_join(visit):
        return False
    if _soonest_s(visit) < gatherer.soonest_s or visit.lease.ends - now < 2 * LEASE_MARGIN_S:
        return False
    visit.move(VisitEvent.PARKED)
    visit.batch.move(BatchEvent.GATHERED)
    if gatherer.add(visit, visit.batch.links_expected):
        return True
    visit.batch.move(BatchEvent.NO_ROOM)
    visit.move(VisitEvent.SERVED)
    return False


def _soonest_s(visit: Visit) -> float:
    """Seconds until the host's next request is due, or would be if the visit were in time.

    A visit that is late is gathered as well: the process is busy, and a settle of its own would make all others later.
    One that was promised a start is not: the start would be lost.
    """
    left_s = visit.turn.ready_at - visit.now()
    return left_s if visit.start.is_promised else max(left_s, visit.pace.delay_s)


def _may_park(visit: Visit) -> bool:
    """Whether the visit may keep its lease, without a thread, until its turn.

    - Not in isolation: its URL may kill the worker, and the leases of all visits parked there with it.
    - Not when the host rests.
    - Not for long after a settle, so that it notices a pause and its URLs are still wanted. While it waits longer, for
      a promised start, it is settled in between.
    """
    stays, settings = visit.worker.stays, visit.worker.settings
    parking = stays.parking
    if parking is None or not parking.has_room or visit.pace.isolate > 0 or visit.rest.until is not None:
        return False
    longest_s = (
        settings.promise_longest_s if visit.start.is_promised else max(settings.settle_s, stays.settled_within_s)
    )
    return visit.turn.ready_at - visit.now() <= longest_s


def refill(visit: Visit) -> VisitEnding | None:
    """Settle, and pick more URLs. Returns the reason to leave where there are none."""
    if visit.picked.is_budget_spent:
        visit.rest.prolong(
            visit.now() + 1.0,
            Rest(RestReason.PAGE_BUDGET, "its share of max_pages is used up, or held by other visits"),
        )
        return VisitEnding.RESTS
    return settle.go_on(visit) or (None if visit.picked.due else refill(visit))


def _is_full(visit: Visit, *, is_early: bool) -> bool:
    """Whether to settle now: at 50 URLs, at 2 s by the next request, or at many links; in isolation after every URL.

    A visit that would be parked is settled at fewer links.
    """
    settings, stays, batch = visit.worker.settings, visit.worker.stays, visit.batch
    links_most = stays.parked_links if is_early else SETTLE_LINKS
    if visit.start.is_promised and not batch.fetches and not batch.results:
        return visit.now() - batch.started >= stays.settled_within_s
    return (
        batch.urls >= settings.settle_urls
        or max(visit.now(), visit.turn.ready_at) - batch.started >= settings.settle_s
        or batch.links_expected >= links_most
        or (visit.pace.isolate > 0 and bool(batch.results))
        or batch.address.answered is not None  # other hosts wait for the news that their address answers again
    )


def _is_early(visit: Visit) -> bool:
    """Whether the host's turn is further away than the visit waits for it in its thread."""
    return visit.turn.ready_at - visit.now() > slots.patience_s(visit.worker.settings, visit.turn, visit.start)


def _longest_s(settings: Settings, start: SharedStart) -> float:
    """Seconds that the visit may last: more where it shares a budget, so that it may get several starts."""
    return settings.visit_longest_s if start.is_crowded or start.is_promised else settings.visit_max_s


def _is_slow(host: HostPace) -> bool:
    """Whether the host did not serve its last visit, or takes seconds to answer."""
    is_silent = host.history.statuses[-1:] == (pace.NO_ANSWER,)
    return host.failures > 0 or is_silent or (host.history.latency_s or 0.0) > SLOW_S


def settle_together(visits: Sequence[Visit]) -> list[tuple[Visit, Callable[[], VisitReport]]]:
    """Settle gathered batches together. Returns each visit's next step, which sends no request. Raises CutOff."""
    return [(visit, partial(_settled_together, visit, ending)) for visit, ending in settle.together(visits)]


def settle_alone(visit: Visit) -> VisitReport:
    """Settle one batch, after settling it together with others failed. Raises CutOff."""
    if visit.batch.state is BatchState.IN_DOUBT:
        visit.move(VisitEvent.CUT_OFF)
        return return_host(visit)
    if visit.state is VisitState.LEFT:
        return _settled_together(visit, visit.leaving)
    return go_on(visit, lambda: _settled(visit, settle.go_on(visit)))


def _settled_together(visit: Visit, ending: VisitEnding | None) -> VisitReport:
    if visit.state is VisitState.LEFT and ending is not None:
        with structlog.contextvars.bound_contextvars(visit=visit.lease.visit_id):
            return _left(visit, ending)
    return go_on(visit, lambda: _settled(visit, ending))


def _settled(visit: Visit, ending: VisitEnding | None) -> VisitEnding:
    """Continue after a group commit, without fetching: the other visits of the group wait for this thread."""
    if ending is VisitEnding.FENCED:
        raise LeaseLost(visit.lease.host)
    if ending is not None:
        return ending
    if visit.worker.stopping.is_set():
        return VisitEnding.STOPS
    return park(visit) if visit.picked.due else refill(visit) or VisitEnding.DELAY


def _keep_promise(visit: Visit) -> None:
    """Keep a promised start when the visit leaves before it: the host rests until then, and returns with its ticket."""
    if visit.start.promised is not None and visit.rest.until is None and visit.turn.ready_at > visit.now():
        visit.rest.prolong(visit.turn.ready_at, visit.start.promised)


def return_host(visit: Visit) -> VisitReport:
    """Settle and end a visit that was cut off, when Postgres is available again. Raises ServiceError.

    Nothing is lost while its lease runs.
    """
    with structlog.contextvars.bound_contextvars(visit=visit.lease.visit_id):
        results = visit.batch.results
        try:
            ending = VisitEnding.IN_DOUBT
            if settle.retry_settle(visit):
                ending = visit.leaving or VisitEnding.POSTGRES_AWAY
                isolation.cancel_refund(visit.worker, results)
        except LeaseLost:
            settle.log_fenced(visit)
            ending = VisitEnding.FENCED
        return _left(visit, ending)


def _left(visit: Visit, ending: VisitEnding) -> VisitReport:
    _log.info(
        "visit.left",
        visit=visit.lease.visit_id,
        host=visit.lease.host,
        requests=visit.turn.requests,
        ending=ending.value,
        detail=visit.rest.detail_of(ending),
        rest_s=visit.rest.left_s(visit.now()),
    )
    return VisitReport(host=visit.lease.host, ending=ending, requests=visit.turn.requests)


def take_up(worker: Worker, host_id: int, token: UUID, *, picks: bool = True) -> Visit | None:
    """Take up an offer: the visit, with its first URLs picked. None: the offer is no longer valid. Raises ServiceError.

    picks: False: it fetches no URL of the frontier
    """
    settings = worker.settings
    sent = worker.monotonic()
    with db.transaction(worker.engine) as tx:
        taken = hosts.take_up(tx, host_id=host_id, token=token, worker=worker.name, lease_s=settings.lease_s)
        if taken is None:
            return None
        received = worker.monotonic()
        visit = _taken_up(worker, host_id, token, taken, sent, received)
        worker.starts.clock_tie.moments(taken.now, sent=sent, received=received)
        if worker.starts.clock_tie.is_unsure():  # the wait for its delay may have seemed over
            visit.turn.ready_at = max(visit.turn.ready_at, received + visit.pace.delay_s)
        worker.caches.known.renew(visit.lease.anchor)
        worker.forget_if_restored(taken.lineage)
        caps.recount_sometimes(worker, visit.lease, visit.picked, tx)
        obtain.load(worker, visit.lease, visit.origins, tx)
        visit.turn.adapt(worker, visit.origins.crawl_delay_s())
        if picks:
            pick.pick([visit], tx)
            slots.reserve_ahead(visit, tx)
    return visit


def _taken_up(worker: Worker, host_id: int, token: UUID, taken: TakenHost, sent: float, received: float) -> Visit:
    """A visit as it begins.   sent, received: monotonic seconds of the take-up"""
    taken.pace.isolate = min(taken.pace.isolate, isolation.longest(worker.settings, taken.pace.delay_s))
    worker.stays.leases[host_id] = lease = Lease(
        host_id=host_id,
        host=taken.name,
        visit_id=taken.visit_id,
        token=token,
        taken_at=taken.now,
        anchor=received,
        lineage=taken.lineage,
        ends=sent + worker.settings.lease_s,
        monotonic=worker.monotonic,
        steps=worker.starts.clock_tie.steps(),
    )
    return Visit(
        worker=worker,
        lease=lease,
        turn=Turn(
            pace=taken.pace,
            ready_at=received + taken.wait_s,
            was_contacted=taken.contacted,
            override_s=taken.delay_override_s,
            quiet=Hours.parse(taken.quiet_hours) if taken.quiet_hours else None,
        ),
        start=SharedStart(
            domain=taken.domain,
            address_before=taken.address,
            has_come_back=taken.resting_because in TICKETS,
        ),
        picked=Picked(unfetched=taken.unfetched, unfetched_on_row=taken.unfetched),
        batch=Batch(started=received),
    )
