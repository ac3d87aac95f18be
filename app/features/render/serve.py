"""Serves the queue `render`: threads that take turns while a page is due, and a word on whether they can.

There are no messages: rows say what is due, and a look a second finds them. Where no browser passes its check, the row
in `render_workers` says why and what helps; it is looked for again each minute. Pages wait meanwhile; no crawl does.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version

import structlog

from app.browser.values import BrowserProblem, Chromium
from app.config import Settings
from app.crawl.state.worker import Worker
from app.errors import LeaseLost, ServiceError
from app.features.render.turn import Renders, RenderTurns, TurnEnding
from app.policy import identity
from app.store import db, renders

LOOK_S = 1.0
SEEN_S = 10.0
THREADS_MOST = 2  # browsers hold some hundreds of MB each
_log = structlog.get_logger()


class RenderService:
    """The threads of one process. Start it once; stop and join it at the end.

    check  finds a browser that works here, or says what is lacking
    pool   makes browsers of it, to be closed at the end
    """

    def __init__(
        self,
        worker: Worker,
        *,
        check: Callable[[], Chromium | BrowserProblem],
        pool: Callable[[Chromium], Renders],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        # A turn waits in its own thread: it holds a browser, too.
        self._worker = replace(worker, stays=replace(worker.stays, parking=None, gatherer=None))
        self._check, self._pool, self._close = check, pool, close
        self._threads: list[threading.Thread] = []
        self._turns: RenderTurns | None = None
        self._browser: str | None = None
        self._problem: BrowserProblem | None = None

    def start(self) -> None:
        for act in (self._tell, self._begin):
            self._run(act)

    def join(self) -> None:
        """Wait until the turns that are under way have ended. The worker's `stopping` is set."""
        for thread in list(self._threads):
            thread.join()
        self._close()
        try:
            with db.transaction(self._worker.engine) as tx:
                renders.gone(tx, self._worker.name)
        except ServiceError as error:
            _log.warning("render.not_signed_off", error=str(error))

    def _run(self, act: Callable[[], None]) -> None:
        thread = threading.Thread(target=act, name=f"render-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _begin(self) -> None:
        """Find a browser, then serve: the check is repeated until there is one."""
        stopping = self._worker.stopping
        while not stopping.is_set():
            found = self._checked()
            if isinstance(found, Chromium):
                self._problem, self._browser = None, found.version
                self._turns = RenderTurns(
                    worker=self._worker, browsers=self._pool(found), user_agent=user_agent(self._worker.settings)
                )
                self._say()
                _log.info("render.serves", browser=found.version)
                for _ in range(THREADS_MOST - 1):
                    self._run(self._serve)
                self._serve()
                return
            self._problem = found
            self._say()
            _log.error("render.no_browser", problem=found.line)
            stopping.wait(60.0)

    def _checked(self) -> Chromium | BrowserProblem:
        """A check that fails is a problem as any other: without a word of it, crawls would wait for this worker."""
        try:
            return self._check()
        except Exception as error:  # noqa: BLE001  # no caller could handle it, and the check is repeated
            _log.exception("render.crashed")
            return BrowserProblem(f"the check of the browser failed: {error}", "see the log, and tiptoe doctor")

    def _serve(self) -> None:
        """Take turns. A failure is one line of the log, and the row comes back by itself."""
        turns, stopping = self._turns, self._worker.stopping
        assert turns is not None, "threads begin after the check"
        while not stopping.is_set():
            try:
                if turns.run() is TurnEnding.NOTHING:
                    stopping.wait(LOOK_S)
            except (ServiceError, LeaseLost) as error:
                _log.error("render.failed", error=str(error))
                stopping.wait(LOOK_S)
            except Exception:  # noqa: BLE001  # no caller could handle it, and the thread serves the next page
                _log.exception("render.crashed")
                stopping.wait(LOOK_S)

    def _tell(self) -> None:
        """Say now and then that this worker is there, and whether it has a browser."""
        while not self._worker.stopping.wait(SEEN_S):
            self._say()

    def _say(self) -> None:
        problem = self._turns.problem if self._turns is not None else self._problem
        try:
            with db.transaction(self._worker.engine) as tx:
                renders.seen(
                    tx, name=self._worker.name, browser=self._browser, problem=problem.line if problem else None
                )
        except ServiceError as error:
            _log.warning("render.not_told", error=str(error))


def user_agent(settings: Settings) -> str:
    """The User-Agent of our requests, which scripts in the browser see too."""
    return identity.user_agent(
        token=settings.product_token,
        version=version("tiptoe"),
        contact=settings.contact,
        info_url=settings.info_url,
    )
