"""`tiptoe.dispatch`: claim due hosts, one `tiptoe.visit` message for each on its own queue."""

import random
import time
from collections.abc import Mapping, Sequence

from kombu import Producer

from app import celery_redis
from app.beat import claim
from app.celery import MAINTENANCE, app, expiring
from app.config import current
from app.errors import ServiceError
from app.store.host_rows import Offer
from workers import process

_rng = random.Random()
_marks = claim.ScanWindow()


@app.task(name="tiptoe.dispatch", send_events=False)
def dispatch() -> int:
    """Offer the hosts that are due. Returns how many."""
    began = time.monotonic()
    try:
        hosts = claim.dispatch(process.engine(), current(), offer, _rng, _marks, unread)
    except OSError as error:  # kombu's: no file descriptor is left
        raise ServiceError("the broker", error.strerror or str(error)) from error
    process.counts().dispatch_ended(hosts, took_s=time.monotonic() - began)
    return hosts


def unread(queues: Sequence[str], most: int) -> Mapping[str, int]:
    """The number of messages in each queue. It keeps the janitors' queue as short as the others."""
    with app.producer_pool.acquire(block=True) as producer:
        return celery_redis.unread(producer.connection, [*queues, MAINTENANCE], most)


def offer(offers: Sequence[Offer]) -> None:
    """Ring the hosts' queues, on Redis in one round trip."""
    with app.producer_pool.acquire(block=True) as producer:
        try:
            with producer.batch():
                _ring(producer, offers)
        except producer.connection.connection_errors:  # may have been stale; a batch is not retried
            _ring(producer, offers)


def _ring(producer: Producer, offers: Sequence[Offer]) -> None:
    """Send one message. Flower shows a person the arguments that we give for display."""
    settings = current()
    options = expiring(settings.broker_url, settings.offer_s)
    for offered in offers:
        app.send_task(
            "tiptoe.visit",
            args=(offered.host_id, str(offered.token)),
            queue=offered.queue,
            argsrepr=f"({offered.name})",
            kwargsrepr="{}",
            producer=producer,
            **options,
        )
