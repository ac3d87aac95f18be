"""Rotate logs: makes partitions of the logs ahead, drops old ones, and deletes refusals beyond a crawl's limit.

Nothing waits for it: a statement that would have to wait for a lock gives up, and the next run tries again. Rows that
found no partition of their time lie in the default one and become a partition of their own.
"""

from collections.abc import Callable
from functools import partial

import structlog
from sqlalchemy import Connection, Engine

from app.config import Settings
from app.policy import retention
from app.store import crawls, db, partitions, server, suppressions

_log = structlog.get_logger()
MOST = 400  # steps of one kind in a run: a year of days
PRUNE_BATCH = 5_000
PRUNE_BATCHES = 40


def retain(engine: Engine, settings: Settings) -> dict[str, int]:
    """Rotate all logs.

    Counts partitions made and dropped and refusals deleted; waiting: steps that others' locks prevented.
    """
    found = {"made": 0, "dropped": 0, "forgotten": 0, "waiting": 0}
    for log in partitions.LOGS:
        found["made"] += _repeat(engine, partial(_make, log=log, keep_days=settings.log_keep_days), found)
        _repeat(engine, partial(_detach, log=log, keep_days=settings.log_keep_days), found)
    found["dropped"] = _repeat(engine, _drop, found)
    found["forgotten"] = forget_refusals(engine, settings)
    if any(found.values()):
        _log.info("retain.done", **found)
    return found


def forget_refusals(engine: Engine, settings: Settings) -> int:
    """Delete refusals older than the logs' time, and the oldest of a crawl that has too many. Returns how many."""
    with db.transaction(engine) as tx:
        crawl_ids = [crawl.id for crawl in crawls.every(tx)]
    forgotten = 0
    for crawl_id in crawl_ids:
        with db.transaction(engine) as tx:
            until = suppressions.old_until(
                tx, crawl_id=crawl_id, keep_days=settings.log_keep_days, most=settings.suppressions_max
            )
        for _ in range(PRUNE_BATCHES if until else 0):
            with db.transaction(engine) as tx:
                gone = suppressions.prune(tx, crawl_id=crawl_id, until=until, n=PRUNE_BATCH)
            forgotten += gone
            if gone < PRUNE_BATCH:
                break
    return forgotten


def _repeat(engine: Engine, step: Callable[[Connection], bool], found: dict[str, int]) -> int:
    """Repeat a step until nothing is left, or others' locks prevent it. Returns how often it was done."""
    for done in range(MOST):
        did = partitions.alone(engine, step)
        if not did:
            found["waiting"] += did is None
            return done
    return MOST


def _make(tx: Connection, *, log: str, keep_days: int) -> bool:
    span = retention.next_span(
        partitions.parts(tx, log), now=server.now(tx), keep_days=keep_days, strays=partitions.strays(tx, log)
    )
    if span is None:
        return False
    name = partitions.make(tx, log, span)
    _log.info("retain.made", partition=name, adopted=span.adopts)
    return True


def _detach(tx: Connection, *, log: str, keep_days: int) -> bool:
    old = retention.expired(partitions.parts(tx, log), now=server.now(tx), keep_days=keep_days)
    if not old:
        return False
    partitions.detach(tx, log, old[0])
    _log.info("retain.detached", partition=old[0].name)
    return True


def _drop(tx: Connection) -> bool:
    names = partitions.detached(tx)
    if not names:
        return False
    partitions.drop(tx, names[0])
    return True
