"""Runs the dispatcher when a visit ends, so that hosts do not wait for beat, and a fleet works without it.

The hosts of the last visits are not due yet when they end. So an idle process rings again, ever less often, for half a
minute; then it leaves the work to beat. It stops at a failure: a process that cannot send must claim nothing.

A thread of its own dispatches: a broker that does not answer holds it for a minute, and no visit, nor the process's
end.
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


@lru_cache(maxsize=1)
def bell() -> Bell:
    """The process's bell, whose thread has begun."""
    return Bell(dispatch.run, _is_idle, tick_s=current().dispatch_tick_s).start()


def _is_idle() -> bool:
    worker = process.worker()
    is_parked = worker.stays.parking is not None and len(worker.stays.parking) > 0
    return not (worker.stopping.is_set() or watchdog.progress.visits or is_parked)
