"""Ends a worker or beat that lives but makes no progress while work is due; its supervisor starts another (promise E5).

Celery's consumer may stop consuming after its broker came back (celery#8030, #10205, up to 5.6.3), beat's loop may
hang, and a thread that hangs in a parser cannot be killed. All of them still answer, and do nothing. So liveness is
progress, read from Postgres: a stalled worker's queues have offers that are repeated and never taken up, or it has
visits that outlive every lease they can have. A process that is idle, or without Postgres or broker, is left alone:
another one would fare no better.

It also ends a process that was asked to end but is held up by its broker.

A thread that never releases the interpreter's lock (a regular expression that backtracks for ever) would stop the
watchdog too. So C code that needs no lock ends a process in which no Python thread ran for as long as a stall may take.
"""

import faulthandler
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog
from celery import signals
from sqlalchemy import Engine

from app.celery import app
from app.config import Settings, current
from app.crawl.state.lease import Lease
from app.errors import ServiceError
from app.store import db, fleet, offers
from app.store.fleet import MISSES
from app.words import counted
from workers import process

_log = structlog.get_logger()
EXIT_CODE = 70  # sysexits.h: EX_SOFTWARE
GRACE_S = 10.0
LOOK_S = 0.5
_NO_LEASES: Mapping[int, Lease] = {}
STDERR = 2  # Celery puts an object without a descriptor in place of sys.stderr


@dataclass(slots=True)
class WorkerProgress:
    """Progress of this process. moved: monotonic second of its last step; visits: by thread, host and monotonic
    start."""

    moved: float = field(default_factory=time.monotonic)
    visits: dict[int, tuple[int, float]] = field(default_factory=dict)


progress = WorkerProgress()
_is_ending = False


@contextmanager
def visiting(host_id: int) -> Iterator[None]:
    """Context around a visit: its beginning and its end are progress."""
    me = threading.get_ident()
    progress.moved = time.monotonic()
    progress.visits[me] = (host_id, progress.moved)
    try:
        yield
    finally:
        del progress.visits[me]
        progress.moved = time.monotonic()


def hung_visit(
    state: WorkerProgress, settings: Settings, now: float, leases: Mapping[int, Lease] = _NO_LEASES
) -> int | None:
    """The host of a visit that is older than any visit can be: work, one last request, settle, and the end of its
    lease. What extends its lease meanwhile is no hung visit, but a long list on a busy machine.
    """
    longest_s = settings.visit_max_s + settings.request_deadline_s + settings.lease_s + GRACE_S
    for host_id, started in list(state.visits.values()):
        if now - started > longest_s:
            lease = leases.get(host_id)
            if lease is None or lease.now() - (lease.ends - settings.lease_s) > longest_s:
                return host_id
    return None


def stalled_queues(engine: Engine, queues: Sequence[str], state: WorkerProgress, settings: Settings, now: float) -> int:
    """The number of hosts that wait for us while we do nothing; 0 as long as there is progress. Raises ServiceError.

    RabbitMQ does not report to a consumer whether it is the active one: it is left alone while another serves its
    queue.
    """
    if now - state.moved < settings.stall_s:
        return 0
    with db.transaction(engine) as tx:
        if settings.single_active_consumer:
            served = offers.served(tx, offer_s=settings.offer_s)
            queues = [queue for queue in queues if queue not in served]
        return fleet.unserved(tx, queues).missed


def why_end(
    engine: Engine,
    queues: Sequence[str],
    state: WorkerProgress,
    settings: Settings,
    broker: Callable[[], bool],
    leases: Callable[[], Mapping[int, Lease]] = dict,
) -> str | None:
    """The reason why this worker must end, None to keep running.

    The time allowed for progress begins when the broker is back: there can be none before, and reconnecting takes some.
    """
    now = time.monotonic()
    host_id = hung_visit(state, settings, now, leases())
    if host_id is not None:
        return f"the visit to host {host_id} has outlived its lease"
    if now - state.moved >= settings.stall_s / 2 and not broker():
        state.moved = now
    try:
        waiting = stalled_queues(engine, queues, state, settings, now)
    except ServiceError:
        return None
    if waiting:
        idle_s = settings.stall_s
        return (
            f"{counted(waiting, 'host of its queues was', 'hosts of its queues were')} offered {MISSES} times in vain; "
            f"it has done nothing for {idle_s:g} s"
        )
    return None


def broker_answers() -> bool:
    """Whether the broker answers, on a new connection: the consumer's may be stuck."""
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
    except Exception as error:  # noqa: BLE001  # of any transport: whether it is away is all we need
        _log.warning("watchdog.no_broker", error=str(error))
        return False
    return True


def _watch(why: Callable[[], str | None], every_s: float) -> None:
    """Check again and again, and end the process when there is a reason; once it is asked to end, see that it does.

    One thread for both: a worker that is stopping makes no progress, and need not.
    """
    checked = time.monotonic()
    while not _is_ending:
        time.sleep(LOOK_S)
        if time.monotonic() - checked >= every_s:
            checked = time.monotonic()
            if (reason := why()) is not None:
                _end(reason)
    _end_when_left()


def _end(reason: str) -> None:
    """`os._exit`: a hung thread blocks any other way."""
    _log.error("watchdog.ends", reason=reason)
    os._exit(EXIT_CODE)


def _end_when_left() -> None:
    """End a stopping worker some time after its last visit has left.

    While its broker is silent, Celery would wait for one answer after the other. `workers.process` received the signal
    first, and has made the visits leave."""
    settings, left = current(), time.monotonic()
    while (now := time.monotonic()) - left < GRACE_S:
        if progress.visits or process.parked():
            left = now
        if (host_id := hung_visit(progress, settings, now, process.leases())) is not None:
            _end(f"the visit to host {host_id} has outlived its lease")
        time.sleep(LOOK_S)
    _log.warning("watchdog.ends", reason=f"its visits left {GRACE_S:g} s ago, and its broker holds it up")
    os._exit(0)


def keep_pulse(frozen_s: float) -> None:
    """From now on, end the process with code 1 and a stack of each thread when it stands still for so long."""

    def beat() -> None:
        while True:
            faulthandler.dump_traceback_later(frozen_s, exit=True, file=STDERR)
            time.sleep(frozen_s / 4)

    threading.Thread(target=beat, name="pulse", daemon=True).start()


def _start(why: Callable[[], str | None], settings: Settings) -> None:
    """Start the watch. A setting of 0 s leaves only the end of a worker to it."""
    every_s = math.inf
    if settings.stall_s:
        keep_pulse(settings.stall_s)
        every_s = max(settings.stall_s / 6, 0.5)
    threading.Thread(target=_watch, args=(why, every_s), name="watchdog", daemon=True).start()


@signals.celeryd_after_setup.connect
def _watch_worker(instance: Any, **_: object) -> None:
    """Start the watch of a worker, before it looks for its broker: it may be stopped while there is none."""
    settings = current()
    queues = list(instance.app.amqp.queues.consume_from)
    progress.moved = time.monotonic()
    _start(lambda: why_end(process.engine(), queues, progress, settings, broker_answers, process.leases), settings)


@signals.worker_shutting_down.connect
def _stopping(**_: object) -> None:
    global _is_ending
    _is_ending = True


@signals.beat_init.connect
def _watch_beat(sender: Any, **_: object) -> None:
    """Start the watch of beat. sender: the beat service; its loop must keep turning."""
    settings = current()

    def why() -> str | None:
        away_s = time.monotonic() - sender.scheduler.turned
        if away_s < settings.stall_s or not broker_answers():
            return None
        try:
            db.check(process.engine())
        except ServiceError:
            return None
        return f"its loop has not come round for {away_s:.0f} s"

    _start(why, settings)
