"""Renders the snapshot of the fleet for the live view of one crawl, with the hosts and failures that it lists.

The summary at the end of a crawl is counted in full (`app.store.crawls.totals`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Engine

from app.store import board, fleet, live, segments
from app.store.board import CrawlLine
from app.store.fleet import LATE_S, WINDOW_S
from app.store.live import HostRow

MOST_QUEUED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A moment of a crawl.

    queued    URLs queued; MOST_QUEUED stands for that or more
    failures  (class, requests) of the last minute, and since the crawl's start, the most frequent first
    hosts     some hosts that are being visited, and those that are next; none where the crawl is not active
    pages_s   pages a second, as on the dashboard; None: the crawl is younger than the time that this is measured in
    newest    the URL of its newest request in the last minute
    stopped   why nothing is fetched: the archive cannot be written
    is_full   False: all but the crawl is as it was at the last full look, or left out
    is_exact  False: it has so many hosts that failed is an estimate
    """

    crawl: CrawlLine
    pages: int
    failed: int
    bytes: int
    queued: int
    failures: Sequence[tuple[str, int]]
    hosts: Sequence[HostRow]
    is_exact: bool = True
    pages_s: float | None = None
    newest: str | None = None
    stopped: str | None = None
    is_full: bool = True

    @property
    def state(self) -> str:
        return self.crawl.state


@dataclass(slots=True)
class Live:
    """Watches one crawl.   queues: all that hosts may be on"""

    engine: Engine
    crawl_id: int
    queues: Sequence[str]
    _seen: Look | None = None

    def look(self, *, in_full: bool = True) -> Look:
        """Read the crawl as it is now. Raises ServiceError.

        in_full: to be shown. Else only whether the crawl goes on is asked
        """
        with fleet.snapshot(self.engine) as tx:
            if in_full or self._seen is None:
                self._seen = self._read(tx)
                return self._seen
            return replace(self._seen, crawl=board.crawl(tx, self.crawl_id), is_full=False, failures=(), hosts=())

    def _read(self, tx: Connection) -> Look:
        crawl = fleet.crawl_now(tx, self.crawl_id)
        is_active = crawl.line.state == "active"  # else nothing comes, whatever the hosts' rows say
        return Look(
            crawl=crawl.line,
            pages=crawl.brought.pages,
            failed=crawl.brought.failed,
            bytes=crawl.brought.bytes,
            queued=min(crawl.queued, MOST_QUEUED),
            failures=live.failures(tx, self.crawl_id),
            hosts=live.hosts(tx, crawl_id=self.crawl_id, queues=self.queues) if is_active else (),
            is_exact=crawl.brought.is_exact,
            pages_s=crawl.rate.pages / WINDOW_S if crawl.line.active_s > LATE_S + WINDOW_S else None,
            newest=live.newest(tx, self.crawl_id),
            stopped=fleet.stopped(segments.nodes(tx)),
        )
