"""Shows all browsers of a process what is live: one look a second while somebody watches, none when nobody does.

Each browser has one stream of server-sent events. A stream holds no connection to Postgres. One that is slow misses
looks: it is sent the latest, never a queue of old ones.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import structlog
from starlette.concurrency import run_in_threadpool

from app.errors import TiptoeError

_log = structlog.get_logger()
EVERY_S = 1.0
VIEWERS_MOST = 200


class Pulse:
    """The latest look, and those who wait for the next.   look: reads it, as a value for JSON.   most: streams"""

    def __init__(
        self, look: Callable[[], dict[str, Any]], *, most: int = VIEWERS_MOST, every_s: float = EVERY_S
    ) -> None:
        self._most = most
        self._every_s = every_s
        self._look = look
        self._watching = 0
        self._latest: tuple[int, str] = (0, "{}")
        self._changed = asyncio.Condition()
        self._beat: asyncio.Task[None] | None = None
        self._is_closed = False
        self.looks = 0

    @property
    def is_full(self) -> bool:
        return self._watching >= self._most

    @property
    def is_closed(self) -> bool:
        """Whether the process ends, and streams with it."""
        return self._is_closed

    @contextlib.contextmanager
    def seat(self) -> Iterator[None]:
        """The place of one viewer. Whoever holds one is looked for."""
        self._watching += 1
        if self._beat is None:
            self._beat = asyncio.create_task(self._look_again_and_again())
        try:
            yield
        finally:
            self._watching -= 1

    async def events(self) -> AsyncGenerator[str, None]:
        """The stream of one browser, which has a seat."""
        seen = 0
        yield "retry: 3000\n\n"
        while True:
            async with self._changed:
                while self._latest[0] == seen and not self._is_closed:
                    await self._changed.wait()
            if self._is_closed:
                return
            seen, text = self._latest
            yield f"data: {text}\n\n"

    async def close(self) -> None:
        """End all streams, and the looking."""
        self._is_closed = True
        async with self._changed:
            self._changed.notify_all()
        if self._beat is not None:
            self._beat.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beat

    async def _look_again_and_again(self) -> None:
        try:
            while self._watching:
                text = await run_in_threadpool(self._told)
                async with self._changed:
                    self._latest = (self._latest[0] + 1, text)
                    self._changed.notify_all()
                await asyncio.sleep(self._every_s)
        finally:
            self._beat = None

    def _told(self) -> str:
        """The look as JSON; where it failed, as while Postgres is away, why."""
        self.looks += 1
        try:
            return json.dumps(self._look(), ensure_ascii=True)
        except TiptoeError as error:
            _log.warning("web.look_failed", error=str(error))
            return json.dumps({"trouble": str(error)})
        except Exception as error:  # noqa: BLE001  # it would end the looking: pages would stand still without a word
            _log.exception("web.look_crashed")
            return json.dumps({"trouble": f"The dashboard failed ({type(error).__name__}); its log says more."})
