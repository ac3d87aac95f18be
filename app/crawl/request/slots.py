"""Decides when a request may start: when its host, its address, its domain and the fleet's ceiling all allow it.

    quiet hours ▶ the host's own delay ▶ a start on every shared budget ▶ wait for the later of the two ▶ lease long enough ▶ send

Budgets are rows that the whole fleet shares (`app.store.budgets`): what they allow holds over every worker and through crashes. A
start that was granted and not used is lost, never used twice.

A host that has its budgets to itself is granted its starts ahead, and may use them late. Where several hosts share one, a start
is drawn only when it can be used at once: the host is promised a time, connects when that is near, and stands in line with its
connection; the start is confirmed right before the request is sent (`app.crawl.request.line_gate`).

A visit whose time is further away is parked for up to 20 s, with its lease, and serves several starts so: a message, a take-up
and a settle for each would cost more than the page. For a longer wait, or where parking has no room, it leaves, and its host is
due again when it was told to come.
"""

from dataclasses import replace

from sqlalchemy import Connection

from app.crawl.request import starts
from app.crawl.request.line_gate import AT_CEILING, AT_GATE_S, CONNECT_AHEAD_S, LATE_SHARE
from app.crawl.request.starts import Terms, TimedAnswer
from app.crawl.state.slot import Near, Slot
from app.crawl.state.visit import LEASE_MARGIN_S, Stay
from app.crawl.state.worker import Kit
from app.errors import LeaseLost
from app.model import Rest, RestReason, Url
from app.policy.host import registrable_domain
from app.store import db, hosts
from app.store.budgets import Budget, BudgetAnswer

CEILING_PATIENCE_S = 0.5  # a start of the fleet's that comes within it is waited for
TICKET_PATIENCE_S = 0.5  # a host that comes when it was told to, and finds the one before it late, waits
EARLY_S = 0.3  # where starts are drawn in lots, who was promised one stands in line so much before it
NEAR_S = 2.0  # who finds the line too long asks the budgets again after this


def take(stay: Stay, url: Url, deadline_s: float) -> Slot | None:
    """Wait for the turn if it comes soon; then the next request may start. None: leave, and come again. Raises LeaseLost."""
    return wait(stay, url, stay.patience_s(), deadline_s)


def wait(stay: Stay, url: Url, longest_s: float, deadline_s: float) -> Slot | None:
    """Wait at most longest_s for the turn. The lease outlasts the wait and the whole request."""
    if _is_quiet(stay):
        return None
    if stay.ready_at - stay.now() > longest_s:
        return None
    slot = _slot(stay, url, longest_s)
    if slot is None:
        return None
    if slot.line is not None:
        ahead_s = stay.ready_at - stay.now() - CONNECT_AHEAD_S
        if ahead_s > 0 and stay.kit.stopping.wait(ahead_s):
            return None
        _outlast(stay, AT_GATE_S + deadline_s)
        return slot._replace(not_after=stay.lease_ends - deadline_s - AT_GATE_S)
    if not _below_ceiling(stay, longest_s):
        return None
    wait_s = max(stay.ready_at, slot.ready_at) - stay.now()
    _outlast(stay, max(wait_s, 0) + deadline_s)
    if wait_s > 0 and stay.kit.stopping.wait(wait_s):
        return None
    # A process that was stopped meanwhile wakes when another visits the host: the sender looks at the clock once more.
    within_lease = stay.lease_ends - deadline_s
    return slot._replace(not_after=within_lease if slot.not_after is None else min(slot.not_after, within_lease))


def _outlast(stay: Stay, seconds: float) -> None:
    """The lease outlasts them, with its margin. Raises LeaseLost."""
    if stay.lease_ends - stay.now() < seconds + LEASE_MARGIN_S:
        extend(stay)


def told(stay: Stay, answer: BudgetAnswer, *, early_s: float = 0.0) -> None:
    """A shared budget told the host to come later: the visit waits for it where it may, else it leaves.

    early_s: it comes so much sooner, to stand in line when a lot is drawn.
    """
    if stay.kit.parking is not None and not answer.blocked and answer.wait_s <= stay.kit.settings.promise_longest_s:
        stay.ready_at = max(stay.ready_at, stay.now() + answer.wait_s - early_s)
        stay.promised = answer.why
    else:
        stay.rest(answer.wait_s, answer.why)


def elsewhere(kit: Kit, url: Url, host_id: int, longest_s: float) -> Slot | None:
    """A slot for one request to another host, whose lease was borrowed; waited for if it comes within longest_s, else None."""
    if kit.ceiling is not None:
        start_s = kit.ceiling.take(kit.engine, horizon_s=longest_s)
        if start_s > longest_s or kit.stopping.wait(start_s):
            return None
    if not kit.shared.any:
        return Slot()
    found = starts.where(kit, url, None)
    for address, wanted in found.wanted(kit, registrable_domain(url.host)):
        if not wanted:
            return Slot(address=address, dns_ms=found.dns_ms)
        with db.transaction(kit.engine, by_statement=True) as tx:
            asked = starts.ask(kit, tx, wanted, Terms(host_id, ready_in_s=0.0, horizon_s=longest_s))
        if asked.answer.is_near:
            return Slot(address=address, drawn=wanted, line=starts.line_for(kit, wanted), dns_ms=found.dns_ms)
        if asked.answer.granted:
            slot = starts.granted_slot(address, wanted, asked, found.dns_ms)
            return None if kit.stopping.wait(max(slot.ready_at - kit.monotonic(), 0.0)) else slot
    return None if found.choices else Slot()


def reserve_ahead(stay: Stay, tx: Connection) -> None:
    """At take-up, in its transaction and as its last statement: a start on the budgets of the address that the host had."""
    taken, kit = stay.taken, stay.kit
    if not stay.due or taken.address is None or stay.ready_at - stay.now() > stay.patience_s():
        return
    wanted = kit.shared.of(taken.address, taken.domain)
    if not wanted or kit.lines.has(wanted):  # those who share it ask without a lease's commit to wait for
        return
    asked = starts.ask(kit, tx, wanted, _terms(stay, stay.patience_s()))
    if asked.answer.granted or asked.answer.is_near:
        stay.slot = _granted(stay, taken.address, wanted, asked, None)
    else:
        stay.denied = (taken.address, asked.answer)


def spaced_at(slot: Slot, started: float) -> float:
    """The moment that the host's next start has to wait for, since this one came later than its slot. Only a host that has its
    budgets to itself may be so late; they count from the slot. One that holds them keeps their gaps itself, and where several
    share them the line does."""
    if slot.line is not None:
        return started
    if slot.held_until is not None:
        return started + max(each.gap_s + each.slack_s for each in slot.drawn)
    late_s = started - slot.ready_at
    return started + max((each.gap_s for each in slot.drawn if late_s > each.slack_s * LATE_SHARE), default=0.0)


def others_from(stay: Stay) -> float:
    """The moment from which others may draw on the budgets that the host has held. Its last start may have come late to the site,
    so the gaps count from the end."""
    drawn = stay.held.drawn if stay.held is not None else ()
    last = stay.now() if stay.batch.last_end is None else stay.batch.last_end
    return last + max((each.gap_s + each.slack_s for each in drawn), default=0.0)


def _below_ceiling(stay: Stay, longest_s: float) -> bool:
    """Take a start of the fleet's: the host is ready no sooner than that. False: none comes soon, the visit is to leave.

    Who stands in line takes it at the gate.
    """
    ceiling = stay.kit.ceiling
    if ceiling is None:
        return True
    start_s = ceiling.take(stay.kit.engine, horizon_s=max(longest_s, CEILING_PATIENCE_S))
    if start_s > max(longest_s, CEILING_PATIENCE_S):
        stay.rest(start_s, AT_CEILING)
        return False
    stay.ready_at = max(stay.ready_at, stay.now() + start_s)
    return True


def _slot(stay: Stay, url: Url, longest_s: float) -> Slot | None:
    """A granted start for a request to `url`; None after a denial: the visit is to leave."""
    kit = stay.kit
    if not kit.shared.any:
        return Slot()
    reserved, stay.slot = stay.slot, None
    found = starts.where(kit, url, stay.taken.address)
    if not found.choices:
        return Slot(dns_ms=found.dns_ms)  # the name does not resolve, or not to one of ours: sending says so
    if reserved is not None and reserved.address == found.choices[0]:
        return reserved
    held = stay.held
    if held is not None and held.address == found.choices[0] and stay.ready_at <= (held.held_until or 0.0):
        return held._replace(ready_at=max(stay.ready_at, held.ready_at), dns_ms=found.dns_ms)
    last: BudgetAnswer | None = None
    for address, wanted in found.wanted(kit, stay.taken.domain):
        if not wanted:
            return Slot(address=address, dns_ms=found.dns_ms)
        if stay.denied is not None and stay.denied[0] == address:
            last, stay.denied = stay.denied[1], None
            continue
        asked = _asked_before(stay, address) or _ask_alone(stay, wanted, longest_s)
        last = asked.answer
        if last.granted or last.is_near:
            return _granted(stay, address, wanted, asked, found.dns_ms)
        if not last.blocked:
            break
    assert last is not None
    told(stay, last, early_s=EARLY_S if min(each.lot_most for each in wanted) > 1 else 0.0)
    return None


def _terms(stay: Stay, horizon_s: float, *, alone: bool = False) -> Terms:
    """The stay's terms: a start when its host is ready, and those after it for as long as the visit may last."""
    kit = stay.kit
    return Terms(
        stay.host_id,
        ready_in_s=stay.ready_at - stay.now(),
        horizon_s=horizon_s + (TICKET_PATIENCE_S if stay.has_ticket else 0.0),
        has_ticket=stay.has_ticket,
        hold_s=0.0 if kit.parking is None else max(stay.started + kit.settings.visit_max_s - stay.now(), 0.0),
        alone=alone,
    )


def _ask_alone(stay: Stay, wanted: tuple[Budget, ...], horizon_s: float) -> TimedAnswer:
    with db.transaction(stay.kit.engine, by_statement=True) as tx:
        return starts.ask(stay.kit, tx, wanted, _terms(stay, horizon_s, alone=True))


def _asked_before(stay: Stay, address: str) -> TimedAnswer | None:
    """The answer of a moment ago, of one who comes again because the line was too long."""
    near, now = stay.near, stay.now()
    if near is None or near.address != address or now > near.until:
        return None
    return TimedAnswer(answer=near.answer, sent=now, received=now, hold_s=0.0)


def _granted(
    stay: Stay, address: str, wanted: tuple[Budget, ...], asked: TimedAnswer, dns_ms: float | None
) -> Slot | None:
    """A start, or a place in line for one; None: the line is too long."""
    answer, stay.near = asked.answer, None
    stay.is_crowded, stay.promised = answer.shared, None
    if answer.is_near:
        line = starts.line_for(stay.kit, wanted)
        if not line.is_full:
            return Slot(address=address, drawn=wanted, line=line, dns_ms=dns_ms)
        stay.near = Near(address, answer, stay.now() + NEAR_S)
        told(stay, replace(answer, wait_s=max(answer.wait_s, line.room_in_s())))
        return None
    slot = starts.granted_slot(address, wanted, asked, dns_ms)
    if slot.held_until is not None:
        stay.held = slot
    return slot


def _is_quiet(stay: Stay) -> bool:
    """An operator's quiet hours, by the database's clock: the host rests until they end."""
    if stay.quiet is None or not stay.is_quiet_at(str(stay.quiet)):
        return False
    stay.rest(stay.quiet.until_end_s(stay.database_time(stay.now())), Rest(RestReason.QUIET_HOURS))
    return True


def extend(stay: Stay) -> None:
    """The lease begins anew. Raises LeaseLost."""
    sent = stay.now()
    with db.transaction(stay.kit.engine) as tx:
        if not hosts.extend(tx, host_id=stay.host_id, token=stay.token, lease_s=stay.kit.settings.lease_s):
            raise LeaseLost(stay.taken.name)
    stay.lease_ends = sent + stay.kit.settings.lease_s
