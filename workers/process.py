"""Per-process resources, made after the fork and on first use: engine, sender, caches.

Made under a lock: a worker's threads request them all at once, and `lru_cache` alone would make one for each.
"""

import os
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from celery import signals
from celery.worker.control import inspect_command
from sqlalchemy import Engine

from app.config import current
from app.crawl.state.setup import make_engine, make_kit, make_sender
from app.crawl.state.visit import Stay
from app.crawl.state.worker import Kit
from app.runtime.delay_queue import DelayQueue
from app.runtime.group_commit import CommitGroup, GroupCommit

PARKED_PER_THREAD = 8  # each takes 50 to 500 KiB, by its pages' links; where there is no room a host is returned
Parked = Stay | CommitGroup[Stay]
_making = threading.RLock()
_act: Callable[[Parked], None] | None = None
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
    parking = DelayQueue(_resume, most=settings.concurrency * PARKED_PER_THREAD, threads=settings.concurrency)
    return make_kit(
        settings,
        engine=engine(),
        send=sender.send,
        where=sender.where,
        worker=worker,
        parking=parking,
        gatherer=GroupCommit(parking),
        draws=make_engine(settings, pool_size=1),
    )


@inspect_command()
def known_keys(state: Any) -> dict[str, int | float]:
    """How full this process's known keys are, and how often its Bloom filter erred. state: Celery's."""
    return asdict(kit().known.load())


def resume_with(act: Callable[[Parked], None]) -> None:
    """Set the function that resumes a parked visit, or a gathering of them. Call it before the first visit."""
    global _act
    _act = act


def _resume(parked: Parked) -> None:
    assert _act is not None, "workers.visit was not imported"
    _act(parked)


@signals.worker_shutting_down.connect
def _stop(**_: object) -> None:
    """Make visits settle their batches and leave: a warm shutdown takes one request, not a whole visit.

    A signal's handler sends it, and takes no lock: another signal may interrupt that, and would wait for the lock for
    ever.
    """
    global _is_told
    if not _is_told:
        _is_told = True
        kit().stop()


@signals.worker_shutdown.connect
@signals.worker_process_shutdown.connect
def _stopped(**_: object) -> None:
    """Wait for the threads of parked visits, which are ours; Celery has waited for its own."""
    kit().stop()
    kit().join()
