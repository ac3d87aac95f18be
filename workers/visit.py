"""`tiptoe.visit`: one visit to one host, under the lease that the token names.

When a visit ends, the dispatcher runs, so that hosts do not wait for beat, and a fleet works without it. The hosts of
the last visits are not due yet when they end. So an idle process rings again, ever less often, for half a minute; then
it leaves the work to beat. It stops at a failure: a process that cannot send must claim nothing.

A thread of its own dispatches: a broker that does not answer holds it for a minute, and no visit, nor the process's
end.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog
from kombu.exceptions import OperationalError

from app.celery import app
from app.config import current
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, VisitReport, go_on, return_host, settle_alone, settle_together
from app.crawl.visit.visit import visit as visit_host
from app.errors import ServiceError
from app.model import VisitEnding
from app.runtime.group_commit import CommitGroup
from app.single import Single
from app.store import db
from workers import process, watchdog
from workers.dispatch import dispatch

_log = structlog.get_logger()
_asking = threading.Lock()
AGAIN_S = 0.5
MOST_S = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """Acts on a visit: it is begun, gone on with, settled with others, or alone."""

    begin: Callable[[Worker, int, UUID], VisitReport] = visit_host
    go_on: Callable[[Visit], VisitReport] = go_on
    settle_together: Callable[[Sequence[Visit]], Sequence[tuple[Visit, Callable[[], VisitReport]]]] = settle_together
    settle_alone: Callable[[Visit], VisitReport] = settle_alone


ACTS = Acts()


@app.task(name="tiptoe.visit")
def visit(host_id: int, token: str) -> str | None:
    """Run a visit until it ends or is parked. Returns how it ended, or "parked".

    A service out of reach ends it: the host is returned when Postgres is back, or the lease expires."""
    return begin(host_id, token)


def begin(host_id: int, token: str, acts: Acts = ACTS) -> str | None:
    worker = process.worker()
    if not process.intake().wait():
        _log.debug("visit.not_begun", host_id=host_id)
        return None
    return _attend(worker, host_id, lambda: acts.begin(worker, host_id, UUID(token)))


def resume(parked: process.Parked, acts: Acts = ACTS) -> None:
    """Resume a parked visit, or settle gathered batches, when they are due. Never raises."""
    if isinstance(parked, CommitGroup):
        _settle(parked.close(), acts)
    else:
        _attend_parked(parked, lambda: acts.go_on(parked))


process.resume_with(resume)


def _settle(visits: Sequence[Visit], acts: Acts) -> None:
    """Settle gathered batches, then continue each visit.

    Never raises: after a failure each batch is settled by itself.
    """
    worker = visits[0].worker
    try:
        with watchdog.visiting(visits[0].host_id), worker.stays.seats.taken():
            then = acts.settle_together(visits)
    except ServiceError as error:
        _log.error("settle.failed", hosts=len(visits), error=str(error))
        wait_for_services(worker)
        then = [(visit, partial(acts.settle_alone, visit)) for visit in visits]
    except Exception:  # noqa: BLE001  # one of them is at fault, most likely
        _log.exception("settle.crashed", hosts=[visit.lease.host for visit in visits])
        then = [(visit, partial(acts.settle_alone, visit)) for visit in visits]
    for visit, act in then:
        _attend_parked(visit, act)


def _attend_parked(visit: Visit, act: Callable[[], VisitReport]) -> None:
    """Attend to a parked visit. After a failure the thread serves the next one, and this one's lease expires."""
    try:
        _attend(visit.worker, visit.host_id, act)
    except Exception:  # noqa: BLE001  # no caller could handle it
        _log.exception("visit.abandoned", host_id=visit.host_id)


def _attend(worker: Worker, host_id: int, act: Callable[[], VisitReport]) -> str | None:
    is_parked = False
    try:
        with watchdog.visiting(host_id), worker.stays.seats.taken():
            report = act()
        is_parked = report.ending is VisitEnding.PARKED
        if report.host is not None and report.ending is not VisitEnding.PARKED and not worker.stopping.is_set():
            bell().ring()
    except ServiceError as error:
        _log.error("visit.failed", host_id=host_id, error=str(error))
        wait_for_services(worker)
        return _return_host(error.visit) if isinstance(error, CutOff) else None
    except Exception:
        _log.exception("visit.crashed", host_id=host_id)
        raise
    finally:
        if not is_parked:
            process.intake().ended()
    return report.ending.value


def _return_host(visit: Visit) -> str | None:
    try:
        with watchdog.visiting(visit.host_id):
            return return_host(visit).ending.value
    except ServiceError as error:
        _log.error("visit.lost", host_id=visit.host_id, error=str(error))
        return None


def wait_for_services(worker: Worker) -> None:
    """Hold this thread until Postgres answers and the archive can be written, or the worker stops. Never raises.

    A single worker that cannot reach it would fail faster than the others work, and so take every message from them in
    vain. One thread tries, the others wait for it. A bug in the question ends the wait: what needs the service then
    finds out for itself."""
    with _asking:
        while not worker.stopping.is_set():
            try:
                db.check(worker.engine)
                worker.hooks.check(worker=worker)
                break
            except ServiceError:
                watchdog.progress.moved = time.monotonic()
                worker.stopping.wait(AGAIN_S)
            except Exception:  # noqa: BLE001  # the thread has other visits to attend to
                _log.exception("services.not_asked")
                worker.stopping.wait(AGAIN_S)
                break


class Bell:
    """Dispatches in a thread of its own, which the first visit that ends starts.

    act      dispatches; a failure ends its ringing until the next visit ends
    is_idle  whether the process has nothing under way
    ended    is set when a visit has ended
    """

    def __init__(
        self,
        act: Callable[[], object],
        is_idle: Callable[[], bool],
        *,
        tick_s: float,
        ended: threading.Event | None = None,
    ) -> None:
        self._act, self._is_idle, self._tick_s = act, is_idle, tick_s
        self._ended = ended or threading.Event()

    def start(self) -> "Bell":
        threading.Thread(target=self.listen, name="bell", daemon=True).start()
        return self

    def ring(self) -> None:
        """A visit has ended: dispatch, at most once a tick. Never raises, and waits for nothing."""
        self._ended.set()

    def listen(self) -> None:
        """Dispatch when a visit has ended, and again while the process is idle. Ends when `ended` says none will."""
        rung_at = float("-inf")
        while self._ended.wait():
            self._ended.clear()
            now = time.monotonic()
            if now - rung_at >= self._tick_s:
                rung_at = now
                if not self._dispatched():
                    continue
            self.ring_again()

    def ring_again(self) -> None:
        """Dispatch again and again until a visit ends or begins, and no longer than MOST_S in a row."""
        wait_s = self._tick_s
        while wait_s <= MOST_S and not self._ended.wait(wait_s) and self._is_idle():
            if not self._dispatched():
                return
            wait_s *= 2

    def _dispatched(self) -> bool:
        """Dispatch. False: it failed."""
        try:
            self._act()
        except (ServiceError, OperationalError) as error:
            _log.warning("bell.failed", error=str(error))
            return False
        except Exception:  # noqa: BLE001  # the thread has other visits' ends to wait for
            _log.exception("bell.crashed")
            return False
        return True


@Single
def bell() -> Bell:
    """The process's bell, whose thread has begun."""
    return Bell(dispatch.run, _is_idle, tick_s=current().dispatch_tick_s).start()


def _is_idle() -> bool:
    worker = process.worker()
    return not (worker.stopping.is_set() or watchdog.progress.visits or process.parked())
