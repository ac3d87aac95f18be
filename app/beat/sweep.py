"""Sweep: repairs the traces of a crash between two commits.

No lease is rescued here: a crashed lease is due again by itself. It finds hosts with queued URLs that were never woken,
hosts with a pause requested under a visit that vanished, and visits that vanished.
"""

import structlog
from sqlalchemy import Engine

from app.runtime.process_name import is_alive, machine
from app.store import budgets, db, hosts, visits

_log = structlog.get_logger()


def sweep(engine: Engine) -> dict[str, int]:
    """Sweep. Returns how many were found of each kind: hosts woken and paused, visits lost, unused budgets pruned."""
    with db.transaction(engine) as tx:
        woken = hosts.wake_forgotten(tx, most=200_000)  # hosts: some 0.2 s for a crawl
    with db.transaction(engine) as tx:
        paused = hosts.pause_outlived(tx)
    with db.transaction(engine) as tx:
        lost = visits.mark_lost(tx)
    with db.transaction(engine) as tx:
        pruned = budgets.prune(tx, n=10_000)
    found = {"woken": woken, "paused": paused, "lost": lost, "pruned": pruned}
    if any(found.values()):
        _log.info("sweep.found", **found)
    return found


def end_leases_of_the_dead(engine: Engine) -> int:
    """End the leases of dead workers on this machine at once, rather than when they expire. Returns how many.

    It only saves time, and only where death is certain: a process id of this machine that no process has. Their
    requests ended before now, so the host's delay counts from now.
    """
    ended = 0
    with db.transaction(engine) as tx:
        for host_id, token, worker in hosts.held_by(tx, machine()):
            if not is_alive(worker):
                ended += hosts.end_dead(tx, host_id=host_id, token=token)
    return ended
