"""Per-process resources, made after the fork and on first use: engine, sender, caches."""

import os
import socket
from functools import lru_cache

from celery import signals
from sqlalchemy import Engine

from app.config import current
from app.crawl.kit import Kit, make_engine, make_kit, make_sender


@lru_cache(maxsize=1)
def engine() -> Engine:
    return make_engine(current())


@lru_cache(maxsize=1)
def kit() -> Kit:
    settings = current()
    return make_kit(
        settings, engine=engine(), send=make_sender(settings).send, worker=f"{socket.gethostname()}:{os.getpid()}"
    )


@signals.worker_shutting_down.connect
def _stop(**_: object) -> None:
    """Visits settle what they have and leave: a warm shutdown takes one request, not a whole visit."""
    kit().stopping.set()
