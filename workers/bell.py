"""A visit that has ended rings the dispatcher: hosts do not wait for beat, and a fleet does not stand still without it.

The hosts of the last visits are not due yet when they end. So where nothing is under way any more the process rings again, ever
more seldom, for half a minute; then it leaves it to beat. It gives up where it fails: who cannot send must claim nothing.
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
    """At most once a tick. Raises ServiceError, OperationalError."""
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
    """Until a visit ends or begins, and no longer than MOST_S in a row."""
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
    """Set when a visit has ended. Made with the thread that waits for it, by the first."""
    ended = threading.Event()

    def listen() -> None:
        while ended.wait():
            ended.clear()
            ring_again(ended, _is_idle, first_s=current().dispatch_tick_s)

    threading.Thread(target=listen, name="bell", daemon=True).start()
    return ended


def _is_idle() -> bool:
    kit = process.kit()
    is_parked = kit.parking is not None and len(kit.parking) > 0
    return not (kit.stopping.is_set() or watchdog.progress.visits or is_parked)
