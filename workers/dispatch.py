"""`tiptoe.dispatch`: claim due hosts, one `tiptoe.visit` message for each on its own queue."""

import random
import time
from collections.abc import Mapping, Sequence

from celery import Celery
from kombu import Producer

from app import celery_redis
from app.beat import claim
from app.celery import MAINTENANCE, app, expiring
from app.config import Settings, current
from app.errors import ServiceError
from app.store.host_rows import Offer
from workers import process

_rng = random.Random()
_marks = claim.ScanWindow()


@app.task(name="tiptoe.dispatch", send_events=False)
def dispatch() -> int:
    """Offer the hosts that are due. Returns how many."""
    began = time.monotonic()
    doorbells = Doorbells(app, current())
    try:
        hosts = claim.dispatch(process.engine(), current(), doorbells.offer, _rng, _marks, doorbells.unread)
    except OSError as error:  # kombu's: no file descriptor is left
        raise ServiceError("the broker", error.strerror or str(error)) from error
    process.counts().dispatch_ended(hosts, took_s=time.monotonic() - began)
    return hosts


class Doorbells:
    """Hosts' queues on the broker of an app: one message for each offer."""

    def __init__(self, app: Celery, settings: Settings) -> None:
        self._app, self._settings = app, settings

    def unread(self, queues: Sequence[str], most: int) -> Mapping[str, int]:
        """The number of messages in each queue. It keeps the janitors' queue as short as the others."""
        with self._app.producer_pool.acquire(block=True) as producer:
            return celery_redis.unread(producer.connection, [*queues, MAINTENANCE], most)

    def offer(self, offers: Sequence[Offer]) -> None:
        """Ring the hosts' queues, on Redis in one round trip."""
        with self._app.producer_pool.acquire(block=True) as producer:
            try:
                with producer.batch():
                    self._ring(producer, offers)
            except producer.connection.connection_errors:  # may have been stale; a batch is not retried
                self._ring(producer, offers)

    def _ring(self, producer: Producer, offers: Sequence[Offer]) -> None:
        """Send one message each. Flower shows a person the arguments that we give for display."""
        options = expiring(self._settings.broker_url, self._settings.offer_s)
        for offered in offers:
            self._app.send_task(
                "tiptoe.visit",
                args=(offered.host_id, str(offered.token)),
                queue=offered.queue,
                argsrepr=f"({offered.name})",
                kwargsrepr="{}",
                producer=producer,
                **options,
            )
