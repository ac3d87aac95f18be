"""Bounds every page that is asked for: it is answered within PAGE_S, with itself or with word that it took too long.

An ASGI middleware, so that a new route cannot forget it. SQL ends at the deadline (`app.store.deadline`). What is still
at work then, as a text that is read, has GRACE_S more; after these its thread is left alone, and the viewer is told.
Orders are not stopped half-way, and what streams has no end of its own.
"""

import asyncio
from typing import Final

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.store.deadline import took_too_long, within
from app.web.board import Board
from app.web.render import refusal

_log = structlog.get_logger()
PAGE_S: Final = 20.0
GRACE_S: Final = 2.0
STREAMS: Final = frozenset({"/stream", "/changes/stream", "/export/file"})
STATUS: Final = 504
_WHAT = "this page"
_REMEDY = (
    "ask for less: one crawl, one host, or a narrower filter; or give a command, as `tiptoe page list` or "
    "`tiptoe crawl report`: those may take longer"
)


class PageDeadline:
    """The middleware. board: of this process.   seconds: that a page may take"""

    def __init__(self, app: ASGIApp, board: Board, seconds: float = PAGE_S) -> None:
        self._app, self._board, self._seconds = app, board, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"} or scope["path"] in STREAMS:
            await self._app(scope, receive, send)
            return
        is_begun = is_left = False

        async def told(message: Message) -> None:
            nonlocal is_begun
            if not is_left:
                is_begun = True
                await send(message)

        with within(self._seconds, what=_WHAT, remedy=_REMEDY):
            page = asyncio.ensure_future(self._app(scope, receive, told))
        done, _ = await asyncio.wait({page}, timeout=self._seconds + GRACE_S)
        if done or is_begun:
            await page
            return
        is_left = True
        page.add_done_callback(lambda ended: _note(ended, scope["path"]))
        error = took_too_long(self._seconds, _WHAT, _REMEDY)
        await refusal(Request(scope), self._board, STATUS, f"{error}.")(scope, receive, send)


def _note(ended: "asyncio.Future[None]", path: str) -> None:
    if not ended.cancelled() and ended.exception() is not None:
        _log.warning("web.page_failed", path=path, error=str(ended.exception()))
