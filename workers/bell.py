"""Runs the dispatcher when a visit ends, so that hosts do not wait for beat, and a fleet works without it.

The hosts of the last visits are not due yet when they end. So an idle process rings again, ever less often, for half a
minute; then it leaves the work to beat. It stops at a failure: a process that cannot send must claim nothing.
"""

import threading
import time
from collections.abc import Callable
from functools import lru_cache

import structlog
from kombu.exceptions import OperationalError

from app.config import current
from app.errors import ServiceError
from workers import process, watchdog
from workers.dispatch import dispatch

MOST_S = 16.0
_log = structlog.get_logger()
_ring = threading.Lock()
_rung_at = 0.0


def ring() -> None:
    """Dispatch, at most once a tick. Raises ServiceError, OperationalError."""
    global _rung_at
    with _ring:
        now = time.monotonic()
        is_early = now - _rung_at < current().dispatch_tick_s
        if not is_early:
            _rung_at = now
        ended = _ended()
    if not is_early:
        dispatch.run()
    ended.set()


def ring_again(ended: threading.Event, is_idle: Callable[[], bool], *, first_s: float) -> None:
    """Dispatch again and again until a visit ends or begins, and no longer than MOST_S in a row."""
    wait_s = first_s
    while wait_s <= MOST_S and not ended.wait(wait_s) and is_idle():
        try:
            dispatch.run()
        except (ServiceError, OperationalError) as error:
            _log.warning("bell.failed", error=str(error))
            return
        wait_s *= 2


@lru_cache(maxsize=1)
def _ended() -> threading.Event:
    """An event that is set when a visit has ended. The first visit makes it, and the thread that waits for it."""
    ended = threading.Event()

    def listen() -> None:
        while ended.wait():
            ended.clear()
            ring_again(ended, _is_idle, first_s=current().dispatch_tick_s)

    threading.Thread(target=listen, name="bell", daemon=True).start()
    return ended


def _is_idle() -> bool:
    worker = process.worker()
    is_parked = worker.parking is not None and len(worker.parking) > 0
    return not (worker.stopping.is_set() or watchdog.progress.visits or is_parked)
