"""Whose turn it is: a request starts only when its host, its address, its domain and the fleet's ceiling all have room.

    quiet hours ▶ the host's own delay ▶ a start on every shared budget ▶ wait for the later of the two ▶ lease long enough ▶ send

Budgets are rows that the whole fleet shares (`app.store.budgets`): what they allow holds over every worker and through crashes. A
start that was granted and not used is lost, never used twice. The visit that comes too early for a budget leaves, and its host is
due again when the budget told it to come.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from app.crawl.kit import Kit
from app.crawl.stay import LEASE_MARGIN_S, Slot, Stay
from app.errors import LeaseLost
from app.model import Url
from app.policy.host import registrable_domain
from app.store import budgets, db, hosts
from app.store.budgets import Answer, Budget, BudgetKind

LEAD_S = 0.01  # from asking to sending, when nothing else is waited for
LONE_MARGIN_S = 0.1
LATE_SHARE = 0.4
CEILING_PATIENCE_S = 0.5  # a start of the fleet's that comes within it is waited for
TICKET_PATIENCE_S = 0.5  # who was told to come and finds the one before late waits, rather than come a third time


def take(stay: Stay, url: Url, deadline_s: float) -> Slot | None:
    """Wait for the turn if it comes soon; then the next request may start. None: leave, and come again. Raises LeaseLost."""
    return wait(stay, url, stay.patience_s(), deadline_s)


def wait(stay: Stay, url: Url, longest_s: float, deadline_s: float) -> Slot | None:
    """The same for a wait of at most longest_s. The lease outlasts the wait and the whole request."""
    if _is_quiet(stay):
        return None
    if stay.ready_at - stay.now() > longest_s:
        return None
    if not _below_ceiling(stay, longest_s):
        return None
    slot = _slot(stay, url, longest_s)
    if slot is None:
        return None
    wait_s = max(stay.ready_at, slot.ready_at) - stay.now()
    if stay.lease_ends - stay.now() < max(wait_s, 0) + deadline_s + LEASE_MARGIN_S:
        extend(stay)
    if wait_s > 0 and stay.kit.stopping.wait(wait_s):
        return None
    # A process that was stopped meanwhile wakes when another visits the host: the sender looks at the clock once more.
    within_lease = stay.lease_ends - deadline_s
    return slot._replace(not_after=within_lease if slot.not_after is None else min(slot.not_after, within_lease))


def elsewhere(kit: Kit, url: Url, host_id: int, longest_s: float) -> Slot | None:
    """A slot for one request to another host, whose lease was borrowed; waited for if it comes within longest_s, else None."""
    if kit.ceiling is not None:
        start_s = kit.ceiling.take(kit.engine, horizon_s=longest_s)
        if start_s > longest_s or kit.stopping.wait(start_s):
            return None
    if not kit.shared.any:
        return Slot()
    found = _where(kit, url, None)
    for address, wanted in found.wanted(kit, registrable_domain(url.host)):
        if not wanted:
            return Slot(address=address, dns_ms=found.dns_ms)
        with db.transaction(kit.engine) as tx:
            asked = _ask(kit, tx, wanted, host_id=host_id, ready_in_s=0.0, horizon_s=longest_s, has_ticket=False)
        if asked.answer.granted:
            slot = _slot_of(address, wanted, asked, found.dns_ms)
            return None if kit.stopping.wait(max(slot.ready_at - kit.monotonic(), 0.0)) else slot
    return None if found.choices else Slot()


def reserve_ahead(stay: Stay, tx: Connection) -> None:
    """At take-up, in its transaction and as its last statement: a start on the budgets of the address that the host had."""
    taken, kit = stay.taken, stay.kit
    if (
        not stay.due
        or taken.address is None
        or kit.ceiling is not None
        or stay.ready_at - stay.now() > stay.patience_s()
    ):
        return
    wanted = kit.shared.of(taken.address, taken.domain)
    if not wanted:
        return
    asked = _ask_for(stay, tx, wanted, stay.patience_s())
    if asked.answer.granted:
        stay.slot = _granted(stay, taken.address, wanted, asked, None)
    else:
        stay.denied = (taken.address, asked.answer)


def slack_s(budget: Budget) -> float:
    """Starts are granted a little further apart than the budget asks: LATE_SHARE of it is how late a request may be sent,
    the rest is for the road."""
    return min(0.05, max(budget.gap_s / 10, 0.005)) if budget.kind is not BudgetKind.ALL else 0.0


def spaced_at(slot: Slot, started: float) -> float:
    """The moment that the host's next start has to wait for, since this one came later than its slot. Only a host that has its
    budgets to itself may be so late; they count from the slot. One that holds them keeps their gaps itself."""
    if slot.held_until is not None:
        return started + max(each.gap_s + slack_s(each) for each in slot.drawn)
    late_s = started - slot.ready_at
    return started + max((each.gap_s for each in slot.drawn if late_s > slack_s(each) * LATE_SHARE), default=0.0)


def others_from(stay: Stay) -> float:
    """The moment from which others may draw on the budgets that the host has held. Its last start may have come late to the site,
    so the gaps count from the end."""
    drawn = stay.held.drawn if stay.held is not None else ()
    last = stay.now() if stay.batch.last_end is None else stay.batch.last_end
    return last + max((each.gap_s + slack_s(each) for each in drawn), default=0.0)


def _below_ceiling(stay: Stay, longest_s: float) -> bool:
    """Take a start of the fleet's: the host is ready no sooner than that. False: none comes soon, the visit is to leave.

    Before the other budgets are asked: what they promise is good for some milliseconds, a start of the ceiling for longer.
    """
    ceiling = stay.kit.ceiling
    if ceiling is None:
        return True
    start_s = ceiling.take(stay.kit.engine, horizon_s=max(longest_s, CEILING_PATIENCE_S))
    if start_s > max(longest_s, CEILING_PATIENCE_S):
        stay.rest(start_s, "all budget")
        return False
    stay.ready_at = max(stay.ready_at, stay.now() + start_s)
    return True


def _slot(stay: Stay, url: Url, longest_s: float) -> Slot | None:
    """A granted start for a request to `url`; None after a denial: the visit is to leave."""
    kit = stay.kit
    if not kit.shared.any:
        return Slot()
    reserved, stay.slot = stay.slot, None
    found = _where(kit, url, stay.taken.address)
    if not found.choices:
        return Slot(dns_ms=found.dns_ms)  # the name does not resolve, or not to one of ours: sending says so
    if reserved is not None and reserved.address == found.choices[0]:
        return reserved
    held = stay.held
    if held is not None and held.address == found.choices[0] and stay.ready_at <= (held.held_until or 0.0):
        return held._replace(ready_at=max(stay.ready_at, held.ready_at), dns_ms=found.dns_ms)
    last: Answer | None = None
    for address, wanted in found.wanted(kit, stay.taken.domain):
        if not wanted:
            return Slot(address=address, dns_ms=found.dns_ms)
        if stay.denied is not None and stay.denied[0] == address:
            last, stay.denied = stay.denied[1], None
            continue
        with db.transaction(kit.engine) as tx:
            asked = _ask_for(stay, tx, wanted, longest_s)
        last = asked.answer
        if last.granted:
            return _granted(stay, address, wanted, asked, found.dns_ms)
        if not last.blocked:
            break
    assert last is not None
    stay.rest(last.wait_s, last.because)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """An answer, and the monotonic moments around it. hold_s: as in budgets.reserve."""

    answer: Answer
    sent: float
    received: float
    hold_s: float


def _ask_for(stay: Stay, tx: Connection, wanted: tuple[Budget, ...], horizon_s: float) -> _Asked:
    return _ask(
        stay.kit,
        tx,
        wanted,
        host_id=stay.host_id,
        ready_in_s=stay.ready_at - stay.now(),
        horizon_s=horizon_s + (TICKET_PATIENCE_S if stay.has_ticket else 0.0),
        has_ticket=stay.has_ticket,
        hold_s=0.0 if stay.kit.parking is None else max(stay.started + stay.kit.settings.visit_max_s - stay.now(), 0.0),
    )


def _ask(
    kit: Kit,
    tx: Connection,
    wanted: tuple[Budget, ...],
    *,
    host_id: int,
    ready_in_s: float,
    horizon_s: float,
    has_ticket: bool,
    hold_s: float = 0.0,
) -> _Asked:
    spaced = [each._replace(gap_s=each.gap_s + slack_s(each)) for each in wanted]
    sent = kit.monotonic()
    answer = budgets.reserve(
        tx,
        spaced,
        host_id=host_id,
        ready_in_s=max(ready_in_s, LEAD_S),
        horizon_s=max(horizon_s, 2 * LEAD_S),
        has_ticket=has_ticket,
        hold_s=hold_s,
    )
    return _Asked(answer=answer, sent=sent, received=kit.monotonic(), hold_s=hold_s)


def _granted(stay: Stay, address: str, wanted: tuple[Budget, ...], asked: _Asked, dns_ms: float | None) -> Slot:
    slot = _slot_of(address, wanted, asked, dns_ms)
    stay.is_crowded = asked.answer.shared
    if slot.held_until is not None:
        stay.held = slot
    return slot


def _slot_of(address: str, wanted: tuple[Budget, ...], asked: _Asked, dns_ms: float | None) -> Slot:
    """Not before the start by the later bound of the database's moment, not after it by the earlier one."""
    answer = asked.answer
    late_s = budgets.LONE_S - LONE_MARGIN_S
    slacks = [
        slack_s(each) * LATE_SHARE if answer.shared else late_s for each in wanted if each.kind is not BudgetKind.ALL
    ]
    last_s = max(answer.wait_s, asked.hold_s) if answer.held else answer.wait_s
    return Slot(
        address=address,
        drawn=wanted,
        ready_at=asked.received + answer.wait_s,
        not_after=asked.sent + answer.took_s + last_s + min(slacks) if slacks else None,
        granted_at=(answer.now, asked.received),
        probes=answer.failures > 0,
        dns_ms=dns_ms,
        held_until=asked.sent + answer.took_s + asked.hold_s if answer.held else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    choices: tuple[str, ...]
    dns_ms: float | None

    def wanted(self, kit: Kit, domain: str | None) -> list[tuple[str, tuple[Budget, ...]]]:
        return [(address, kit.shared.of(address, domain)) for address in self.choices]


def _where(kit: Kit, url: Url, prefer: str | None) -> _Found:
    if kit.where is None:
        return _Found(choices=(), dns_ms=None)
    found = kit.where(url.text, prefer)
    return _Found(choices=found.addresses, dns_ms=found.dns_ms)


def _is_quiet(stay: Stay) -> bool:
    """An operator's quiet hours, by the database's clock: the host rests until they end."""
    if stay.quiet is None or not stay.is_quiet_at(str(stay.quiet)):
        return False
    stay.rest(stay.quiet.until_end_s(stay.database_time(stay.now())), "quiet hours")
    return True


def extend(stay: Stay) -> None:
    """The lease begins anew. Raises LeaseLost."""
    sent = stay.now()
    with db.transaction(stay.kit.engine) as tx:
        if not hosts.extend(tx, host_id=stay.host_id, token=stay.token, lease_s=stay.kit.settings.lease_s):
            raise LeaseLost(stay.taken.name)
    stay.lease_ends = sent + stay.kit.settings.lease_s
