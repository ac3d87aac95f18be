"""`tiptoe.extract`: hands due pages to the user's handlers. Its message is a doorbell: rows say what is to be done.

A plain worker serves the queue with a quarter of its threads, so that visits are not held up; one with `-Q extract`
with all of them; both with no more than there are processors, since handlers compute. A turn ends after some seconds
and rings for the next.
"""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import structlog
from celery import signals
from kombu.exceptions import OperationalError

from app import celery_redis
from app.celery import EXTRACT, app, expiring
from app.config import current
from app.errors import InputError, ServiceError
from app.features.extract.process import handler_pool, processors
from app.features.extract.run import AT_ONCE, Runner
from app.features.extract.write import Extraction, Follower
from app.single import Single
from app.store import db, extractions
from workers import process

BELLS_MOST = 16
MESSAGE_S = 10.0
_log = structlog.get_logger()


@app.task(name="tiptoe.extract")
def extract() -> int:
    """Handle what is due for some seconds. Returns how many were. A failure is one log line; the rows come back."""
    if not current().handlers:
        return 0
    with _turn() as is_ours:
        return _handle() if is_ours else 0


@app.task(name="tiptoe.ring_extract", send_events=False)
def ring() -> int:
    """Ring for as many turns as the due rows can use, less those that were rung for and not begun. Returns how many."""
    try:
        with db.transaction(process.engine()) as tx:
            rows = extractions.waiting(tx, most=BELLS_MOST * AT_ONCE)
        return _ring(-(-rows // AT_ONCE)) if rows else 0
    except (ServiceError, OperationalError, OSError) as error:
        _log.error("ring_extract.failed", error=str(error))
        return 0


def _ring(turns: int) -> int:
    with app.producer_pool.acquire(block=True) as producer:
        waiting = celery_redis.unread(producer.connection, [EXTRACT], BELLS_MOST).get(EXTRACT, 0)
        n = max(min(turns, BELLS_MOST) - waiting, 0)
        for _ in range(n):
            options = expiring(current().broker_url, MESSAGE_S)
            app.send_task("tiptoe.extract", queue=EXTRACT, producer=producer, **options)
    return n


def _handle() -> int:
    runner = Runner(extraction())
    try:
        n = runner.run(for_s=10.0)
        if n:
            ring.run()
    except (ServiceError, InputError, OperationalError) as error:
        _log.error("extract.failed", error=str(error))
        return 0
    finally:
        runner.close()
    return n


@contextmanager
def _turn() -> Iterator[bool]:
    """Whether a thread is free for handlers, which then is taken."""
    is_ours = _threads().acquire(blocking=False)
    try:
        yield is_ours
    finally:
        if is_ours:
            _threads().release()


def share(queues: Collection[str], concurrency: int, processors: int) -> int:
    """The number of threads for handlers, in a worker that serves these queues."""
    most = concurrency if set(queues) == {EXTRACT} else max(concurrency // 4, 1)
    return min(most, processors)


@Single
def _threads() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(share(app.amqp.queues.consume_from, current().concurrency, processors()))


@Single
def extraction() -> Extraction:
    settings = current()
    return Extraction(
        engine=process.engine(),
        settings=settings,
        pool=handler_pool(
            settings.handlers, memory_bytes=settings.handler_memory_bytes, variables=settings.handler_variables
        ),
        admit=Follower(process.engine(), settings).admit,
    )


@signals.worker_shutting_down.connect
def _stop(**_: object) -> None:
    """Give back what is not begun. It takes no lock: a signal's handler sends it."""
    if extraction.is_made:
        extraction().stopping.set()


@signals.worker_shutdown.connect
@signals.worker_process_shutdown.connect
def _stopped(**_: object) -> None:
    if extraction.is_made:
        extraction().pool.close()
