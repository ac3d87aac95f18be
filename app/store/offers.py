"""The latest offers and their take-ups, by queue.

Each function runs queries of offers.sql in the caller's transaction.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from app.policy.offers import QueueOffers
from app.store import clocks, db
from app.store.host_rows import Offer

_sql = db.queries("offers")
OFFERS_BACK = 3


def lines(tx: Connection, *, offer_s: float, ahead_s: float) -> dict[str, QueueOffers]:
    """Offers by queue, for queues with recent offers or visits.

    Missed offers count for as long as OFFERS_BACK offers last; take-ups too, among the LATEST_VISITS. Both reads are
    short however large the fleet is and however many hosts were missed before.
    """
    offered = db.run(tx, _sql["lines"], {"offer_s": offer_s, "ahead_s": ahead_s, "within_s": OFFERS_BACK * offer_s})
    found = {row.queue: row for row in offered}
    served_at = served(tx, offer_s=offer_s)
    lines = {queue: QueueOffers(served_at=at) for queue, at in served_at.items()}
    for queue, row in found.items():
        lines[queue] = QueueOffers(
            standing=row.standing,
            missed_at=row.missed_at,
            served_at=served_at.get(queue),
            missed=tuple((times, host_id) for times, host_id in row.missed or ()),
        )
    return lines


def served(tx: Connection, *, offer_s: float) -> dict[str, datetime]:
    """{queue: time of its last take-up}, among recent visits."""
    latest = db.run(tx, _sql["served"], {"n": 1_000, "within_s": OFFERS_BACK * offer_s})
    return {row.queue: row.served_at for row in latest}


def again(tx: Connection, host_ids: Sequence[int], *, ahead_s: float, offer_s: float) -> list[Offer]:
    """Offer missed hosts again where they are due."""
    if not host_ids:
        return []
    where = {"ids": db.array_param(host_ids), "ahead_s": ahead_s, "offer_s": offer_s, **clocks.steady()}
    return db.run(tx, _sql["again"], where).of(Offer)
