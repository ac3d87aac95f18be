"""The parts that every page needs: settings, engine, templates and the live pulse; and who is asking.

Makes what takes long once for all who ask: a count of a crawl's rows, the proof of all its hosts.

It is kept for KEPT_TIMES as long as it took, and KEPT_MOST_S at most. So however many look, it takes one session, and
mostly half a percent of one core of Postgres.

Checks whether all is there that a crawl needs, for the first page, the live stream and the probe alike.

Shows all browsers of a process what is live: one look a second while somebody watches, none when nobody does.

Each browser has one stream of server-sent events. A stream holds no connection to Postgres. One that is slow misses
looks: it is sent the latest, never a queue of old ones.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import structlog
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.admin import webhooks
from app.admin.audit import Audit
from app.admin.board.pulse import readiness
from app.admin.board.tally import CrawlTally
from app.admin.doctor import Check, Grade
from app.config import Settings
from app.errors import ServiceError, TiptoeError
from app.metrics.fleet import FleetPage
from app.runtime.broker import BrokerProbe
from app.store.fleet import FleetWatch, JudgedGaps
from app.web.users import Users, Viewer
from app.words import counted

if TYPE_CHECKING:
    from jinja2 import Environment

KEPT_TIMES = 200
KEPT_MOST_S = 600.0
_T = TypeVar("_T")
CHECKED_EVERY_S = 3.0
BROKER_S = 2.0
AT_ONCE_S = 1.0
POLITENESS = "politeness"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Made(Generic[_T]):
    """A value that is kept.   at: when it was begun;   took_s: seconds;   until: the monotonic second of its end"""

    value: _T
    at: datetime
    took_s: float
    until: float


class Once(Generic[_T]):
    """The latest of one process, by the crawl's name. One is made at a time, in a thread of its own.

    make: by a crawl's name
    """

    def __init__(self, make: Callable[[str], _T]) -> None:
        self._make = make
        self._one_at_a_time = threading.Lock()
        self._lock = threading.Lock()
        self._known: dict[str, Future[Made[_T]]] = {}

    def of(self, name: str, *, wait_s: float) -> Made[_T] | None:
        """The latest of a crawl; None: it is being made, and will be there when it is asked for again.

        Raises what `make` does; the next who asks has it tried again.
        """
        with self._lock:
            known = self._known.get(name)
            if known is None or not _is_kept(known):
                self._known = {each: of for each, of in self._known.items() if _is_kept(of)}
                known = self._known[name] = Future()
                threading.Thread(target=self._run, args=(name, known), name="once", daemon=True).start()
        try:
            return known.result(wait_s)
        except TimeoutError:
            return None

    def _run(self, name: str, future: "Future[Made[_T]]") -> None:
        with self._one_at_a_time:
            try:
                future.set_result(self._made(name))
            except Exception as error:  # noqa: BLE001  # it is raised to those who ask
                future.set_exception(error)

    def _made(self, name: str) -> Made[_T]:
        at, began = datetime.now(UTC), time.monotonic()
        value = self._make(name)
        now = time.monotonic()
        return Made(value=value, at=at, took_s=now - began, until=now + min(KEPT_TIMES * (now - began), KEPT_MOST_S))


def _is_kept(made: "Future[Made[_T]]") -> bool:
    """Whether it is being made, or waits for another to be made, or was made not long ago."""
    return not made.done() or (made.exception() is None and time.monotonic() < made.result().until)


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
