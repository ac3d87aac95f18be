"""Decides whether the embedded stack needs a worker that renders: a browser is here, and a page waits for one.

A browser is looked for beside the start of the stack. Where there is one, crawls are told at once, so that one whose
last pages are shells does not end before the worker is up.
"""

import threading

import structlog
from sqlalchemy import Engine

from app.admin.browser_check import announce, here
from app.browser.values import BrowserProblem, Chromium
from app.config import Settings
from app.errors import ServiceError
from app.store import db, renders

LOOK_S = 1.0
TELL_S = 20.0
_log = structlog.get_logger()


class RenderDemand:
    """A thread that looks. `is_wanted`: start the worker.   problem: why there is no browser; None: there is one"""

    def __init__(self, settings: Settings, database_url: str) -> None:
        self._settings, self._database_url = settings, database_url
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, name="render-demand", daemon=True)
        self.is_wanted = False
        self.problem: BrowserProblem | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _look(self) -> None:
        found = here(self._settings)
        if isinstance(found, BrowserProblem):
            self.problem = found
            _log.info("render.no_browser", problem=found.line)
        engine = db.connect(self._database_url, pool_size=1)
        try:
            self._until_wanted(engine, found)
        finally:
            engine.dispose()

    def _until_wanted(self, engine: Engine, found: Chromium | BrowserProblem) -> None:
        """Announce the worker, until a page wants it: then it speaks for itself, or is gone after a minute.

        Without a browser there is none to come, and why is announced for those who ask what pages wait for.
        """
        is_here = isinstance(found, Chromium)
        told_s = TELL_S
        while not self.is_wanted and not self._stopping.is_set():
            try:
                with db.transaction(engine) as tx:
                    if told_s >= TELL_S:
                        announce(tx, found)
                        told_s = 0.0
                    self.is_wanted = is_here and renders.waiting(tx)
            except ServiceError as error:
                _log.warning("render.not_asked", error=str(error))
            told_s += LOOK_S
            if not self.is_wanted:
                self._stopping.wait(LOOK_S)
