"""A worker or beat that lives but makes no progress while work is due ends itself; its supervisor starts another (SPEC E5).

Celery's consumer may stop consuming after its broker came back (celery#8030, #10205, up to 5.6.3), beat's loop may hang, and
a thread that hangs in a parser cannot be killed. None of them answers badly: they answer and do nothing. So liveness is
progress, told from Postgres: offers of our queues that nobody takes up though they are made again and again, and visits that
outlive every lease they can have. A process that is merely idle, or whose Postgres or broker is away, is left alone: another
one would fare no better.

One that is told to end, and that its broker does not let end, ends itself too.

A thread that never lets go of the interpreter's lock (a regular expression that backtracks for ever) would stop the watchdog too.
So C code that needs no lock ends a process in which no thread of Python's had its turn for as long as a stall may take.
"""

import faulthandler
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog
from celery import signals
from sqlalchemy import Engine

from app.celery import app
from app.config import Settings, current
from app.errors import ServiceError
from app.store import db, hosts, offers
from app.words import counted
from workers import process

_log = structlog.get_logger()
MISSES = 3
EXIT_CODE = 70  # sysexits.h: EX_SOFTWARE
GRACE_S = 10.0
LOOK_S = 0.1
STDERR = 2  # Celery puts an object without a descriptor in place of sys.stderr


@dataclass(slots=True)
class Progress:
    """What this process is at. moved: monotonic second of its last step; visits: by thread, host and monotonic start."""

    moved: float = field(default_factory=time.monotonic)
    visits: dict[int, tuple[int, float]] = field(default_factory=dict)


progress = Progress()
_is_ending = False


@contextmanager
def visiting(host_id: int) -> Iterator[None]:
    """Around a visit: beginning and ending one is progress."""
    me = threading.get_ident()
    progress.moved = time.monotonic()
    progress.visits[me] = (host_id, progress.moved)
    try:
        yield
    finally:
        del progress.visits[me]
        progress.moved = time.monotonic()


def hung_visit(state: Progress, settings: Settings, now: float) -> int | None:
    """The host of a visit that is older than any visit can be: it stays, asks once more, settles, and its lease is over."""
    longest_s = settings.visit_max_s + settings.request_deadline_s + settings.lease_s + GRACE_S
    return next((host_id for host_id, started in list(state.visits.values()) if now - started > longest_s), None)


def stalled_queues(engine: Engine, queues: Sequence[str], state: Progress, settings: Settings, now: float) -> int:
    """How many hosts wait for us while we do nothing; 0 as long as there is progress. Raises ServiceError.

    RabbitMQ does not tell a consumer whether it is the active one: it is left alone while another serves its queue.
    """
    if now - state.moved < settings.stall_s:
        return 0
    with db.transaction(engine) as tx:
        if settings.single_active_consumer:
            served = offers.served(tx, offer_s=settings.offer_s)
            queues = [queue for queue in queues if queue not in served]
        return hosts.missed(tx, queues, MISSES)


def why_end(
    engine: Engine, queues: Sequence[str], state: Progress, settings: Settings, broker: Callable[[], bool]
) -> str | None:
    """The reason why this worker is to end, None to go on.

    The time to make progress in begins when the broker is back: until then none can be made, and coming back takes some.
    """
    now = time.monotonic()
    host_id = hung_visit(state, settings, now)
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
    """A connection of its own: the consumer's may be the one that is stuck."""
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
    except Exception as error:  # noqa: BLE001  # of whatever transport: away is all we need to know
        _log.warning("watchdog.no_broker", error=str(error))
        return False
    return True


def _watch(why: Callable[[], str | None], every_s: float) -> None:
    """Look again and again, and end the process when there is a reason. `os._exit`: a thread that hangs holds any other way."""
    while True:
        time.sleep(every_s)
        reason = why()
        if reason is not None:
            _log.error("watchdog.ends", reason=reason)
            os._exit(EXIT_CODE)


def keep_pulse(frozen_s: float) -> None:
    """From now on the process ends with code 1, and tells where each thread was, when it stands still for so long."""

    def beat() -> None:
        while True:
            faulthandler.dump_traceback_later(frozen_s, exit=True, file=STDERR)
            time.sleep(frozen_s / 4)

    threading.Thread(target=beat, name="pulse", daemon=True).start()


def _start(why: Callable[[], str | None], settings: Settings) -> None:
    if settings.stall_s:
        keep_pulse(settings.stall_s)
        every_s = max(settings.stall_s / 6, 0.5)
        threading.Thread(target=_watch, args=(why, every_s), name="watchdog", daemon=True).start()


@signals.worker_ready.connect
def _watch_worker(sender: Any, **_: object) -> None:
    """sender: the consumer, which knows the queues it was told to serve."""
    settings = current()
    queues = [queue.name for queue in sender.task_consumer.queues]
    progress.moved = time.monotonic()
    _start(lambda: why_end(process.engine(), queues, progress, settings, broker_answers), settings)


@signals.worker_shutting_down.connect
def _end_in_time(**_: object) -> None:
    """Once, as in `workers.process`."""
    global _is_ending
    if not _is_ending:
        _is_ending = True
        threading.Thread(target=_end_when_left, name="ending", daemon=True).start()


def _end_when_left() -> None:
    """Told to end, a worker whose broker is silent waits for its answers, one after the other, for as long as it is. Once the
    visits have left nobody needs it. `workers.process` heard the same signal first, and has told them to leave."""
    process.kit().join()
    while progress.visits:
        time.sleep(LOOK_S)
    time.sleep(GRACE_S)
    _log.warning("watchdog.ends", reason=f"its visits left {GRACE_S:g} s ago, and its broker holds it up")
    os._exit(0)


@signals.beat_init.connect
def _watch_beat(sender: Any, **_: object) -> None:
    """sender: the beat service; its loop must come round."""
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
