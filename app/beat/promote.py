"""Promote: queues resting URLs that are due, and wakes their hosts.

`queued` and `resting` are apart so that claiming never wades through rows that are not due.
"""

from functools import partial

from sqlalchemy import Engine

from app.store import db, hosts, urls

BATCH = 500


def promote(engine: Engine) -> int:
    """Promote at most BATCH of each crawl and kind. Returns how many hosts were woken."""
    woken = db.repeat(partial(_promote, engine))
    return db.repeat(partial(_wake, engine, sorted(woken))) if woken else 0


def _promote(engine: Engine) -> set[int]:
    with db.transaction(engine) as tx:
        return urls.promote(tx, BATCH)


def _wake(engine: Engine, host_ids: list[int]) -> int:
    with db.transaction(engine) as tx:
        return hosts.wake(tx, host_ids)
