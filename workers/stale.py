"""A new worker drops the doorbells that nobody read while it was away, before it reads its first one.

A queue has as many live doorbells as it has offers standing, and they are the newest. So one statement tells how many to
keep, and no message need be looked at. Where another worker reads at the same time a live one may go too: its host is
offered again.
"""

from collections.abc import Sequence
from typing import Any

import structlog
from celery import signals

from app import celery_redis
from app.celery import MAINTENANCE, app
from app.config import current
from app.errors import ServiceError
from app.policy.offers import most
from app.store import db, hosts
from workers import process

_log = structlog.get_logger()


@signals.worker_ready.connect
def _start(sender: Any, **_: object) -> None:
    """sender: the consumer, which knows the queues it was told to serve, and has not read from them yet."""
    try:
        drop([queue.name for queue in sender.task_consumer.queues])
    except ServiceError as error:  # it will find the stale ones out by itself, one by one
        _log.warning("doorbells.kept", error=str(error))


def drop(queues: Sequence[str]) -> None:
    """Keep as many as are live; of the janitors' queue, as many as dispatch keeps. Raises ServiceError."""
    with db.transaction(process.engine()) as tx:
        standing = hosts.offers_outstanding(tx)
    newest = {queue: standing.get(queue, 0) for queue in queues}
    if MAINTENANCE in newest:
        newest[MAINTENANCE] = 2 * most(current().offers_max)
    with app.connection_for_write() as connection:
        celery_redis.keep(connection, newest)
