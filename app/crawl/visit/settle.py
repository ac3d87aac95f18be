"""Settle: batches' results, the links they admit and their hosts' next contacts, in one transaction, fenced by the tokens.

The hosts' rows are locked first: whoever lost the lease writes nothing (the requests are logged all the same, as fenced).
The statements of `write` and `next_contact` stand in the lock order (ARCHITECTURE.md). Other hosts are woken after the commit.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

import structlog

from app.crawl.frontier import enter, pick
from app.crawl.state.batch import Batch, Sent
from app.crawl.state.visit import Stay
from app.crawl.visit import unwritable
from app.crawl.visit.next_contact import contact, ending_row, pick_next, return_hosts, tell_budgets
from app.crawl.visit.write import write
from app.errors import Deadlock, LeaseLost, Unwritable
from app.model import Rest, VisitEnding
from app.policy.lifecycle_visit import BatchEvent, BatchState, VisitEvent, VisitState
from app.store import crawls, db, fetches, hosts, lineage, visits

_log = structlog.get_logger()


def go_on(stay: Stay) -> VisitEnding | None:
    """Settle the batch, extend the lease, and pick the next URLs. Raises LeaseLost.

    Returns the ending with which the host was given back; None: the visit goes on.
    """
    ((_, ending),) = together([stay])
    if ending is VisitEnding.FENCED:
        raise LeaseLost(stay.taken.name)
    return ending


def leave(stay: Stay, ending: VisitEnding) -> None:
    """Settle the batch and give the host back, due again when its pace allows if anything is queued. Raises LeaseLost."""
    stay.leaving = ending
    go_on(stay)


def may_join(stay: Stay, *, leaves: bool = False) -> bool:
    """Whether the batch may be settled with others': what it locks besides its host it locks by inserting, or last of all.

    leaves: and the host is given back; grants of pages would be, too, and lock their crawl.
    """
    batch = stay.batch
    told = batch.refused is not None or batch.answered is not None
    gives_back = (leaves or stay.leaving is not None) and any(stay.granted.values())
    return not (told or gives_back or batch.robots or batch.tdmrep or batch.counted is not None)


def together(stays: Sequence[Stay]) -> list[tuple[Stay, VisitEnding | None]]:
    """Settle batches in one transaction, extend the leases and pick the next URLs. Several: those that `may_join`.

    Returns how each visit has ended or is to end, FENCED where its lease is lost; None: it goes on. If it fails,
    it does for all of them: each may be settled alone then. One that is alone and that Postgres refuses twice for what it would
    write is mended. After a deadlock it is done again.
    """
    kit = stays[0].kit
    kit.grants.top_up(kit.engine, kit.monotonic(), kit.settings.lease_s)
    for stay in stays:
        for crawl_id, folder in stay.batch.taken_in:
            db.repeat(partial(_take_in, stay, crawl_id, folder))
    act = partial(db.repeat, partial(_together, stays))
    try:
        return act()
    except Unwritable:
        if len(stays) > 1:
            raise
    try:
        return act()
    except Unwritable:
        unwritable.mend(stays[0], _refusal)
        return act()


def _take_in(stay: Stay, crawl_id: int, folder: str) -> None:
    """What a seed's redirect brings into a scope, before what it admits: a crawl's row is locked by itself here, and once more
    is as good as once. Nothing if the lease is lost."""
    with db.transaction(stay.kit.engine) as tx:
        crawls.take_in(tx, crawl_id=crawl_id, folder=folder, host_id=stay.host_id, token=stay.token)


def _refusal(stay: Stay, part: Batch) -> Unwritable | None:
    """Why Postgres does not take a part of the visit's batch; None: it does. Nothing is written, whichever it is."""
    before, batch = _Before.of(stay), stay.batch
    stay.batch = part
    try:
        with db.transaction(stay.kit.engine) as tx:
            hosts.lock_all_leased(tx, [(stay.host_id, stay.token)])
            write([stay], tx)
            tx.rollback()
    except Unwritable as error:
        return error
    finally:
        before.restore(stay)
        stay.batch = batch
    return None


def _together(stays: Sequence[Stay]) -> list[tuple[Stay, VisitEnding | None]]:
    kit, is_alone = stays[0].kit, len(stays) == 1
    sent = kit.monotonic()
    before = [_Before.of(stay) for stay in stays]
    endings: dict[UUID, VisitEnding | None] = {}
    leaving: list[Stay] = []
    try:
        with db.transaction(kit.engine) as tx:
            pauses, xid = hosts.lock_all_leased(tx, [(stay.host_id, stay.token) for stay in stays])
            held = [stay for stay in stays if stay.token in pauses]
            if held:
                entered = write(held, tx)
                endings = {
                    stay.token: stay.leaving or (VisitEnding.PAUSED if pauses[stay.token] else None) for stay in held
                }
                endings |= pick_next(tx, [stay for stay in held if endings[stay.token] is None])
                for stay in held:
                    if endings[stay.token] is not None and (is_alone or may_join(stay, leaves=True)):
                        stay.leaving = endings[stay.token]
                        leaving.append(stay)
                hosts.stay(tx, [contact(stay) for stay in held if stay.leaving is None], lease_s=kit.settings.lease_s)
                return_hosts(leaving, tx)
                if is_alone:
                    tell_budgets(held[0], tx)
            for stay in held:
                stay.batch.sent = Sent(xid, leaves=stay.leaving is not None)
                stay.batch.move(BatchEvent.SENT)
    except Exception as error:
        for stay, was in zip(stays, before, strict=True):
            was.restore(stay)
            if isinstance(error, Unwritable | Deadlock):
                stay.batch.move(BatchEvent.REFUSED)
            elif stay.batch.state is BatchState.SENT:
                stay.batch.move(BatchEvent.UNANSWERED)
        raise
    if held:
        batches = [stay.batch for stay in held]
        for stay in held:
            _renew(stay, sent)
        enter.committed(held, entered, batches)
    return [(stay, endings.get(stay.token, VisitEnding.FENCED)) for stay in stays]


class _Before(NamedTuple):
    """What a settle changes of a visit besides what it writes: as it was, should it fail."""

    unfetched: int
    told: int
    counted: bool
    leaving: VisitEnding | None
    rest_until: float | None
    resting: Rest | None
    granted: dict[int, int]

    @classmethod
    def of(cls, stay: Stay) -> "_Before":
        return cls(**{name: getattr(stay, name) for name in cls._fields[:-1]}, granted=dict(stay.granted))

    def restore(self, stay: Stay) -> None:
        for name, value in zip(self._fields, self, strict=True):
            setattr(stay, name, value)


def _renew(stay: Stay, sent: float) -> None:
    """After the commit."""
    batch = stay.batch
    batch.move(BatchEvent.COMMITTED)
    stay.batch = Batch(started=stay.now(), last_end=batch.last_end)
    if stay.leaving is not None:
        stay.move(VisitEvent.LEFT)
        pick.given_back(stay)
    else:
        stay.lease_ends = sent + stay.kit.settings.lease_s
    _log.debug(
        "visit.settled",
        visit=stay.taken.visit_id,
        host=stay.taken.name,
        urls=len(batch.results),
        fetches=len(batch.fetches),
        ending=stay.leaving and stay.leaving.value,
    )


def give_back(stay: Stay) -> bool:
    """After Postgres was away under the visit: settle what it holds, and leave. Raises LeaseLost, ServiceError.

    False: what it held may be written already, and nobody knows. Its lease runs out.
    """
    if stay.batch.state is BatchState.IN_DOUBT and not _is_out_of_doubt(stay):
        return False
    if stay.state is not VisitState.LEFT:
        leave(stay, stay.leaving or VisitEnding.POSTGRES_AWAY)
    return True


def _is_out_of_doubt(stay: Stay) -> bool:
    """Ask Postgres what became of the settle whose commit it did not answer. What was written is the visit's no more."""
    batch, sent = stay.batch, stay.batch.sent
    assert sent is not None, "what is in doubt was sent"
    with db.transaction(stay.kit.engine) as tx:
        fate = lineage.fate(tx, xid=sent.xid, since=stay.taken.lineage)
    match fate:
        case None:
            batch.move(BatchEvent.FORGOTTEN)
            stay.move(VisitEvent.LOST)
            return False
        case "aborted":
            batch.move(BatchEvent.ROLLED_BACK)
        case "committed":
            batch.move(BatchEvent.COMMITTED)
            stay.batch = Batch(started=stay.now(), last_end=batch.last_end)
            if sent.leaves:
                stay.move(VisitEvent.LEFT)
            stay.told = stay.unfetched
            stay.granted.clear()  # what it reserved is not known here, and counted free again when the visit is over
    return True


def log_fenced(stay: Stay) -> None:
    """For a visit that lost its lease: what the fence refuses is still logged, these requests were made, and a rest that a site
    asked for holds."""
    with db.transaction(stay.kit.engine) as tx:
        fetches.log(tx, stay.batch.fetches, fenced=True)
        visits.close(tx, [ending_row(stay, VisitEnding.FENCED)])
        if stay.is_blocked and stay.resting is not None and stay.rest_s is not None:
            hosts.block(tx, host_id=stay.host_id, rest_s=stay.rest_s, why=stay.resting)
    stay.batch.move(BatchEvent.FENCED)
    stay.move(VisitEvent.FENCED)
    _log.warning("visit.fenced", host=stay.taken.name, fetches=len(stay.batch.fetches))
