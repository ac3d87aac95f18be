"""Settle: batches' results, the links they admit and their hosts' next contacts, in one transaction, fenced by the tokens.

The hosts' rows are locked first: whoever lost the lease writes nothing (the requests are logged all the same, as fenced).
The statements below stand in the lock order (ARCHITECTURE.md). Other hosts are woken after the commit.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

import structlog
from sqlalchemy import Connection

from app.crawl.frontier import duplicates, enter, pick
from app.crawl.frontier.enter import Entered
from app.crawl.request import slots
from app.crawl.state.batch import Batch, Sent
from app.crawl.state.visit import Stay
from app.crawl.visit import unwritable
from app.errors import Deadlock, LeaseLost, Unwritable
from app.model import Failure, Origin, Refusal, Rest, VisitEnding
from app.policy.lifecycle_visit import BatchEvent, BatchState, VisitEvent, VisitState
from app.store import budgets, crawls, db, fetches, hosts, lineage, pages, robots, sitemaps, suppressions, urls, visits
from app.store.pages import Where
from app.store.urls import Admission

_log = structlog.get_logger()
REOPEN_PAGE = 1_000


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
            _write([stay], tx)
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
                entered = _write(held, tx)
                endings = {
                    stay.token: stay.leaving or (VisitEnding.PAUSED if pauses[stay.token] else None) for stay in held
                }
                endings |= _next(tx, [stay for stay in held if endings[stay.token] is None])
                for stay in held:
                    if endings[stay.token] is not None and (is_alone or may_join(stay, leaves=True)):
                        stay.leaving = endings[stay.token]
                        leaving.append(stay)
                hosts.stay(tx, [_contact(stay) for stay in held if stay.leaving is None], lease_s=kit.settings.lease_s)
                _leave(leaving, tx)
                if is_alone:
                    _tell_budgets(held[0], tx)
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


def _write(stays: Sequence[Stay], tx: Connection) -> Entered:
    """Everything but the hosts' own rows. Returns what was admitted."""
    batches = [stay.batch for stay in stays]
    kept_out = [page for batch in batches for page in batch.kept_out]
    pages.drop(tx, kept_out)  # first: what goes is no original of what comes
    repeating = duplicates.note(batches, tx)
    entered = enter.admit(tx, [(stay, _admissions(stay, repeating)) for stay in stays])
    refused = {each: row for batch in batches for each, row in batch.suppressions.items()}
    suppressions.note(tx, list(refused.values()))
    urls.record(tx, [result for batch in batches for result in batch.results])
    for stay in stays:
        _give_up(stay, tx)
    fetches.log(tx, [fetch for batch in batches for fetch in batch.fetches])
    crawls.count(
        tx,
        [
            {
                "crawl_id": crawl_id,
                "host_id": stay.host_id,
                "pages": tally.pages,
                "fetches": tally.fetches,
                "failed": tally.failed,
                "bytes": tally.bytes,
            }
            for stay in stays
            for crawl_id, tally in stay.batch.tallies.items()
        ],
    )
    pages.keep(tx, [reading.page for batch in batches for reading in batch.readings if reading.page is not None])
    pages.revise(tx, [revision for batch in batches for revision in batch.revisions])
    for stay in stays:
        _write_robots(stay, tx)
    sitemaps.credit(
        tx,
        [
            {"host_id": stay.host_id, "id": id, "claims": claims, "true_claims": true_claims}
            for stay in stays
            for id, (claims, true_claims) in sorted(stay.batch.claims.items())
        ],
    )
    return entered


def _give_up(stay: Stay, tx: Connection) -> None:
    for ending in stay.batch.give_up:
        stay.unfetched -= urls.give_up(
            tx,
            host_id=stay.host_id,
            state=ending.state,
            cause=ending.cause,
            detail=ending.detail,
            prefix=ending.prefix,
            spares_fresh=ending.spares_fresh,
        )


def _write_robots(stay: Stay, tx: Connection) -> None:
    batch = stay.batch
    robots.store(tx, host_id=stay.host_id, fetched=batch.robots)
    robots.store_tdmrep(tx, host_id=stay.host_id, asked=batch.tdmrep)
    for origin in batch.doubted_robots:
        robots.doubt(tx, host_id=stay.host_id, origin=origin, recheck_s=stay.kit.settings.robots_recheck_s)
    for origin in batch.renewed_robots:
        _reopen(stay, tx, origin)


def _next(tx: Connection, stays: Sequence[Stay]) -> dict[UUID, VisitEnding | None]:
    """Pick what each is to fetch next. Returns, by token, the ending where there is nothing to stay for."""
    pick.pick(stays, tx)
    idle = [stay for stay in stays if not stay.due and not stay.budget_spent]
    waiting = urls.waiting(tx, [(stay.host_id, str(origin)) for stay in idle for origin in stay.out_of_reach()])
    queued = {stay.token: {origin for host_id, origin in waiting if host_id == stay.host_id} for stay in idle}
    return {
        stay.token: stay.wait_for_origins(queued[stay.token]) or VisitEnding.NOTHING_DUE
        if stay.token in queued
        else None
        for stay in stays
    }


def _contact(stay: Stay) -> hosts.Contact:
    """The host's next contact: after all of its own rows, so that it sees what was admitted while we waited for the lock."""
    last_end = stay.batch.last_end
    why = stay.resting or (Rest(stay.waiting) if stay.waiting is not None else None)
    contact = hosts.Contact(
        host_id=stay.host_id,
        token=stay.token,
        delay_s=stay.delay_s,
        pause_s=stay.delay_s if last_end is None else max(stay.ready_at - last_end, stay.delay_s),
        robots_delay_s=stay.robots_delay_s,
        age_s=None if last_end is None else stay.now() - last_end,
        answered=stay.answered and last_end is not None,
        address=stay.address,
        failures=stay.failures,
        adaptive_level=stay.history.level,
        recent_statuses=stay.history.statuses,
        recent_ms=stay.history.ms,
        latency_s=stay.history.latency_s,
        breaker_trips=stay.trips,
        isolate=stay.isolate,
        rest_s=stay.rest_s,
        resting_because=why and why.reason,
        resting_detail=why and why.detail,
        wait_s=stay.wait_s,
        unfetched=max(stay.unfetched, 0) if stay.counted else stay.unfetched - stay.told,
        counted=stay.counted,
    )
    stay.told, stay.counted = stay.unfetched, False
    return contact


def _leave(stays: Sequence[Stay], tx: Connection) -> None:
    visits.close(tx, [_ending(stay, stay.leaving) for stay in stays if stay.leaving is not None])
    for stay in stays:
        pick.give_back(stay, tx)
        _lock_budgets(stay, tx)
    hosts.leave(tx, [_contact(stay) for stay in stays])
    budgets.let_go(
        tx,
        [
            (stay.host_id, stay.held.drawn, slots.others_from(stay) - stay.now())
            for stay in stays
            if stay.held is not None
        ],
    )


def _lock_budgets(stay: Stay, tx: Connection) -> None:
    """Of one that is settled alone: what it holds and the address that it has news of change by two statements."""
    told = stay.batch.refused[0] if stay.batch.refused is not None else stay.batch.answered
    if told is not None and stay.held is not None:
        budgets.lock(tx, [*stay.held.drawn, told])


def _ending(stay: Stay, ending: VisitEnding) -> visits.Ending:
    return {
        "id": stay.taken.visit_id,
        "taken_at": stay.taken.now,
        "ending": ending,
        "detail": stay.detail_of(ending),
        "fetches": stay.requests,
    }


def _tell_budgets(stay: Stay, tx: Connection) -> None:
    """An address that refused a connection, or reset those of two names, rests as a whole; one that answers again does not."""
    settings, batch = stay.kit.settings, stay.batch
    if batch.refused is not None:
        budget, because = batch.refused
        base_s, max_s = settings.backoff_base_s, settings.backoff_max_s
        if because == Failure.RESET:
            budgets.reset(tx, budget, host_id=stay.host_id, because=because, base_s=base_s, max_s=max_s)
        else:
            budgets.refused(tx, budget, because=because, base_s=base_s, max_s=max_s)
    elif batch.answered is not None:
        budgets.answered(tx, batch.answered)


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
        visits.close(tx, [_ending(stay, VisitEnding.FENCED)])
        if stay.is_blocked and stay.resting is not None and stay.rest_s is not None:
            hosts.block(tx, host_id=stay.host_id, rest_s=stay.rest_s, why=stay.resting)
    stay.batch.move(BatchEvent.FENCED)
    stay.move(VisitEvent.FENCED)
    _log.warning("visit.fenced", host=stay.taken.name, fetches=len(stay.batch.fetches))


def _admissions(stay: Stay, repeating: set[Where]) -> list[Admission]:
    """The batch's sitemaps and links, each once, but for those of documents that repeat another's."""
    rows = {_form(row): row for row in stay.batch.admissions}
    for reading in stay.batch.readings:
        page = reading.page
        if page is not None and (page["host_id"], page["crawl_id"], page["key"]) in repeating:
            continue
        for row in reading.links:
            rows.setdefault(_form(row), row)
    return list(rows.values())


def _form(row: Admission) -> tuple[int, bytes]:
    return row["crawl_id"], row.get("form", row["key"])


def _reopen(stay: Stay, tx: Connection, origin: Origin) -> None:
    """robots.txt of an origin was fetched anew: what it allows now is queued again (R6)."""
    rules = stay.robots[origin].rules
    if rules is None:
        return
    after = (0, b"")
    while rows := urls.refused_of_host(tx, host_id=stay.host_id, after=after, n=REOPEN_PAGE):
        after = rows[-1][:2]
        parsed = [(crawl_id, key, stay.kit.canon.of_row(text, key, linked)) for crawl_id, key, text, linked in rows]
        stay.unfetched += urls.reopen(
            tx,
            host_id=stay.host_id,
            rows=[
                {"crawl_id": crawl_id, "key": key}
                for crawl_id, key, url in parsed
                if not isinstance(url, Refusal) and url.origin == origin and rules.permits(url)
            ],
        )
