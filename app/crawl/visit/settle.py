"""Settles batches: writes their results, links and hosts' next contacts in one transaction, fenced by the tokens.

The hosts' rows are locked first: a visit that lost its lease writes nothing (its requests are still logged, as fenced).
The statements of `write` and `next_contact` follow the lock order (ARCHITECTURE.md). Other hosts are woken after the
commit.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from uuid import UUID

import structlog
from sqlalchemy import Connection

from app.crawl.frontier import enter, pick
from app.crawl.page import later, read
from app.crawl.request import slots
from app.crawl.robots import obtain
from app.crawl.state.batch import Batch, Sent
from app.crawl.state.host_rest import HostRest
from app.crawl.state.lease import Lease
from app.crawl.state.picked import PickedCounts
from app.crawl.state.settling import Settling
from app.crawl.state.slot import SharedStart, Slot
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit import trace, unwritable
from app.crawl.visit.write import write
from app.errors import Deadlock, LeaseLost, Unwritable, is_ours
from app.metrics.counts import SettledBatch, resident_bytes
from app.model import Failure, RestReason, VisitEnding
from app.policy.lifecycle import BatchEvent, BatchState, VisitEvent, VisitState
from app.store import budgets, crawls, db, fetches, host_rows, hosts, lineage, urls
from app.store import visits as visit_rows
from app.store.budgets import Budget

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
    worker.caches.grants.top_up(worker.engine, worker.monotonic(), worker.settings.lease_s)
    for visit in visits:
        for crawl_id, folder in visit.batch.found.taken_in:
            db.repeat(partial(_take_in, worker, visit.lease, crawl_id, folder))
    for visit in visits:
        obtain.of_host(visit)
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
    is found as its host is locked."""
    with suppress(LeaseLost):
        visit.hold(visit.batch.found.links + len(visit.batch.found.admissions))


def _take_in(worker: Worker, lease: Lease, crawl_id: int, folder: str) -> None:
    """Widen a crawl's scope by a seed's redirect, before its links are admitted. The crawl's row is locked in a
    transaction of its own, and repeating it is harmless. Does nothing if the lease is lost."""
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
    worker, sent = visits[0].worker, visits[0].worker.monotonic()
    before = [_Before.of(visit) for visit in visits]
    try:
        with db.transaction(worker.engine) as tx:
            pauses, xid = hosts.lock_all_leased(tx, [(visit.host_id, visit.lease.token) for visit in visits])
            held = [visit for visit in visits if visit.lease.token in pauses]
            if held:
                settling = write(held, tx)
                endings = _next_of_hosts(tx, held, pauses, is_alone=len(visits) == 1)
            for visit in held:
                visit.batch.sent = Sent(xid, leaves=visit.leaving is not None)
                visit.batch.move(BatchEvent.SENT)
    except Exception as error:
        if (told := _undone(visits, before, error)) is error:
            raise
        raise told from error
    if not held:
        return [(visit, VisitEnding.FENCED) for visit in visits]
    _committed(held, settling, sent)
    return [(visit, endings.get(visit.lease.token, VisitEnding.FENCED)) for visit in visits]


def _next_of_hosts(
    tx: Connection, held: Sequence[Visit], pauses: Mapping[UUID, bool], *, is_alone: bool
) -> dict[UUID, VisitEnding | None]:
    """Pick each visit's next URLs, and extend its lease, or return its host. Returns the endings by token; None: it
    continues. One that ends among others, and may not leave with them, keeps its host until a settle of its own."""
    endings = {
        visit.lease.token: visit.leaving or (VisitEnding.PAUSED if pauses[visit.lease.token] else None)
        for visit in held
    }
    endings |= pick_next(tx, [visit for visit in held if endings[visit.lease.token] is None])
    leaving, staying = list[Visit](), list[Visit]()
    for visit in held:
        ending = endings[visit.lease.token]
        if ending is not None and (is_alone or may_join(visit, leaves=True)):
            visit.leaving = ending
            leaving.append(visit)
        elif visit.leaving is None:
            staying.append(visit)
    hosts.extend_visits(tx, [contact(visit) for visit in staying], lease_s=held[0].worker.settings.lease_s)
    return_hosts(leaving, tx)
    if is_alone:
        report_to_budgets(held[0].worker, held[0].host_id, held[0].batch, tx)
    return endings


def _committed(visits: Sequence[Visit], settling: Settling, sent: float) -> None:
    """Do what follows the commit of these visits' batches.   sent: the monotonic second before their transaction"""
    worker, batches = visits[0].worker, [visit.batch for visit in visits]
    for visit in visits:
        _renew(visit, sent)
    settled(visits, batches, took_s=worker.monotonic() - sent)
    trace.settled(batches, worker.settings.log_trace)
    enter.committed(visits, settling.brought[enter.ENTERED], batches)
    worker.hooks.settled(batches=batches, settling=settling)


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
    visit.picked.learned()
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
            visit.picked.learned()
            visit.batch = Batch(started=visit.now())
            if sent.leaves:
                visit.move(VisitEvent.LEFT)
            settled([visit], [batch], took_s=None)
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
    visit.worker.counts.fenced_off(_as_settled(visit.lease, visit.batch, VisitEnding.FENCED))
    visit.batch.move(BatchEvent.FENCED)
    visit.move(VisitEvent.FENCED)
    _log.warning("visit.fenced", visit=visit.lease.visit_id, host=visit.lease.host, fetches=len(visit.batch.fetches))


# Counts what was settled, for the process's metrics, and logs its memory now and then.


def settled(visits: Sequence[Visit], batches: Sequence[Batch], *, took_s: float | None) -> None:
    """Count batches that were settled together, after their commit.

    Each visit that left has its ending in `leaving`.
    """
    worker = visits[0].worker
    found = [_as_settled(visit.lease, batch, visit.leaving) for visit, batch in zip(visits, batches, strict=True)]
    pages = worker.counts.settled(found, took_s=took_s)
    rss = resident_bytes() if pages is not None else None
    if rss is not None:
        _log.info("worker.memory", pages=pages, rss_mib=round(rss / 2**20), known_keys=worker.caches.known.load().used)


def _as_settled(lease: Lease, batch: Batch, ending: VisitEnding | None) -> SettledBatch:
    pages = sum(tally.pages for tally in batch.tallies.of_crawl.values())
    return SettledBatch(lease.visit_id, lease.host_id, batch.fetches, pages, ending.value if ending else None)


# Writes a host's row at a settle: its next contact, and what the visit returns when it leaves.


def pick_next(tx: Connection, visits: Sequence[Visit]) -> dict[UUID, VisitEnding | None]:
    """Pick the next URLs of each visit.

    Returns, by token, the ending of a visit that has nothing to stay for, else None.
    """
    pick.pick(visits, tx)
    idle = [visit for visit in visits if not visit.picked.due and not visit.picked.is_budget_spent]
    away = {visit.host_id: visit.origins.out_of_reach(visit.lease, visit.turn) for visit in idle}
    waiting = urls.waiting(tx, [(host_id, str(origin)) for host_id, origins in away.items() for origin in origins])
    endings: dict[UUID, VisitEnding | None] = dict.fromkeys(visit.lease.token for visit in visits)
    for visit in idle:
        queued = {origin for host_id, origin in waiting if host_id == visit.host_id}
        ends = [end for origin, end in away[visit.host_id].items() if str(origin) in queued]
        endings[visit.lease.token] = _wait_for_origins(visit.lease, visit.turn, visit.rest, ends)
    return endings


def _wait_for_origins(lease: Lease, turn: Turn, rest: HostRest, ends: list[tuple[float, RestReason]]) -> VisitEnding:
    """Set the moment to return, with nothing else to fetch: when an origin out of reach may be tried.

    ends: of origins that have URLs queued; the others are not waited for. The host itself does not rest, so that a URL
    of another of its origins is fetched at once.
    """
    if not ends:
        return VisitEnding.NOTHING_DUE
    until, why = min(ends)
    rest.wait(max(until, lease.now() + turn.pace.delay_s), why)
    return VisitEnding.WAITS


def contact(visit: Visit) -> host_rows.Contact:
    """The host's next contact.

    Write it after all of the host's rows: so it sees links admitted while we waited for the lock.
    """
    now, turn, rest, picked = visit.now(), visit.turn, visit.rest, visit.picked
    contact = host_rows.Contact(
        host_id=visit.host_id,
        token=visit.lease.token,
        pace=turn.pace,
        pause_s=turn.pause_s(),
        age_s=None if turn.last_end is None else now - turn.last_end,
        address=visit.start.address,
        rest_s=rest.left_s(now),
        resting=rest.reason,
        wait_s=rest.wait_s(now),
        unfetched=max(picked.unfetched, 0) if picked.is_counted else picked.unfetched - picked.unfetched_on_row,
        counted=picked.is_counted,
    )
    picked.written()
    return contact


def return_hosts(visits: Sequence[Visit], tx: Connection) -> None:
    """Return the hosts of visits that leave, with the pages and budgets that they hold."""
    endings = [
        ending_row(visit.lease, visit.rest, visit.turn.requests, visit.leaving)
        for visit in visits
        if visit.leaving is not None
    ]
    visit_rows.close(tx, endings)
    for visit in visits:
        pick.unreserve(visit.worker, visit.picked, visit.now(), tx)
        _lock_budgets(visit.start, visit.batch, tx)
    hosts.leave(tx, [contact(visit) for visit in visits])
    held = [
        _held(visit.host_id, visit.start.held, visit.turn, visit.now())
        for visit in visits
        if visit.start.held is not None
    ]
    budgets.return_held(tx, held)


def _held(host_id: int, held: Slot, turn: Turn, now: float) -> tuple[int, Sequence[Budget], float]:
    """The budgets that a host held, and the seconds until others may draw on them."""
    last_end = now if turn.last_end is None else turn.last_end
    return host_id, held.drawn, slots.others_from(held, last_end) - now


def _lock_budgets(start: SharedStart, batch: Batch, tx: Connection) -> None:
    """Lock the budgets of a visit that is settled alone: two statements change those it holds and its address's."""
    reported = batch.address.refused[0] if batch.address.refused is not None else batch.address.answered
    if reported is not None and start.held is not None:
        budgets.lock(tx, [*start.held.drawn, reported])


def ending_row(lease: Lease, rest: HostRest, requests: int, ending: VisitEnding) -> visit_rows.Ending:
    return {
        "id": lease.visit_id,
        "taken_at": lease.taken_at,
        "ending": ending,
        "detail": rest.detail_of(ending),
        "fetches": requests,
    }


def report_to_budgets(worker: Worker, host_id: int, batch: Batch, tx: Connection) -> None:
    """Let the address's budget rest, until it answers, if it refused a connection or reset those of two names."""
    settings = worker.settings
    if batch.address.refused is not None:
        budget, because = batch.address.refused
        base_s, max_s = settings.backoff_base_s, settings.backoff_max_s
        if because == Failure.RESET:
            budgets.reset(tx, budget, host_id=host_id, because=because, base_s=base_s, max_s=max_s)
        else:
            budgets.refused(tx, budget, because=because, base_s=base_s, max_s=max_s)
    elif batch.address.answered is not None:
        budgets.answered(tx, batch.address.answered)
