"""Dispatch: claim the hosts that are due or will be within the next tick, and offer each to its queue.

Idempotent: a second run, or a hundred of them, costs a few index probes. The claim commits before a message is sent; a
lost message costs the length of an offer. Back-pressure is per queue: offers not taken up (`app.policy.offers`), and
unread messages, where the broker reports them. A broker that is away makes it fail before the claim.

After a failover or a restore the rows may be older than the last write (`app.store.lineage`). The first dispatch after
it fences all visits, and makes every host wait until all earlier leases are over, plus its delay.

When the database's clock was set (`app.store.clocks`), leases and delays would end early or late: the first dispatch
that sees it moves them by as much, and claims nothing.
"""

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from sqlalchemy import Connection, Engine

from app.config import Settings
from app.policy.offers import Plan, most, plan
from app.store import clocks, db, hosts, lineage, offers
from app.store.host_rows import Offer

_log = structlog.get_logger()
SLACK = timedelta(seconds=5)
WHOLE_S = 2.0
WHOLE_MOST_S = 10.0


@dataclass(slots=True)
class ScanWindow:
    """The moments from which a process searches for due hosts: its last claim of each queue, less SLACK.

    During a long transaction Postgres keeps all old row versions of due hosts, and a full search reads through all of
    them. A host that got an earlier moment by a transaction that took longer than SLACK to commit is found by the next
    full search: every 2 s, or less often, to keep full searches to a twentieth of the time, but at least every 10 s. A
    single slow one may be due to a lock or a stopped Postgres: only two in a row count.
    """

    since: dict[str, datetime] = field(default_factory=dict)
    whole_at: float = -math.inf
    whole_s: float = 0.0
    clock: Callable[[], float] = time.monotonic

    def begin(self) -> tuple[float, Mapping[str, datetime]]:
        """Begin a search: (the moment, from where on to search); nothing: a full search."""
        now = self.clock()
        return now, {} if now >= self.whole_at else dict(self.since)

    def end(self, began: float, offers: Sequence[Offer]) -> None:
        """End the search that began then, with the hosts that it claimed."""
        now = self.clock()
        if began >= self.whole_at:
            self.whole_at = now + min(max(WHOLE_S, 20 * min(now - began, self.whole_s)), WHOLE_MOST_S)
            self.whole_s = now - began
            self.since.clear()
        for each in offers:
            if each.due_at is not None:
                since = each.due_at - SLACK
                self.since[each.queue] = max(since, self.since.get(each.queue, since))


def _untold(queues: Sequence[str], most: int) -> Mapping[str, int]:
    """Stands in for a broker that does not report how many messages wait."""
    return {}


def dispatch(
    engine: Engine,
    settings: Settings,
    offer: Callable[[Sequence[Offer]], None],
    rng: random.Random,
    marks: ScanWindow | None = None,
    unread: Callable[[Sequence[str], int], Mapping[str, int]] = _untold,
) -> int:
    """Claim, commit, then `offer` the hosts: a message for each on its queue. Returns how many. Raises ServiceError.

    marks   of a process that does so again and again
    unread  messages that wait in each of the queues, the oldest of which it may drop where they are too many
    """
    marks, looked_at = marks or ScanWindow(), time.monotonic()
    waiting = unread(settings.queue_names, most(settings.offers_max))
    with db.transaction(engine) as tx:
        if lineage.has_changed(tx):
            _hold(tx, settings)
            return 0
        if (step := clocks.look(tx)) is not None:
            _move(tx, settings, step)
            return 0
        wanted = _plan(tx, settings, waiting, rng)
        began, since = marks.begin()
        found = _claim(tx, settings, wanted, since)
    if wanted.capacity:
        marks.end(began, found)
    claimed_s = time.monotonic() - looked_at
    if found:
        offer(found)
        _log.debug("dispatch.offered", hosts=len(found), claimed_s=round(claimed_s, 4))
    return len(found)


def _plan(tx: Connection, settings: Settings, unread: Mapping[str, int], rng: random.Random) -> Plan:
    """Plan the claim, with the queues in a random order each time."""
    lines = offers.lines(tx, offer_s=settings.offer_s, ahead_s=settings.dispatch_tick_s)
    names = list(settings.queue_names)
    rng.shuffle(names)
    return plan(names, lines, unread, offers_max=settings.offers_max, offer=timedelta(seconds=settings.offer_s))


def _claim(tx: Connection, settings: Settings, wanted: Plan, since: Mapping[str, datetime]) -> list[Offer]:
    ahead_s, offer_s = settings.dispatch_tick_s, settings.offer_s
    again = offers.again(tx, wanted.again, ahead_s=ahead_s, offer_s=offer_s)
    if not wanted.capacity:
        return again
    return again + hosts.claim_due(
        tx,
        since=since,
        capacity=wanted.capacity,
        n=wanted.n,
        ahead_s=ahead_s,
        offer_s=offer_s,
        isolate=settings.settle_urls,
    )


def _hold(tx: Connection, settings: Settings) -> None:
    if lineage.move(tx):
        held = lineage.hold(tx, lease_s=settings.lease_s, gap_s=_longest_gap_s(settings))
        _log.warning("lineage.changed", hosts=held, held_s=settings.lease_s)


def _move(tx: Connection, settings: Settings, step: clocks.ClockStep) -> None:
    moved = clocks.accept(tx, step, lease_s=settings.lease_s, gap_s=_longest_gap_s(settings))
    if moved is not None:
        _log.warning("clock.stepped", hosts=moved, by_s=round(step.by_s, 1))


def _longest_gap_s(settings: Settings) -> float:
    return max(settings.address_gap_s, settings.domain_gap_s, *(gap_s for _, gap_s in settings.fronts), 0.0)
