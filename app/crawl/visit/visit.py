"""A visit: one worker's exclusive, bounded stay at one host.

take up ▶ (fetch ▶ fetch ▶ … ▶ settle)* ▶ leave. The lease makes it exclusive and the token fences its writes. While the lease
runs, the host's next contact is the lease's end plus the delay: after a crash nothing needs to be repaired. Between two
requests a visit to a host with a delay is parked (`app.runtime.delay_queue`): it uses no thread.
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
from app.crawl.state.visit import Stay
from app.crawl.state.worker import Kit
from app.crawl.visit import settle
from app.crawl.visit.work import gather, park, refill, work
from app.errors import LeaseLost, ServiceError
from app.model import VisitEnding
from app.policy import pace
from app.policy.hours import Hours
from app.policy.lifecycle_visit import BatchState, VisitEvent, VisitState
from app.store import db, hosts

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitReport:
    """The ending of a visit, PARKED if it is parked. host None: it never began, and the ending is CLOSED."""

    host: str | None
    ending: VisitEnding
    requests: int = 0


class CutOff(ServiceError):
    """A service failed during a visit: call `give_back` when Postgres is available again."""

    def __init__(self, stay: Stay, error: ServiceError) -> None:
        super().__init__(error.what, error.remedy)
        self.stay = stay


def visit(kit: Kit, host_id: int, token: UUID) -> VisitReport:
    """Take up the offer `token` of a host and stay while there is something to fetch soon. Raises ServiceError, CutOff."""
    isolation.pay(kit)
    stay = take_up(kit, host_id, token)
    return VisitReport(host=None, ending=VisitEnding.CLOSED) if stay is None else go_on(stay)


def go_on(stay: Stay) -> VisitReport:
    """Continue a visit that was just taken up, or was parked. Raises CutOff."""
    return _until_its_end(stay, lambda: work(stay))


def settle_together(stays: Sequence[Stay]) -> list[tuple[Stay, Callable[[], VisitReport]]]:
    """Settle gathered batches together. Returns each visit's next step, which sends no request. Raises CutOff."""
    return [(stay, partial(_settled_together, stay, ending)) for stay, ending in settle.together(stays)]


def settle_alone(stay: Stay) -> VisitReport:
    """Settle one batch, after settling it together with others failed. Raises CutOff."""
    if stay.batch.state is BatchState.IN_DOUBT:
        stay.move(VisitEvent.CUT_OFF)
        return give_back(stay)
    if stay.state is VisitState.LEFT:
        return _settled_together(stay, stay.leaving)
    return _until_its_end(stay, lambda: _settled(stay, settle.go_on(stay)))


def _settled_together(stay: Stay, ending: VisitEnding | None) -> VisitReport:
    if stay.state is VisitState.LEFT and ending is not None:
        with structlog.contextvars.bound_contextvars(visit=stay.taken.visit_id):
            return _left(stay, ending)
    return _until_its_end(stay, lambda: _settled(stay, ending))


def _settled(stay: Stay, ending: VisitEnding | None) -> VisitEnding:
    """Continue after a group commit, without fetching: the other visits of the group wait for this thread."""
    if ending is VisitEnding.FENCED:
        raise LeaseLost(stay.taken.name)
    if ending is not None:
        return ending
    if stay.kit.stopping.is_set():
        return VisitEnding.STOPS
    return park(stay) if stay.due else refill(stay) or VisitEnding.DELAY


def _until_its_end(stay: Stay, act: Callable[[], VisitEnding]) -> VisitReport:
    """Let the visit act until it ends or is parked. Raises CutOff."""
    with structlog.contextvars.bound_contextvars(visit=stay.taken.visit_id):
        stay.move(VisitEvent.SERVED)
        try:
            ending = act()
            if ending is VisitEnding.PARKED:  # it belongs to another thread now
                return VisitReport(host=stay.taken.name, ending=ending)
            if stay.state is not VisitState.LEFT:
                _keep_promise(stay)
                stay.leaving = ending
                if gather(stay):
                    return VisitReport(host=stay.taken.name, ending=VisitEnding.PARKED)
                settle.leave(stay, ending)
        except LeaseLost:
            ending = _fenced(stay)
        except ServiceError as error:
            isolation.owe(stay)
            stay.move(VisitEvent.CUT_OFF)
            raise CutOff(stay, error) from error
        return _left(stay, ending)


def _keep_promise(stay: Stay) -> None:
    """Keep a promised start when the visit leaves before it: the host rests until then, and returns with its ticket."""
    if stay.promised is not None and stay.rest_until is None and stay.ready_at > stay.now():
        stay.rest(stay.ready_at - stay.now(), stay.promised)


def give_back(stay: Stay) -> VisitReport:
    """Settle and end a visit that was cut off, when Postgres is available again. Raises ServiceError.

    Nothing is lost while its lease runs.
    """
    with structlog.contextvars.bound_contextvars(visit=stay.taken.visit_id):
        results = stay.batch.results
        try:
            ending = VisitEnding.IN_DOUBT
            if settle.give_back(stay):
                ending = stay.leaving or VisitEnding.POSTGRES_AWAY
                isolation.paid(stay.kit, results)
        except LeaseLost:
            ending = _fenced(stay)
        return _left(stay, ending)


def _fenced(stay: Stay) -> VisitEnding:
    settle.log_fenced(stay)
    return VisitEnding.FENCED


def _left(stay: Stay, ending: VisitEnding) -> VisitReport:
    _log.info(
        "visit.left",
        host=stay.taken.name,
        requests=stay.requests,
        ending=ending.value,
        detail=stay.detail_of(ending),
        rest_s=stay.rest_s,
    )
    return VisitReport(host=stay.taken.name, ending=ending, requests=stay.requests)


def take_up(kit: Kit, host_id: int, token: UUID) -> Stay | None:
    """Take up an offer: the visit, with its first URLs picked. None: the offer is no longer valid. Raises ServiceError."""
    settings = kit.settings
    sent = kit.monotonic()
    with db.transaction(kit.engine) as tx:
        taken = hosts.take_up(tx, host_id=host_id, token=token, worker=kit.worker, lease_s=settings.lease_s)
        if taken is None:
            return None
        received = kit.monotonic()
        stay = Stay(
            kit=kit,
            host_id=host_id,
            token=token,
            taken=taken,
            started=received,
            anchor=received,
            lease_ends=sent + settings.lease_s,
            ready_at=received + taken.wait_s,
            delay_s=taken.delay_s,
            robots_delay_s=taken.robots_delay_s,
            failures=taken.failures,
            history=pace.History(
                level=taken.adaptive_level,
                statuses=tuple(taken.recent_statuses),
                ms=tuple(taken.recent_ms),
                latency_s=taken.latency_s,
            ),
            trips=taken.breaker_trips,
            quiet=Hours.parse(taken.quiet_hours) if taken.quiet_hours else None,
            isolate=min(taken.isolate, isolation.longest(settings, taken.delay_s)),
            answered=taken.answered,
            batch=Batch(started=received),
            unfetched=taken.unfetched,
            told=taken.unfetched,
        )
        kit.known.renew(received)
        kit.heed(taken.lineage)
        caps.take_up(stay, tx)
        obtain.load(stay, tx)
        stay.set_pace()
        pick.pick([stay], tx)
        slots.reserve_ahead(stay, tx)
    return stay
