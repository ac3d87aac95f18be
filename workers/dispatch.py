"""`tiptoe.dispatch`: claim due hosts, one `tiptoe.visit` message for each on its own queue."""

import random
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
_marks = claim.Marks()


@app.task(name="tiptoe.dispatch")
def dispatch() -> int:
    """Returns how many hosts were offered."""
    try:
        return claim.dispatch(process.engine(), current(), offer, _rng, _marks, unread)
    except OSError as error:  # kombu's: no file descriptor is left
        raise ServiceError("the broker", error.strerror or str(error)) from error


def unread(queues: Sequence[str], most: int) -> Mapping[str, int]:
    """Messages that wait in each queue. The janitors' queue is kept as short as the others."""
    with app.producer_pool.acquire(block=True) as producer:
        return celery_redis.unread(producer.connection, [*queues, MAINTENANCE], most)


def offer(offers: Sequence[Offer]) -> None:
    """Ring the hosts' queues, on Redis in one round trip."""
    with app.producer_pool.acquire(block=True) as producer:
        try:
            with producer.batch():
                _ring(producer, offers)
        except producer.connection.connection_errors:  # a batch is not tried again: the connection may have been stale
            _ring(producer, offers)


def _ring(producer: Producer, offers: Sequence[Offer]) -> None:
    """What Flower shows as arguments is for a person."""
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
