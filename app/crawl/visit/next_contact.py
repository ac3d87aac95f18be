"""A host's row at a settle: its next contact, and what its visit gives back when it leaves."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection

from app.crawl.frontier import pick
from app.crawl.request import slots
from app.crawl.state.visit import Stay
from app.model import Failure, Rest, VisitEnding
from app.store import budgets, host_rows, hosts, urls, visits


def pick_next(tx: Connection, stays: Sequence[Stay]) -> dict[UUID, VisitEnding | None]:
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


def contact(stay: Stay) -> host_rows.Contact:
    """The host's next contact: after all of its own rows, so that it sees what was admitted while we waited for the lock."""
    last_end = stay.batch.last_end
    why = stay.resting or (Rest(stay.waiting) if stay.waiting is not None else None)
    contact = host_rows.Contact(
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


def return_hosts(stays: Sequence[Stay], tx: Connection) -> None:
    visits.close(tx, [ending_row(stay, stay.leaving) for stay in stays if stay.leaving is not None])
    for stay in stays:
        pick.give_back(stay, tx)
        _lock_budgets(stay, tx)
    hosts.leave(tx, [contact(stay) for stay in stays])
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


def ending_row(stay: Stay, ending: VisitEnding) -> visits.Ending:
    return {
        "id": stay.taken.visit_id,
        "taken_at": stay.taken.now,
        "ending": ending,
        "detail": stay.detail_of(ending),
        "fetches": stay.requests,
    }


def tell_budgets(stay: Stay, tx: Connection) -> None:
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
