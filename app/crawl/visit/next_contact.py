"""Writes a host's row at a settle: its next contact, and what the visit returns when it leaves."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection

from app.crawl.frontier import pick
from app.crawl.request import slots
from app.crawl.state.batch import Batch
from app.crawl.state.host_rest import HostRest
from app.crawl.state.lease import Lease
from app.crawl.state.shared_start import SharedStart
from app.crawl.state.slot import Slot
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.model import Failure, RestReason, VisitEnding
from app.store import budgets, host_rows, hosts, urls
from app.store import visits as visit_rows
from app.store.budgets import Budget


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
