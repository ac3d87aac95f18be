"""Per-process resources, made after the fork and on first use: engine, sender, caches.

Made under a lock: the threads of a worker ask for them all at once, and `lru_cache` alone would make one for each.
"""

import os
import socket
import threading
from functools import lru_cache

from celery import signals
from sqlalchemy import Engine

from app.config import current
from app.crawl.gathering import Gatherer, Gathering
from app.crawl.kit import Kit, make_engine, make_kit, make_sender
from app.crawl.parking import Parking
from app.crawl.stay import Stay

PARKED_PER_THREAD = 8  # each takes 50 to 500 KiB, by its pages' links; where there is no room a host is given back
_making = threading.RLock()
_is_told = False


def engine() -> Engine:
    with _making:
        return _engine()


def kit() -> Kit:
    with _making:
        return _kit()


@lru_cache(maxsize=1)
def _engine() -> Engine:
    return make_engine(current())


@lru_cache(maxsize=1)
def _kit() -> Kit:
    settings = current()
    sender = make_sender(settings)
    worker = f"{socket.gethostname()}:{os.getpid()}"
    parking = Parking(_resume, most=settings.concurrency * PARKED_PER_THREAD, threads=settings.concurrency)
    return make_kit(
        settings,
        engine=engine(),
        send=sender.send,
        where=sender.where,
        worker=worker,
        parking=parking,
        gatherer=Gatherer(parking),
        draws=make_engine(settings, pool_size=1),
    )


def _resume(parked: Stay | Gathering[Stay]) -> None:
    from workers import visit  # it needs this module

    if isinstance(parked, Gathering):
        visit.settle(parked.close())
    else:
        visit.resume(parked)


@signals.worker_shutting_down.connect
def _stop(**_: object) -> None:
    """Visits settle what they have and leave: a warm shutdown takes one request, not a whole visit.

    Sent by the handler of a signal. Another signal may interrupt that, and would wait for ever for a lock that it holds.
    """
    global _is_told
    if not _is_told:
        _is_told = True
        kit().stop()


@signals.worker_shutdown.connect
@signals.worker_process_shutdown.connect
def _stopped(**_: object) -> None:
    """Celery has waited for its own threads; those of visits that were parked are ours."""
    kit().stop()
    kit().join()
