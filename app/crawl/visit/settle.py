"""Settles batches: writes their results, links and hosts' next contacts in one transaction, fenced by the tokens.

The hosts' rows are locked first: a visit that lost its lease writes nothing (its requests are still logged, as fenced).
The statements of `write` and `next_contact` follow the lock order (ARCHITECTURE.md). Other hosts are woken after the commit.
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

    Returns the ending with which the host was returned; None: the visit continues.
    """
    ((_, ending),) = together([stay])
    if ending is VisitEnding.FENCED:
        raise LeaseLost(stay.taken.name)
    return ending


def leave(stay: Stay, ending: VisitEnding) -> None:
    """Settle the batch and return the host, due again when its pace allows if anything is queued. Raises LeaseLost."""
    stay.leaving = ending
    go_on(stay)


def may_join(stay: Stay, *, leaves: bool = False) -> bool:
    """Whether the batch may be settled with others': besides its host it takes locks only by inserting, or last of all.

    leaves: the host is returned with it. Granted pages would be, too, which locks their crawl.
    """
    batch = stay.batch
    told = batch.refused is not None or batch.answered is not None
    gives_back = (leaves or stay.leaving is not None) and any(stay.granted.values())
    return not (told or gives_back or batch.robots or batch.tdmrep or batch.counted is not None)


def together(stays: Sequence[Stay]) -> list[tuple[Stay, VisitEnding | None]]:
    """Settle batches in one transaction, extend the leases and pick the next URLs. Several batches: those that `may_join`.

    Returns how each visit ended or must end, FENCED where its lease is lost; None: it continues. A failure is one of all
    the batches: settle each alone then. A single batch with values that Postgres refuses twice is mended and retried. A
    deadlock is retried.
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
    """Widen a crawl's scope by a seed's redirect, before its links are admitted. The crawl's row is locked in a transaction
    of its own, and repeating it is harmless. Does nothing if the lease is lost."""
    with db.transaction(stay.kit.engine) as tx:
        crawls.take_in(tx, crawl_id=crawl_id, folder=folder, host_id=stay.host_id, token=stay.token)


def _refusal(stay: Stay, part: Batch) -> Unwritable | None:
    """Why Postgres refuses a part of the visit's batch; None: it accepts it. Nothing is written in either case."""
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
    """The fields of a visit that a settle changes, as they were before: restored if it fails."""

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
    """Start a new batch after the commit, and extend or end the lease."""
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
    """Settle the batch and leave, after Postgres was away during the visit. Raises LeaseLost, ServiceError.

    False: it is unknown whether the batch was written. The lease then runs out.
    """
    if stay.batch.state is BatchState.IN_DOUBT and not _is_out_of_doubt(stay):
        return False
    if stay.state is not VisitState.LEFT:
        leave(stay, stay.leaving or VisitEnding.POSTGRES_AWAY)
    return True


def _is_out_of_doubt(stay: Stay) -> bool:
    """Ask Postgres whether an unanswered commit happened. If so, its batch is dropped. False: Postgres no longer knows."""
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
            stay.granted.clear()  # the pages it reserved are unknown here, and counted free when the visit is over
    return True


def log_fenced(stay: Stay) -> None:
    """Log the requests of a visit that lost its lease: they were made, although the fence refuses their results. A rest
    that the site asked for still holds."""
    with db.transaction(stay.kit.engine) as tx:
        fetches.log(tx, stay.batch.fetches, fenced=True)
        visits.close(tx, [ending_row(stay, VisitEnding.FENCED)])
        if stay.is_blocked and stay.resting is not None and stay.rest_s is not None:
            hosts.block(tx, host_id=stay.host_id, rest_s=stay.rest_s, why=stay.resting)
    stay.batch.move(BatchEvent.FENCED)
    stay.move(VisitEvent.FENCED)
    _log.warning("visit.fenced", host=stay.taken.name, fetches=len(stay.batch.fetches))
