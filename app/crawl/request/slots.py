"""Decides when a request may start: when its host, its address, its domain and the fleet's ceiling all allow it.

    quiet hours ▶ the host's own delay ▶ a start on every shared budget ▶ wait for the later of the two ▶
    lease long enough ▶ send

Budgets are rows that the whole fleet shares (`app.store.budgets`): what they allow holds over every worker and through
crashes. A start that was granted and not used is lost, never used twice.

A host that has its budgets to itself is granted its starts ahead, and may use them late. Where several hosts share one,
a start is drawn only when it can be used at once: the host is promised a time, connects when that is near, and stands
in line with its connection; the start is confirmed right before the request is sent (`app.crawl.request.line_gate`).

A visit whose time is further away is parked for up to 20 s, with its lease, and serves several starts so: a message, a
take-up and a settle for each would cost more than the page. For a longer wait, or where parking has no room, it leaves,
and its host is due again at the time that it was promised.

`where` finds the addresses of a host, `ask` draws a start on the budgets of one, and its answer makes a slot.
"""

from dataclasses import replace

from sqlalchemy import Connection

from app.config import Settings
from app.crawl.request.line_gate import AT_CEILING, AT_GATE_S, CONNECT_AHEAD_S, LATE_SHARE, LEAD_S, trusted
from app.crawl.state.host_rest import HostRest
from app.crawl.state.lease import Lease
from app.crawl.state.line import Line
from app.crawl.state.slot import Answered, SharedStart, Slot
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit, outlast
from app.crawl.state.worker import Worker
from app.model import Rest, RestReason, Url, Whereabouts
from app.policy.host import registrable_domain
from app.store import budgets, db
from app.store.budgets import Budget, BudgetAnswer, StartTerms

NAME_S = 5.0  # that a name is waited for


def where(worker: Worker, url: Url, prefer: str | None) -> Whereabouts:
    """Find the addresses of a URL's host.   prefer: the one of before, which comes first if it is still among them.

    Nearly always they are remembered: then the thread keeps its seat.
    """
    if worker.where is None:
        return Whereabouts(addresses=(), dns_ms=0.0)
    found = worker.where(url.text, prefer, 0.0)
    if not found.addresses:
        with worker.stays.seats.left():
            found = worker.where(url.text, prefer, NAME_S)
    return found


def ask(worker: Worker, tx: Connection, address: str, wanted: tuple[Budget, ...], terms: StartTerms) -> Answered:
    """The last statement of a transaction, as `budgets.reserve`.

    An answer that took long is timed by the quickest exchanges of the last seconds: else its start would count as not
    late, and the next, whose answer comes at once, would be too close to it.
    """
    ready_in_s, horizon_s = max(terms.ready_in_s, LEAD_S), max(terms.horizon_s, 2 * LEAD_S)
    sent = worker.monotonic()
    answer = budgets.reserve(tx, wanted, terms._replace(ready_in_s=ready_in_s, horizon_s=horizon_s))
    tie, received = worker.starts.clock_tie, worker.monotonic()
    earliest, latest = tie.moments(answer.now, sent=sent + answer.took_s, received=received)
    return Answered(address, trusted(worker, answer), earliest, latest, terms.hold_s)


def line_for(worker: Worker, wanted: tuple[Budget, ...]) -> Line:
    """The line of this process for a start on these budgets."""
    gap_s = max(each.gap_s for each in wanted)
    return worker.starts.lines.of(wanted, gap_s)


CEILING_PATIENCE_S = 0.5  # a start of the fleet's ceiling is waited for so long
TICKET_PATIENCE_S = 0.5  # a host that returns on time, and finds the one before it late, waits so long
EARLY_S = 0.3  # where starts are drawn in lots, a host that was promised one stands in line so much earlier
# A host that is alone on a budget holds it so long; one that was there before for as long as an ordinary visit, since
# most likely it stays alone. A newcomer waits until then.
HOLD_S, HOLD_AGAIN_S = 10.0, 20.0
NEAR_S = 2.0  # a host that finds the line too long asks the budgets again after this


def take(visit: Visit, url: Url, deadline_s: float) -> Slot | None:
    """Wait for the turn if it comes soon; then the next request may start. None: leave, and return later.

    Raises LeaseLost.
    """
    return wait(visit, url, patience_s(visit.worker.settings, visit.turn, visit.start), deadline_s)


def wait(visit: Visit, url: Url, longest_s: float, deadline_s: float) -> Slot | None:
    """Wait at most longest_s for the turn. The lease outlasts the wait and the whole request."""
    worker, lease, turn = visit.worker, visit.lease, visit.turn
    if _is_quiet(lease, turn, visit.rest) or turn.ready_at - lease.now() > longest_s:
        return None
    slot = _slot(visit, url, longest_s)
    if slot is None:
        return None
    if slot.line is not None:
        ahead_s = turn.ready_at - lease.now() - CONNECT_AHEAD_S
        if ahead_s > 0 and _stops_within(worker, ahead_s):
            return None
        outlast(worker, lease, AT_GATE_S + deadline_s)
        return slot._replace(not_after=lease.ends - deadline_s - AT_GATE_S)
    if not _below_ceiling(worker, lease, turn, visit.rest, longest_s):
        return None
    wait_s = max(turn.ready_at, slot.ready_at) - lease.now()
    outlast(worker, lease, max(wait_s, 0) + deadline_s)
    if wait_s > 0 and _stops_within(worker, wait_s):
        return None
    # A process that was stopped meanwhile wakes when another visits the host: the sender looks at the clock once more.
    within_lease = lease.ends - deadline_s
    return slot._replace(not_after=within_lease if slot.not_after is None else min(slot.not_after, within_lease))


def patience_s(settings: Settings, turn: Turn, start: SharedStart) -> float:
    """Seconds that the visit waits for its turn in its thread: a little, and at its start for an early offer."""
    return settings.linger_s + (settings.dispatch_tick_s if turn.requests == 0 else start.connect_s)


def return_later(visit: Visit, answer: BudgetAnswer, *, early_s: float = 0.0) -> None:
    """Return when a shared budget says: the visit waits for that moment where it may, else it leaves.

    early_s: it returns so much sooner, to stand in line when a lot is drawn.
    """
    if (
        visit.worker.stays.parking is not None
        and not answer.blocked
        and answer.wait_s <= visit.worker.settings.promise_longest_s
    ):
        visit.turn.ready_at = max(visit.turn.ready_at, visit.now() + answer.wait_s - early_s)
        visit.start.promised = answer.why
    else:
        visit.rest.prolong(visit.now() + answer.wait_s, answer.why)


def elsewhere(worker: Worker, url: Url, host_id: int, longest_s: float) -> Slot | None:
    """A slot for one request to another host, whose lease was borrowed; None if it is more than longest_s away."""
    if worker.starts.ceiling is not None:
        start_s = worker.starts.ceiling.take(worker.engine, horizon_s=longest_s)
        if start_s > longest_s or _stops_within(worker, start_s):
            return None
    if not worker.starts.shared.any:
        return Slot()
    found, best = where(worker, url, None), None
    for address in found.addresses:
        wanted = worker.starts.shared.of(address, registrable_domain(url.host))
        if not wanted:
            return Slot(address=address, dns_ms=found.dns_ms)
        with db.transaction(worker.engine, by_statement=True) as tx:
            asked = ask(worker, tx, address, wanted, StartTerms(host_id, ready_in_s=0.0, horizon_s=longest_s))
        if asked.answer.is_near:
            slot = Slot(address=address, drawn=wanted, line=line_for(worker, wanted), dns_ms=found.dns_ms)
        elif asked.answer.granted:
            slot = asked.slot(wanted, found.dns_ms)
        else:
            continue
        if not asked.answer.failures:
            best = slot
            break
        best = best or slot  # it refused the last connection: the name's others go first
    if best is None:
        return None if found.addresses else Slot()
    has_to_wait = best.line is None
    return None if has_to_wait and _stops_within(worker, max(best.ready_at - worker.monotonic(), 0.0)) else best


def _stops_within(worker: Worker, seconds: float) -> bool:
    """Wait for a start, so long. True: the worker stops."""
    worker.stays.seats.leave()
    return worker.stopping.wait(seconds)


def reserve_ahead(visit: Visit, tx: Connection) -> None:
    """Ask for a start on the budgets of the host's last address: the last statement of the take-up's transaction."""
    start, worker = visit.start, visit.worker
    most_s = patience_s(worker.settings, visit.turn, start)
    if not visit.picked.due or start.address_before is None or visit.turn.ready_at - visit.now() > most_s:
        return
    wanted = worker.starts.shared.of(start.address_before, start.domain)
    if not wanted or worker.starts.lines.has(wanted):  # those who share it ask without a lease's commit to wait for
        return
    terms = _terms(worker, visit.lease, visit.turn, start, most_s)
    start.asked = ask(worker, tx, start.address_before, wanted, terms)
    if start.asked.answer.held:
        start.held = start.asked.slot(wanted, None)


def spaced_at(slot: Slot, started: float) -> float:
    """The moment that the host's next start has to wait for, since this one came later than its slot.

    Only a host that has its budgets to itself may be so late; they count from the slot. One that holds them keeps their
    gaps itself, and where several share them the line does.
    """
    if slot.line is not None:
        return started
    if slot.held_until is not None:
        return started + max(each.gap_s + each.slack_s for each in slot.drawn)
    late_s = started - slot.ready_at
    return started + max((each.gap_s for each in slot.drawn if late_s > each.slack_s * LATE_SHARE), default=0.0)


def others_from(held: Slot, last_end: float) -> float:
    """The moment from which others may draw on the budgets that the host has held. Its last start may have come late to
    the site, so the gaps count from its end.
    """
    return last_end + max((each.gap_s + each.slack_s for each in held.drawn), default=0.0)


def _below_ceiling(worker: Worker, lease: Lease, turn: Turn, rest: HostRest, longest_s: float) -> bool:
    """Take a start of the fleet's ceiling: the host is ready no sooner. False: none comes soon, the visit is to leave.

    Who stands in line takes it at the gate.
    """
    ceiling = worker.starts.ceiling
    if ceiling is None:
        return True
    start_s = ceiling.take(worker.engine, horizon_s=max(longest_s, CEILING_PATIENCE_S))
    if start_s > max(longest_s, CEILING_PATIENCE_S):
        rest.prolong(lease.now() + start_s, AT_CEILING)
        return False
    turn.ready_at = max(turn.ready_at, lease.now() + start_s)
    return True


def _slot(visit: Visit, url: Url, longest_s: float) -> Slot | None:
    """A granted start for a request to `url`; None after a denial: the visit is to leave."""
    worker, start, turn = visit.worker, visit.start, visit.turn
    if not worker.starts.shared.any:
        return Slot()
    before, start.asked = start.asked, None
    found = where(worker, url, start.address_before)
    if not found.addresses:
        return Slot(dns_ms=found.dns_ms)  # the name does not resolve, or not to one of ours: sending says so
    held, now = start.held, visit.now()
    if held is not None and held.address == found.addresses[0] and turn.ready_at <= (held.held_until or 0.0):
        return held._replace(ready_at=max(turn.ready_at, held.ready_at), dns_ms=found.dns_ms)
    last: BudgetAnswer | None = None
    probe: tuple[tuple[Budget, ...], Answered] | None = None
    for address in found.addresses:
        wanted = worker.starts.shared.of(address, start.domain)
        if not wanted:
            return Slot(address=address, dns_ms=found.dns_ms)
        if before is not None and before.address == address and now <= before.until:
            asked = before
        else:
            terms = _terms(worker, visit.lease, turn, start, longest_s)._replace(alone=True)
            with db.transaction(worker.engine, by_statement=True) as tx:
                asked = ask(worker, tx, address, wanted, terms)
        last = asked.answer
        if last.granted or last.is_near:
            if not last.failures:
                return _granted(visit, wanted, asked, found.dns_ms)
            probe = probe or (wanted, asked)  # it refused the last connection: the name's others go first
        elif not (last.blocked or last.failures):
            break
    else:
        if probe is not None:
            return _granted(visit, *probe, found.dns_ms)
    assert last is not None
    return_later(visit, last, early_s=EARLY_S if min(each.lot_most for each in wanted) > 1 else 0.0)
    return None


def _terms(worker: Worker, lease: Lease, turn: Turn, start: SharedStart, horizon_s: float) -> StartTerms:
    """The visit's terms: a start when its host is ready, and those after it for as long as the visit may last."""
    has_ticket = start.has_ticket(turn.requests)
    left_s = max(lease.anchor + worker.settings.visit_max_s - lease.now(), 0.0)
    most_s = HOLD_S if start.address_before is None else HOLD_AGAIN_S
    return StartTerms(
        lease.host_id,
        ready_in_s=turn.ready_at - lease.now(),
        horizon_s=horizon_s + (TICKET_PATIENCE_S if has_ticket else 0.0),
        has_ticket=has_ticket,
        hold_s=0.0 if worker.stays.parking is None else min(left_s, most_s),
        is_new=start.address_before is None and start.address is None,
    )


def _granted(visit: Visit, wanted: tuple[Budget, ...], asked: Answered, dns_ms: float | None) -> Slot | None:
    """A start, or a place in line for one; None: the line is too long."""
    answer, start = asked.answer, visit.start
    start.is_crowded, start.promised = answer.shared, None
    if answer.is_near:
        line = line_for(visit.worker, wanted)
        if not line.is_full:
            return Slot(address=asked.address, drawn=wanted, line=line, dns_ms=dns_ms)
        start.asked = asked._replace(until=visit.now() + NEAR_S)
        return_later(visit, replace(answer, wait_s=max(answer.wait_s, line.room_in_s())))
        return None
    slot = asked.slot(wanted, dns_ms)
    if answer.held:
        start.held = slot
    return slot


def _is_quiet(lease: Lease, turn: Turn, rest: HostRest) -> bool:
    """An operator's quiet hours, by the database's clock: the host rests until they end."""
    if turn.quiet is None:
        return False
    now = lease.now()
    at = lease.database_time(now)
    if not turn.quiet.contains(at):
        return False
    rest.prolong(now + turn.quiet.until_end_s(at), Rest(RestReason.QUIET_HOURS))
    return True
