"""Counts the rows of a crawl once for all who ask: it reads millions, and takes as long as that takes.

A count is kept for KEPT_TIMES as long as it took. So however many look, counting takes a fiftieth of one core of
Postgres a crawl.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine

from app.admin import focus, report
from app.admin.focus import Freshness
from app.admin.report import Report
from app.config import Settings
from app.store import board, db
from app.store.board import Row

KEPT_TIMES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlCount:
    """A crawl, counted exactly.

    shape   URLs by depth and lane
    at      when it was begun;   took_s: seconds;   until: the monotonic second until which it is kept
    """

    report: Report
    shape: Sequence[Row]
    freshness: Freshness
    at: datetime
    took_s: float
    until: float


class CrawlCounts:
    """The latest counts of one process, by the crawl's name. One is made at a time."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings
        self._one_at_a_time = threading.Lock()
        self._lock = threading.Lock()
        self._known: dict[str, Future[CrawlCount]] = {}

    def of(self, name: str, *, wait_s: float) -> CrawlCount | None:
        """The latest count of a crawl; None: it is being made, and will be there when it is asked for again.

        Raises InputError for an unknown crawl, ServiceError; the next who asks has it tried again.
        """
        with self._lock:
            known = self._known.get(name)
            if known is None or not _is_kept(known):
                self._known = {each: of for each, of in self._known.items() if _is_kept(of)}
                known = self._known[name] = Future()
                threading.Thread(target=self._count, args=(name, known), name="counts", daemon=True).start()
        try:
            return known.result(wait_s)
        except TimeoutError:
            return None

    def _count(self, name: str, future: Future[CrawlCount]) -> None:
        with self._one_at_a_time:
            try:
                future.set_result(self._counted(name))
            except Exception as error:  # noqa: BLE001  # it is raised to those who ask
                future.set_exception(error)

    def _counted(self, name: str) -> CrawlCount:
        at, began = datetime.now(UTC), time.monotonic()
        found = report.report(self._engine, name, self._settings)
        with db.transaction(self._engine) as tx:
            shape = board.shape(tx, crawl_id=found.crawl.id)
        fresh = focus.freshness(self._engine, name)
        now = time.monotonic()
        until = now + KEPT_TIMES * (now - began)
        return CrawlCount(report=found, shape=shape, freshness=fresh, at=at, took_s=now - began, until=until)


def _is_kept(count: Future[CrawlCount]) -> bool:
    """Whether it is being made, or waits for another to be made, or was made not long ago."""
    return not count.done() or (count.exception() is None and time.monotonic() < count.result().until)
