"""Promote: resting URLs whose time has come become queued, and their hosts are woken.

`queued` and `resting` are apart so that claiming never wades through rows that are not due.
"""

from sqlalchemy import Engine

from app.store import db, hosts, urls

BATCH = 500


def promote(engine: Engine) -> int:
    """At most BATCH of each crawl and kind. Returns how many hosts were woken."""
    with db.transaction(engine) as tx:
        woken = urls.promote(tx, BATCH)
    if not woken:
        return 0
    with db.transaction(engine) as tx:
        return hosts.wake(tx, sorted(woken))
