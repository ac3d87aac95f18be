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

from app.crawl.frontier import caps, pick
from app.crawl.page import isolation
from app.crawl.request import slots
from app.crawl.robots import obtain
from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.picked import Picked
from app.crawl.state.shared_start import SharedStart
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.crawl.visit.work import gather, park, refill, work
from app.errors import LeaseLost, ServiceError
from app.model import VisitEnding
from app.model.reasons import TICKETS
from app.policy.hours import Hours
from app.policy.lifecycle_visit import BatchState, VisitEvent, VisitState
from app.store import db, hosts
from app.store.host_rows import TakenHost

_log = structlog.get_logger()


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


def go_on(visit: Visit) -> VisitReport:
    """Continue a visit that was just taken up, or was parked. Raises CutOff."""
    return _until_its_end(visit, lambda: work(visit))


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
    return _until_its_end(visit, lambda: _settled(visit, settle.go_on(visit)))


def _settled_together(visit: Visit, ending: VisitEnding | None) -> VisitReport:
    if visit.state is VisitState.LEFT and ending is not None:
        with structlog.contextvars.bound_contextvars(visit=visit.lease.visit_id):
            return _left(visit, ending)
    return _until_its_end(visit, lambda: _settled(visit, ending))


def _settled(visit: Visit, ending: VisitEnding | None) -> VisitEnding:
    """Continue after a group commit, without fetching: the other visits of the group wait for this thread."""
    if ending is VisitEnding.FENCED:
        raise LeaseLost(visit.lease.host)
    if ending is not None:
        return ending
    if visit.worker.stopping.is_set():
        return VisitEnding.STOPS
    return park(visit) if visit.picked.due else refill(visit) or VisitEnding.DELAY


def _until_its_end(visit: Visit, act: Callable[[], VisitEnding]) -> VisitReport:
    """Let the visit act until it ends or is parked. Raises CutOff."""
    with structlog.contextvars.bound_contextvars(visit=visit.lease.visit_id):
        visit.move(VisitEvent.SERVED)
        try:
            ending = act()
            if ending is VisitEnding.PARKED:  # it belongs to another thread now
                return VisitReport(host=visit.lease.host, ending=ending)
            if visit.state is not VisitState.LEFT:
                _keep_promise(visit)
                visit.leaving = ending
                if gather(visit):
                    return VisitReport(host=visit.lease.host, ending=VisitEnding.PARKED)
                settle.leave(visit, ending)
        except LeaseLost:
            ending = _fenced(visit)
        except ServiceError as error:
            isolation.refund_later(visit.worker, visit.host_id, visit.batch)
            visit.move(VisitEvent.CUT_OFF)
            raise CutOff(visit, error) from error
        return _left(visit, ending)


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
            ending = _fenced(visit)
        return _left(visit, ending)


def _fenced(visit: Visit) -> VisitEnding:
    settle.log_fenced(visit)
    return VisitEnding.FENCED


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


def stay(visit: Visit, act: Callable[[], VisitEnding]) -> VisitReport:
    """Do something else at a host that was just taken up: requests of `act` are sent and logged as a visit's.

    Raises CutOff.
    """
    return _until_its_end(visit, act)


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
