"""Runs the dispatcher when a visit ends, so that hosts do not wait for beat, and a fleet works without it.

The hosts of the last visits are not due yet when they end. So an idle process rings again, ever less often, for half a
minute; then it leaves the work to beat. It stops at a failure: a process that cannot send must claim nothing.

A thread of its own dispatches: a broker that does not answer holds it for a minute, and no visit, nor the process's
end.
"""

import threading
import time
from collections.abc import Callable
from functools import lru_cache, partial

import structlog
from kombu.exceptions import OperationalError

from app.config import current
from app.errors import ServiceError
from workers import process, watchdog
from workers.dispatch import dispatch

MOST_S = 16.0
_log = structlog.get_logger()


def ring() -> None:
    """A visit has ended: dispatch, at most once a tick. Never raises, and waits for nothing."""
    _ended().set()


def listen(ended: threading.Event, is_idle: Callable[[], bool], *, tick_s: float) -> None:
    """Dispatch when a visit has ended, and again while the process is idle. Ends when `ended` says that none will."""
    rung_at = float("-inf")
    while ended.wait():
        ended.clear()
        now = time.monotonic()
        if now - rung_at >= tick_s:
            rung_at = now
            if not _dispatched():
                continue
        ring_again(ended, is_idle, first_s=tick_s)


def ring_again(ended: threading.Event, is_idle: Callable[[], bool], *, first_s: float) -> None:
    """Dispatch again and again until a visit ends or begins, and no longer than MOST_S in a row."""
    wait_s = first_s
    while wait_s <= MOST_S and not ended.wait(wait_s) and is_idle():
        if not _dispatched():
            return
        wait_s *= 2


def _dispatched() -> bool:
    """Dispatch. False: it failed."""
    try:
        dispatch.run()
    except (ServiceError, OperationalError) as error:
        _log.warning("bell.failed", error=str(error))
        return False
    except Exception:  # noqa: BLE001  # the thread has other visits' ends to wait for
        _log.exception("bell.crashed")
        return False
    return True


@lru_cache(maxsize=1)
def _ended() -> threading.Event:
    """An event that is set when a visit has ended. The first visit makes it, and the thread that waits for it."""
    ended = threading.Event()
    act = partial(listen, ended, _is_idle, tick_s=current().dispatch_tick_s)
    threading.Thread(target=act, name="bell", daemon=True).start()
    return ended


def _is_idle() -> bool:
    worker = process.worker()
    is_parked = worker.stays.parking is not None and len(worker.stays.parking) > 0
    return not (worker.stopping.is_set() or watchdog.progress.visits or is_parked)
