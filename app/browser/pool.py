"""Browsers, kept between pages: one page at a time in each, started when they are needed, and retired when worn."""

import time
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from app.browser.page import OpenPage
from app.browser.process import BrowserProcess, NotStarted, Wear
from app.browser.values import Ask, Bounds, BrowserDeath, PlainResponse, Rendering
from app.sandbox.pool import ProcessPool

MOST: Final = 2
LEAST_S: Final = 15.0  # that a page has, however late its browser is there
IDLE_S: Final = 60.0
_log = structlog.get_logger()


class Browsers:
    """The pool: at most `most` browsers, none until one is needed. Threads share it.

    A page has a browser to itself: what one does to its browser, its memory or its processor, no other page feels.

    executable  path of Chromium, as `app.browser.find` found it
    wear        after which a browser is replaced;   idle_s: so long without a page it is ended
    """

    def __init__(self, executable: str, *, most: int = MOST, wear: Wear | None = None, idle_s: float = IDLE_S) -> None:
        self._pool = ProcessPool(partial(BrowserProcess, executable, wear or Wear()), idle_s=idle_s, most=most)

    def render(
        self, plain: PlainResponse, ask: Ask, bounds: Bounds, *, user_agent: str, screenshot: bool = False
    ) -> Rendering | BrowserDeath:
        """Render a page; waits while all browsers are taken. Raises what `ask` raised.

        Waiting for a browser, and for its start, is of the page's time, as its host's lease lasts no longer.
        """
        until = time.monotonic() + bounds.wall_s
        try:
            with self._pool.lent() as browser:
                assert browser is not None, "it waits as long as it takes"
                left_s = max(until - time.monotonic(), min(bounds.wall_s, LEAST_S))
                return OpenPage(browser, plain, ask, replace(bounds, wall_s=left_s), user_agent).render(screenshot)
        except NotStarted as error:
            _log.error("browser.not_started", why=str(error))
            return BrowserDeath(cause=str(error), problem=error.problem)

    def close(self) -> None:
        """End the idle browsers. A page that is open still ends by itself, and its browser with it."""
        self._pool.close()
