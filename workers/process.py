"""Per-process resources, made after the fork and on first use: engine, sender, caches."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import structlog
from celery import signals
from celery.worker.control import inspect_command
from sqlalchemy import Engine

from app import plugins
from app.celery import RENDER
from app.config import current
from app.crawl.state.lease import Lease
from app.crawl.state.setup import VISITS_PER_THREAD, make_engine, make_sender, make_worker
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import OtherSchema, ServiceError
from app.hooks import Opening
from app.metrics.counts import Counts
from app.runtime.delay_queue import DelayQueue
from app.runtime.group_commit import CommitGroup, GroupCommit
from app.runtime.intake import Intake, Places
from app.runtime.process_name import process_name
from app.runtime.seats import SEATS
from app.single import Single
from app.store import db, migrate

if TYPE_CHECKING:
    from app.metrics.serve import Served

FIRST_LEAST = 32  # visits in hand at first, at the least; else one a thread
THREADS_PER_LEAST = 4  # at the least: where a page takes 50 ms, a process keeps up with 20 hosts, not with 64
WAITS = 0.8  # of its length an offer waits, less its way here: one that lapses is lost to others until it is over
RESUMERS_PER_THREAD = 2  # a page of a far host waits 0.25 s for its answer: 64 of them serve 240 pages a second
SEATS_A_PAGE = 4  # resumed, answered, its batch resumed and synced: a page is late by the waits for all of them
_log = structlog.get_logger()
Parked = Visit | CommitGroup[Visit]
_act: Callable[[Parked], None] | None = None
_served: "Served | None" = None
_writing: list[Callable[[], None]] = []  # that wait for threads which may still write to the archive


def join_before_the_archive_closes(join: Callable[[], None]) -> None:
    """Have threads waited for at the end of this process, so that what they have in hand is in a closed segment."""
    _writing.append(join)


def leases() -> Mapping[int, Lease]:
    """The leases of the visits in hand, by host; none before the first visit."""
    return worker().stays.leases if worker.is_made else {}


def parked() -> int:
    """Visits, and gatherings of them, that wait; none before the first visit."""
    parking = worker().stays.parking if worker.is_made else None
    return len(parking) if parking is not None else 0


@Single
def counts() -> Counts:
    """The counts of this process."""
    return Counts()


def serve_metrics(role: str) -> None:
    """Serve this process's metrics if that is asked for. Call it before the engine is made: its sessions get the name
    by which `tiptoe web` finds the process.   role: one of `app.metrics.fleet.ROLES`"""
    global _served
    settings = current()
    if settings.metrics is None:
        return
    from app.metrics.serve import serve

    _served = serve(settings.metrics, role=role, counts=counts(), check_archive=_check_features, in_hand=_in_hand)
    try:
        db.check(engine())  # opens the session
    except ServiceError as error:
        _log.warning("metrics.not_listed", error=str(error))


def _check_features() -> None:
    """Raise ServiceError while a feature of this process cannot work. It is not made for the question."""
    if worker.is_made:
        worker().hooks.check(worker=worker())


def _in_hand() -> tuple[int, int]:
    """Visits in hand, and as many as there may be. It has no intake before its first visit: (0, 0)."""
    return intake().in_hand if intake.is_made else (0, 0)


@Single
def engine() -> Engine:
    """The engine of this process."""
    return make_engine(current(), session_name=_served.session_name if _served else "tiptoe")


@Single
def worker() -> Worker:
    """Make what the visits of this process share."""
    settings = current()
    sender = make_sender(settings, counts())
    name = process_name()
    parking = DelayQueue(
        _resume,
        most=settings.concurrency * VISITS_PER_THREAD,
        threads=settings.concurrency * RESUMERS_PER_THREAD,
    )
    made = make_worker(settings, engine=engine(), send=sender.send, where=sender.where, name=name)
    return replace(
        made,
        stays=replace(made.stays, parking=parking, gatherer=GroupCommit(parking)),
        starts=replace(made.starts, draws=make_engine(settings, pool_size=1)),
        resources=plugins.resources(
            Opening(settings=settings, engine=engine(), name=name, make_room=lambda: sender.close_idle(0.0))
        ),
        counts=counts(),
    )


@Single
def intake() -> Intake:
    """The intake of this process: visits begin after its `wait`."""
    settings, made = current(), worker()
    assert made.stays.parking is not None
    threads, parking, seats = settings.concurrency, made.stays.parking, made.stays.seats
    return Intake(
        lambda: max(parking.take_late_s(), SEATS_A_PAGE * seats.take_wait_s()),
        places=places(threads),
        threads=threads,
        patience_s=patience_s(settings.offer_s),
        stopping=made.stopping,
    )


def patience_s(offer_s: float) -> float:
    """How long an offer that stands for so long waits for its place here."""
    return WAITS * offer_s


def places(threads: int) -> Places:
    """How many visits a process with so many threads may have in hand; with fewer than seats one would stay empty."""
    return Places(
        first=max(threads, FIRST_LEAST),
        least=max(threads // THREADS_PER_LEAST, SEATS),
        most=threads * VISITS_PER_THREAD,
    )


@inspect_command()
def known_keys(state: Any) -> dict[str, int | float]:
    """How full this process's known keys are, and how often its Bloom filter erred. state: Celery's."""
    return asdict(worker().caches.known.load())


def resume_with(act: Callable[[Parked], None]) -> None:
    """Set the function that resumes a parked visit, or a gathering of them. Call it before the first visit."""
    global _act
    _act = act


def _resume(parked: Parked) -> None:
    assert _act is not None, "workers.visit was not imported"
    _act(parked)


@signals.celeryd_after_setup.connect
def _serve_worker(instance: Any, **_: object) -> None:
    """Serve as what it is: one with the queue `render` alone crawls nothing, and does not count as a worker."""
    serve_metrics("render" if set(instance.app.amqp.queues.consume_from) == {RENDER} else "worker")
    _check_schema()


@signals.beat_init.connect
def _serve_beat(**_: object) -> None:
    serve_metrics("beat")
    _check_schema()


def _check_schema() -> None:
    """End this process where the schema is another Tiptoe's: each of its transactions could fail half-way.

    Without a database that answers it goes on, and waits for one as it does later."""
    if current().database_url is None:
        return
    try:
        migrate.require(engine(), with_views=False)
    except OtherSchema as error:
        _log.error("schema.other", error=str(error))
        sys.exit(1)
    except ServiceError as error:
        _log.warning("schema.unknown", error=str(error))


class StopOnce:
    """Makes visits settle their batches and leave: a warm shutdown takes one request, not a whole visit.

    A signal's handler calls it, and it takes no lock: another signal may interrupt that, and would wait for the lock
    for ever.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop, self._is_told = stop, False

    def __call__(self, **_: object) -> None:
        if not self._is_told:
            self._is_told = True
            self._stop()


_stop = StopOnce(lambda: worker().stop())
signals.worker_shutting_down.connect(_stop)  # Celery refers to it weakly: it is a name of this module


@signals.worker_shutdown.connect
@signals.worker_process_shutdown.connect
def _stopped(**_: object) -> None:
    """Wait for the threads of parked visits, which are ours; Celery has waited for its own. Then close the archive."""
    if not worker.is_made:  # nothing was visited, and so there is nothing to end
        return
    worker().stop()
    worker().join()
    while _writing:
        _writing.pop()()
    worker().hooks.closed(worker=worker())
