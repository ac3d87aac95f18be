"""Settles batches: writes their results, links and hosts' next contacts in one transaction, fenced by the tokens.

The hosts' rows are locked first: a visit that lost its lease writes nothing (its requests are still logged, as fenced).
The statements of `write` and `next_contact` follow the lock order (ARCHITECTURE.md). Other hosts are woken after the
commit.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from uuid import UUID

import structlog

from app.crawl.frontier import enter, pick, worth
from app.crawl.page import later, read
from app.crawl.robots import reopen
from app.crawl.state.batch import Batch, Sent
from app.crawl.state.host_rest import HostRest
from app.crawl.state.lease import Lease
from app.crawl.state.picked import PickedCounts
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit import counting, trace, unwritable
from app.crawl.visit.next_contact import contact, ending_row, pick_next, report_to_budgets, return_hosts
from app.crawl.visit.write import ENTERED, write
from app.errors import Deadlock, LeaseLost, Unwritable, is_ours
from app.model import VisitEnding
from app.policy.lifecycle_visit import BatchEvent, BatchState, VisitEvent, VisitState
from app.store import crawls, db, fetches, hosts, lineage
from app.store import visits as visit_rows

_log = structlog.get_logger()


def go_on(visit: Visit) -> VisitEnding | None:
    """Settle the batch, extend the lease, and pick the next URLs. Raises LeaseLost.

    Returns the ending with which the host was returned; None: the visit continues.
    """
    ((_, ending),) = together([visit])
    if ending is VisitEnding.FENCED:
        raise LeaseLost(visit.lease.host)
    return ending


def leave(visit: Visit, ending: VisitEnding) -> None:
    """Settle the batch and return the host, due again when its pace allows if anything is queued. Raises LeaseLost."""
    visit.leaving = ending
    go_on(visit)


def may_join(visit: Visit, *, leaves: bool = False) -> bool:
    """Whether the batch may be settled with others': besides its host it takes locks only by inserting, or last of all.

    leaves: the host is returned with it. Granted pages would be, too, which locks their crawl.
    """
    batch = visit.batch
    reports = batch.address.refused is not None or batch.address.answered is not None
    returns_pages = (leaves or visit.leaving is not None) and any(visit.picked.granted.values())
    changes_robots = batch.robots.renewed or batch.robots.tdmrep  # what it refused may be queued again, page by page
    return not (reports or returns_pages or changes_robots or batch.counted is not None)


def together(visits: Sequence[Visit]) -> list[tuple[Visit, VisitEnding | None]]:
    """Settle batches in one transaction, extend the leases and pick the next URLs. Several batches: those that
    `may_join`.

    Returns how each visit ended or must end, FENCED where its lease is lost; None: it continues. A failure is one of
    all the batches: settle each alone then. A single batch with values that Postgres refuses twice is mended and
    retried. A deadlock is retried.
    """
    worker = visits[0].worker
    for visit in visits:
        later.read_all(visit.batch)
    for visit in visits:
        read.detect_languages(visit.batch)
    worker.hooks.before_settle(visits=visits)
    worker.grants.top_up(worker.engine, worker.monotonic(), worker.settings.lease_s)
    for visit in visits:
        for crawl_id, folder in visit.batch.found.taken_in:
            db.repeat(partial(_take_in, worker, visit.lease, crawl_id, folder))
    for visit in visits:
        reopen.of_host(visit)
        _hold(visit)
    act = partial(db.repeat, partial(_together, visits))
    try:
        return act()
    except Unwritable:
        if len(visits) > 1:
            raise
    try:
        return act()
    except Unwritable:
        unwritable.mend(visits[0], _refusal)
        return act()


def _hold(visit: Visit) -> None:
    """See that the lease outlasts the writing of very many links: meanwhile nobody can extend it. A lease that is lost
    is found as its host is locked.
    """
    with suppress(LeaseLost):
        visit.hold(visit.batch.found.links + len(visit.batch.found.admissions))


def _take_in(worker: Worker, lease: Lease, crawl_id: int, folder: str) -> None:
    """Widen a crawl's scope by a seed's redirect, before its links are admitted. The crawl's row is locked in a
    transaction of its own, and repeating it is harmless. Does nothing if the lease is lost.
    """
    with db.transaction(worker.engine) as tx:
        crawls.take_in(tx, crawl_id=crawl_id, folder=folder, host_id=lease.host_id, token=lease.token)


def _refusal(visit: Visit, part: Batch) -> Unwritable | None:
    """Why Postgres refuses a part of the visit's batch; None: it accepts it. Nothing is written in either case."""
    before, batch = _Before.of(visit), visit.batch
    visit.batch = part
    try:
        with db.transaction(visit.worker.engine) as tx:
            hosts.lock_all_leased(tx, [(visit.host_id, visit.lease.token)])
            write([visit], tx)
            tx.rollback()
    except Exception as error:
        if isinstance(refused := _as_refused([visit], error), Unwritable):
            return refused
        raise
    finally:
        before.restore(visit)
        visit.batch = batch
    return None


def _together(visits: Sequence[Visit]) -> list[tuple[Visit, VisitEnding | None]]:
    worker, is_alone = visits[0].worker, len(visits) == 1
    sent = worker.monotonic()
    before = [_Before.of(visit) for visit in visits]
    endings: dict[UUID, VisitEnding | None] = {}
    leaving: list[Visit] = []
    try:
        with db.transaction(worker.engine) as tx:
            pauses, xid = hosts.lock_all_leased(tx, [(visit.host_id, visit.lease.token) for visit in visits])
            held = [visit for visit in visits if visit.lease.token in pauses]
            if held:
                settling = write(held, tx)
                endings = {
                    visit.lease.token: visit.leaving or (VisitEnding.PAUSED if pauses[visit.lease.token] else None)
                    for visit in held
                }
                endings |= pick_next(tx, [visit for visit in held if endings[visit.lease.token] is None])
                for visit in held:
                    if endings[visit.lease.token] is not None and (is_alone or may_join(visit, leaves=True)):
                        visit.leaving = endings[visit.lease.token]
                        leaving.append(visit)
                hosts.extend_visits(
                    tx, [contact(visit) for visit in held if visit.leaving is None], lease_s=worker.settings.lease_s
                )
                return_hosts(leaving, tx)
                if is_alone:
                    report_to_budgets(worker, held[0].host_id, held[0].batch, tx)
            for visit in held:
                visit.batch.sent = Sent(xid, leaves=visit.leaving is not None)
                visit.batch.move(BatchEvent.SENT)
    except Exception as error:
        if (told := _undone(visits, before, error)) is error:
            raise
        raise told from error
    if held:
        batches = [visit.batch for visit in held]
        for visit in held:
            _renew(visit, sent)
        counting.settled(held, batches, took_s=worker.monotonic() - sent)
        trace.settled(batches, worker.settings.log_trace)
        enter.committed(held, settling.brought[ENTERED], batches)
        worker.hooks.settled(batches=batches, settling=settling)
    return [(visit, endings.get(visit.lease.token, VisitEnding.FENCED)) for visit in visits]


def _undone(visits: Sequence[Visit], before: "Sequence[_Before]", error: Exception) -> Exception:
    """Restore the visits after a settle that failed. Returns the error to raise."""
    is_sent = any(visit.batch.state is BatchState.SENT for visit in visits)
    told = error if is_sent else _as_refused(visits, error)
    for visit, was in zip(visits, before, strict=True):
        was.restore(visit)
        if isinstance(told, Unwritable | Deadlock):
            visit.batch.move(BatchEvent.REFUSED)
        elif visit.batch.state is BatchState.SENT:
            visit.batch.move(BatchEvent.UNANSWERED)
    return told


def _as_refused(visits: Sequence[Visit], error: Exception) -> Exception:
    """A bug that a value reveals is as a value that Postgres refuses: its row is found, and ends."""
    if is_ours(error) or isinstance(error, Unwritable):
        return error
    _log.exception("settle.crashed", hosts=[visit.lease.host for visit in visits])
    return Unwritable(None, f"{type(error).__name__}: {error}")


class _Before(NamedTuple):
    """The parts of a visit that a settle changes, as they were before: restored if it fails."""

    counts: PickedCounts
    rest: HostRest
    leaving: VisitEnding | None

    @classmethod
    def of(cls, visit: Visit) -> "_Before":
        return cls(visit.picked.counts(), replace(visit.rest), visit.leaving)

    def restore(self, visit: Visit) -> None:
        visit.picked.restore(self.counts)
        visit.rest, visit.leaving = self.rest, self.leaving


def _renew(visit: Visit, sent: float) -> None:
    """Start a new batch after the commit, and extend or end the lease."""
    batch = visit.batch
    batch.move(BatchEvent.COMMITTED)
    worth.written(visit.picked.focus)
    visit.batch = Batch(started=visit.now())
    if visit.leaving is not None:
        visit.move(VisitEvent.LEFT)
        pick.return_grants(visit.worker, visit.picked, visit.now())
    else:
        visit.lease.renew(sent, visit.worker.settings.lease_s)
    _log.debug(
        "visit.settled",
        visit=visit.lease.visit_id,
        host=visit.lease.host,
        urls=len(batch.results),
        fetches=len(batch.fetches),
        ending=visit.leaving and visit.leaving.value,
    )


def retry_settle(visit: Visit) -> bool:
    """Settle the batch and leave, after Postgres was away during the visit. Raises LeaseLost, ServiceError.

    False: it is unknown whether the batch was written. The lease then runs out.
    """
    if visit.batch.state is BatchState.IN_DOUBT and not _is_out_of_doubt(visit):
        return False
    if visit.state is not VisitState.LEFT:
        leave(visit, visit.leaving or VisitEnding.POSTGRES_AWAY)
    return True


def _is_out_of_doubt(visit: Visit) -> bool:
    """Ask Postgres whether an unanswered commit happened. If so, its batch is dropped.

    False: Postgres no longer knows.
    """
    batch, sent = visit.batch, visit.batch.sent
    assert sent is not None, "what is in doubt was sent"
    with db.transaction(visit.worker.engine) as tx:
        fate = lineage.fate(tx, xid=sent.xid, since=visit.lease.lineage)
    match fate:
        case None:
            batch.move(BatchEvent.FORGOTTEN)
            visit.move(VisitEvent.LOST)
            return False
        case "aborted":
            batch.move(BatchEvent.ROLLED_BACK)
        case "committed":
            batch.move(BatchEvent.COMMITTED)
            worth.written(visit.picked.focus)
            visit.batch = Batch(started=visit.now())
            if sent.leaves:
                visit.move(VisitEvent.LEFT)
            counting.settled([visit], [batch], took_s=None)
            visit.picked.written()
            visit.picked.granted.clear()  # pages it reserved are unknown here; they count as free when it ends
    return True


def log_fenced(visit: Visit) -> None:
    """Log the requests of a visit that lost its lease: they were made, although the fence refuses their results. A rest
    that the site asked for still holds."""
    rest = visit.rest
    visit.worker.hooks.fenced(batch=visit.batch)
    with db.transaction(visit.worker.engine) as tx:
        fetches.log(tx, visit.batch.fetches, fenced=True)
        visit_rows.close(tx, [ending_row(visit.lease, rest, visit.turn.requests, VisitEnding.FENCED)])
        if rest.is_blocked and rest.why is not None and rest.until is not None:
            hosts.block(tx, host_id=visit.host_id, rest_s=rest.until - visit.now(), why=rest.why)
    counting.fenced(visit.worker, visit.lease, visit.batch)
    visit.batch.move(BatchEvent.FENCED)
    visit.move(VisitEvent.FENCED)
    _log.warning("visit.fenced", visit=visit.lease.visit_id, host=visit.lease.host, fetches=len(visit.batch.fetches))
