"""The parts that every page of a process shares, so that a hundred viewers cost Postgres about as much as one.

The pulse looks once a second while somebody watches, and not at all when nobody does. Each browser has one stream of
server-sent events, which holds no connection to Postgres; a slow one misses looks, and is sent the latest. Checks of
what a crawl needs, counts of its rows and proofs of its hosts are made once for all who ask (`app.runtime.once`).
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.admin import webhooks
from app.admin.audit import Audit
from app.admin.board.pulse import readiness
from app.admin.board.tally import CrawlTally
from app.admin.check import Check, Grade
from app.config import Settings
from app.errors import ServiceError, TiptoeError
from app.metrics.fleet import FleetPage
from app.runtime.broker import BrokerProbe
from app.runtime.once import Once
from app.store.crawls import Crawl
from app.store.fleet import FleetWatch, JudgedGaps
from app.web.users import Users, Viewer
from app.words import counted

if TYPE_CHECKING:
    from jinja2 import Environment

KEPT_TIMES = 200
KEPT_MOST_S = 600.0
POLITENESS = "politeness"
_log = structlog.get_logger()
VIEWERS_MOST = 200
_T = TypeVar("_T")


class Pulse:
    """The latest look, and those who wait for the next.   look: reads it, as a value for JSON.   most: streams"""

    def __init__(self, look: Callable[[], dict[str, Any]], *, most: int = VIEWERS_MOST, every_s: float = 1.0) -> None:
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


class Checks:
    """The checks of one process: made once in a while, however many ask."""

    def __init__(
        self, watch: FleetWatch, settings: Settings, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._watch, self._settings = watch, settings
        url = settings.broker_url
        self._broker = None if url is None else BrokerProbe(url, within_s=2.0)
        self._once = Once(self._look, kept_s=lambda _: 3.0, monotonic=monotonic)
        self._found: Sequence[Check] = ()

    def __call__(self) -> Sequence[Check]:
        """The latest checks. Those that are old are made anew meanwhile: a service that hangs takes seconds."""
        self._once.of("", wait_s=0 if self._found else None)
        return self._found

    def made(self) -> Sequence[Check]:
        """Checks of this moment, at most CHECKED_EVERY_S old."""
        made = self._once.of("", wait_s=None)
        assert made is not None, "it waits until they are made"
        return made.value

    def _look(self, _: str) -> Sequence[Check]:
        ready = readiness(self._watch, stall_s=self._settings.stall_s).checks
        self._found = [*ready, *self._of_broker(), *(self._of_work() if len(ready) > 1 else [])]
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


def kept_s(took_s: float) -> float:
    """How long a count or a proof is kept: it then takes mostly half a percent of one core of Postgres."""
    return min(KEPT_TIMES * took_s, KEPT_MOST_S)


def kept_as(crawl: Crawl) -> str:
    """The name of what is kept of a crawl: by its own name alone, one that is made anew would have it, too."""
    return f"{crawl.id} {crawl.name}"


def of_crawl(make: Callable[[str], _T]) -> Callable[[str], _T]:
    """Make, by such a name, what `make` makes by that of a crawl."""
    return lambda kept: make(kept.partition(" ")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Shared by the pages of a process.

    fleet   the snapshot that pages, stream, probes and metrics render;   figures: for Prometheus
    checks  whether all is there that a crawl needs, looked at a moment ago
    counts  crawls in numbers;   exact: with every row counted
    proofs  of all hosts of a crawl
    """

    settings: Settings
    engine: Engine
    users: Users
    fleet: FleetWatch
    figures: FleetPage
    pulse: Pulse
    checks: Checks
    counts: Once[CrawlTally]
    exact: Once[CrawlTally]
    proofs: Once[Audit]
    templates: "Environment"


def board_of(request: Request) -> Board:
    """The process's board."""
    board: Board = request.app.state.board
    return board


def viewer_of(request: Request) -> Viewer:
    """The person who asks, as `app.web.guard` found out."""
    viewer: Viewer = request.scope["viewer"]
    return viewer
