"""Checks whether all is there that a crawl needs, for the first page, the live stream and the probe alike."""

import threading
import time
from collections.abc import Sequence

from app.admin import webhooks
from app.admin.board.pulse import readiness
from app.admin.doctor import Check, Grade
from app.config import Settings
from app.errors import ServiceError
from app.runtime.broker import BrokerProbe
from app.store.fleet import FleetWatch, JudgedGaps
from app.words import counted

CHECKED_EVERY_S = 3.0
BROKER_S = 2.0
AT_ONCE_S = 1.0
POLITENESS = "politeness"


class Checks:
    """The checks of one process: made once in a while, however many ask."""

    def __init__(self, watch: FleetWatch, settings: Settings) -> None:
        self._watch, self._settings = watch, settings
        url = settings.broker_url
        self._broker = None if url is None else BrokerProbe(url, within_s=BROKER_S)
        self._at = float("-inf")
        self._found: Sequence[Check] = ()
        self._lock = threading.Lock()

    def __call__(self) -> Sequence[Check]:
        """The latest checks. Those that are old are made anew meanwhile: a service that hangs takes seconds."""
        if not self._found:
            self.made()
        elif time.monotonic() - self._at >= CHECKED_EVERY_S and not self._lock.locked():
            threading.Thread(target=self.made, name="checks", daemon=True).start()
        return self._found

    def made(self) -> Sequence[Check]:
        """Checks of this moment."""
        with self._lock:
            if time.monotonic() - self._at >= AT_ONCE_S:  # else another has just made them
                ready = readiness(self._watch, stall_s=self._settings.stall_s).checks
                self._found = [*ready, *self._of_broker(), *(self._of_work() if len(ready) > 1 else [])]
                self._at = time.monotonic()
            return self._found

    def _of_work(self) -> Sequence[Check]:
        """Judge the newest requests as the alert does, and subscribers. Neither is a matter of readiness."""
        try:
            judged = self._watch.judged()
            return [*self._of_politeness(judged), *webhooks.checks(self._watch.engine)]
        except ServiceError:  # it went since: the next look says so
            return []

    @staticmethod
    def _of_politeness(judged: JudgedGaps) -> Sequence[Check]:
        early = judged.gap + judged.concurrent
        if not early:
            return []
        remedy = "`tiptoe audit` names the host; pause its crawls until this is understood"
        finding = f"{counted(early, 'request')} of the last 5 minutes came too early"
        return [Check(name=POLITENESS, grade=Grade.FAIL, finding=finding, remedy=remedy)]

    def _of_broker(self) -> Sequence[Check]:
        if self._broker is None:
            return []
        if self._broker.why_not() is None:
            return [Check(name="broker", grade=Grade.OK, finding="answers")]
        remedy = "start it, or see its log: due hosts wait for it, and nothing is lost"
        return [Check(name="broker", grade=Grade.FAIL, finding="does not answer", remedy=remedy)]
