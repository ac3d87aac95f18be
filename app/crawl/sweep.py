"""Sweep: what a crash between two commits left behind.

No lease is rescued here: a crashed lease is due again by itself. Found are hosts with queued URLs that nobody woke, hosts
whose pause was asked for under a visit that never came back, and visits that ended without a word.
"""

import structlog
from sqlalchemy import Engine

from app.store import db, hosts, visits

_log = structlog.get_logger()


def sweep(engine: Engine) -> dict[str, int]:
    """How many were found of each kind: woken, paused, lost."""
    with db.transaction(engine) as tx:
        woken = hosts.wake_forgotten(tx)
    with db.transaction(engine) as tx:
        paused = hosts.pause_outlived(tx)
    with db.transaction(engine) as tx:
        lost = visits.mark_lost(tx)
    found = {"woken": woken, "paused": paused, "lost": lost}
    if any(found.values()):
        _log.info("sweep.found", **found)
    return found
