"""Drops messages that no worker read in time, before a new worker reads its first one.

A queue has as many live messages as standing offers, and they are the newest. So one statement returns how many to
keep, and no message has to be read. Where another worker reads at the same time, a live one may be dropped too: its
host is offered again.
"""

from collections.abc import Sequence
from typing import Any

import structlog
from celery import Celery, signals
from sqlalchemy import Engine

from app import celery_redis
from app.celery import MAINTENANCE, app
from app.config import current
from app.errors import ServiceError
from app.policy.offers import most
from app.store import db, fleet
from workers import process

_log = structlog.get_logger()


@signals.worker_ready.connect
def _start(sender: Any, **_: object) -> None:
    """Drop stale messages at start. sender: the consumer, which knows its queues, and has not read from them yet."""
    try:
        drop([queue.name for queue in sender.task_consumer.queues], engine=process.engine(), broker=app)
    except ServiceError as error:  # the worker will recognise stale ones itself, one by one
        _log.warning("doorbells.kept", error=str(error))


def drop(queues: Sequence[str], *, engine: Engine, broker: Celery) -> None:
    """Keep the live messages; of the janitors' queue, as many as dispatch keeps. Raises ServiceError."""
    with db.transaction(engine) as tx:
        standing = fleet.offers(fleet.leased(tx))
    newest = {queue: standing.get(queue, 0) for queue in queues}
    if MAINTENANCE in newest:
        newest[MAINTENANCE] = 2 * most(current().offers_max)
    with broker.connection_for_write() as connection:
        celery_redis.keep(connection, newest)
