"""Browsers, kept between pages: one page at a time in each, started when they are needed, and retired when worn."""

import threading
import time
from dataclasses import replace
from typing import Final

import structlog

from app.browser.page import OpenPage
from app.browser.process import BrowserProcess, NotStarted
from app.browser.values import Ask, Bounds, BrowserDeath, PlainResponse, Rendering

MOST: Final = 2
PAGES_MOST: Final = 200
AGE_S: Final = 1_800.0
LEAST_S: Final = 15.0  # that a page has, however late its browser is there
IDLE_S: Final = 60.0
IDLE_BYTES_MOST: Final = 600_000_000  # what a browser without a page may hold; a fresh one holds 150 MB
_log = structlog.get_logger()


class Browsers:
    """The pool: at most `most` browsers, none until one is needed. Threads share it.

    A page has a browser to itself: what one does to its browser, its memory or its processor, no other page feels.

    executable  path of Chromium, as `app.browser.find` found it
    pages_most, age_s, idle_s, idle_bytes_most  after so many pages or seconds, so long without one, or holding so
                much without one, a browser is replaced
    """

    def __init__(
        self,
        executable: str,
        *,
        most: int = MOST,
        pages_most: int = PAGES_MOST,
        age_s: float = AGE_S,
        idle_s: float = IDLE_S,
        idle_bytes_most: int = IDLE_BYTES_MOST,
    ) -> None:
        self._executable = executable
        self._pages_most, self._age_s = pages_most, age_s
        self._idle_s, self._idle_bytes_most = idle_s, idle_bytes_most
        self._room = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: dict[BrowserProcess, threading.Timer] = {}
        self._is_closed = False

    def render(
        self, plain: PlainResponse, ask: Ask, bounds: Bounds, *, user_agent: str, screenshot: bool = False
    ) -> Rendering | BrowserDeath:
        """Render a page; waits while all browsers are taken. Raises what `ask` raised.

        Waiting for a browser, and for its start, is of the page's time, as its host's lease lasts no longer.
        """
        until = time.monotonic() + bounds.wall_s
        with self._room:
            browser = self._from_idle()
            if browser is None:
                try:
                    browser = BrowserProcess(self._executable)
                except NotStarted as error:
                    _log.error("browser.not_started", why=str(error))
                    return BrowserDeath(cause=str(error), problem=error.problem)
            is_kept, left_s = False, max(until - time.monotonic(), min(bounds.wall_s, LEAST_S))
            try:
                found = OpenPage(browser, plain, ask, replace(bounds, wall_s=left_s), user_agent).render(screenshot)
                is_kept = not self._is_worn(browser)
                return found
            finally:
                self._keep(browser) if is_kept else browser.kill()

    def close(self) -> None:
        """End the idle browsers. A page that is open still ends by itself, and its browser with it."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, {}
        for browser, timer in idle.items():
            timer.cancel()
            browser.kill()

    def _is_worn(self, browser: BrowserProcess) -> bool:
        return (
            not browser.is_alive
            or browser.pages >= self._pages_most
            or time.monotonic() - browser.began_at >= self._age_s
            or browser.use().memory_bytes > self._idle_bytes_most
        )

    def _from_idle(self) -> BrowserProcess | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                browser, timer = self._idle.popitem()
            timer.cancel()
            if browser.is_alive:
                return browser
            browser.kill()

    def _keep(self, browser: BrowserProcess) -> None:
        timer = threading.Timer(self._idle_s, self._retire, (browser,))
        timer.daemon = True
        with self._lock:
            if not self._is_closed:
                self._idle[browser] = timer
                timer.start()
                return
        browser.kill()

    def _retire(self, browser: BrowserProcess) -> None:
        with self._lock:
            is_idle = self._idle.pop(browser, None) is not None
        if is_idle:
            browser.kill()
