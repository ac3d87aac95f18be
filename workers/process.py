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
from app.crawl.kit import Kit, make_engine, make_kit, make_sender

_making = threading.RLock()


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
    return make_kit(settings, engine=engine(), send=sender.send, where=sender.where, worker=worker)


@signals.worker_shutting_down.connect
def _stop(**_: object) -> None:
    """Visits settle what they have and leave: a warm shutdown takes one request, not a whole visit."""
    kit().stopping.set()
