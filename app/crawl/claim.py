"""Dispatch: claim the hosts that are due or will be within the next tick, and offer each to its queue.

Idempotent: run twice, or rung a hundred times, it changes nothing but a few index probes. The claim commits before a
message is sent; a message that is lost costs the length of an offer. Back-pressure is per queue: offers not taken up.
"""

import random
from collections.abc import Callable, Sequence

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.store import db, hosts
from app.store.hosts import Offer

_log = structlog.get_logger()


def dispatch(engine: Engine, settings: Settings, offer: Callable[[Sequence[Offer]], None], rng: random.Random) -> int:
    """Claim, commit, then `offer` the hosts: a message for each on its queue. Returns how many. Raises ServiceError."""
    with db.transaction(engine) as tx:
        outstanding = hosts.offers_outstanding(tx)
        n = settings.offers_max - sum(outstanding.values())
        if n <= 0:
            return 0
        offers = hosts.claim_due(
            tx,
            rooms=_rooms(settings, outstanding, rng),
            n=n,
            ahead_s=settings.dispatch_tick_s,
            offer_s=settings.offer_s,
            isolate=settings.settle_urls,
        )
    if offers:
        offer(offers)
        _log.debug("dispatch.offered", hosts=len(offers))
    return len(offers)


def _rooms(settings: Settings, outstanding: dict[str, int], rng: random.Random) -> dict[str, int]:
    """How many hosts each queue has room for, in an order drawn anew each time.

    No queue gets more than a quarter of all offers: one that nobody serves must not hold up the rest.
    """
    most = max(settings.offers_max // 4, 1)
    names = list(settings.queue_names)
    rng.shuffle(names)
    return {name: most - outstanding.get(name, 0) for name in names if outstanding.get(name, 0) < most}
