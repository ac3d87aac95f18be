"""`tiptoe.dispatch`: claim due hosts, one `tiptoe.visit` message for each on its own queue."""

import random
from collections.abc import Sequence

from app.celery import app
from app.config import current
from app.crawl import claim
from app.store.hosts import Offer
from workers import process

_rng = random.Random()


@app.task(name="tiptoe.dispatch")
def dispatch() -> int:
    """Returns how many hosts were offered."""
    return claim.dispatch(process.engine(), current(), offer, _rng)


def offer(offers: Sequence[Offer]) -> None:
    """Ring the hosts' queues, over one connection. What Flower shows as arguments is for a person."""
    with app.producer_pool.acquire(block=True) as producer:
        for offered in offers:
            app.send_task(
                "tiptoe.visit",
                args=(offered.host_id, str(offered.token)),
                queue=offered.queue,
                argsrepr=f"({offered.name})",
                kwargsrepr="{}",
                producer=producer,
            )
