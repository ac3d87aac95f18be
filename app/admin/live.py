"""Reads the state of a running crawl for the live view, at a bounded cost for any size.

Exact numbers would need to read a row per host. So each look reads the next slice of the hosts, and adds the sums that
earlier slices had in this round or the last one. Up to SLICE hosts a look is exact; a million hosts take some minutes.
The summary at the end of a crawl is counted in full (`app.store.crawls.totals`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Engine

from app.store import db, live, segments, urls
from app.store.live import CrawlRow, HostRow, Slice

SLICE = 2_000
MOST_QUEUED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A moment of a crawl.

    queued    URLs queued; MOST_QUEUED stands for that or more
    failures  (class, requests) of the last minute, and since the crawl's start, the most frequent first
    hosts     some hosts that are being visited, and those that are next; none where the crawl is not active
    newest    the URL of its newest request in the last minute
    stopped   why nothing is fetched: the archive cannot be written
    is_full   False: all but the crawl is as it was at the last full look, or left out
    is_whole  False: not all hosts have been read once, and pages, failed and bytes are too low
    """

    crawl: CrawlRow
    pages: int
    failed: int
    bytes: int
    queued: int
    failures: Sequence[tuple[str, int]]
    hosts: Sequence[HostRow]
    is_whole: bool
    newest: str | None = None
    stopped: str | None = None
    is_full: bool = True

    @property
    def state(self) -> str:
        return self.crawl.state


@dataclass(slots=True)
class Round:
    """Sums over a table, read slice by slice, again and again.   after: the id that the next slice follows"""

    after: int = 0
    is_whole: bool = False
    _slices: list[Counter[str]] = field(default_factory=list)
    _at: int = 0

    @property
    def is_amid(self) -> bool:
        """Whether slices of this round are still to be read."""
        return self.after != 0 or not self.is_whole

    @property
    def sums(self) -> Counter[str]:
        return sum(self._slices, Counter[str]())

    def read(self, slice_after: Callable[[int], Slice], n: int) -> Counter[str]:
        """Read the next slice, and return the sums.   n: rows of a slice; only the last has fewer"""
        found = slice_after(self.after)
        self._slices[self._at : self._at + 1] = [found.sums]
        self._at += 1
        if found.seen < n or found.last is None:
            del self._slices[self._at :]
            self.after, self._at, self.is_whole = 0, 0, True
        else:
            self.after = found.last
        return self.sums


@dataclass(slots=True)
class Live:
    """Watches one crawl, and keeps the sums of its looks.   queues: all that hosts may be on"""

    engine: Engine
    crawl_id: int
    queues: Sequence[str]
    slice: int = SLICE
    _fetched: Round = field(default_factory=Round)

    def look(self, *, in_full: bool = True) -> Look:
        """Read the crawl as it is now. Raises ServiceError.

        in_full: to be shown. Else only whether the crawl goes on is asked, and a round that has begun is gone on with
        """
        failures, hosts, queued, newest, stopped = [], [], 0, None, None
        with db.transaction(self.engine) as tx:
            crawl = live.crawl(tx, self.crawl_id)
            if in_full or self._fetched.is_amid:
                self._fetched.read(
                    lambda after: live.fetched(tx, crawl_id=self.crawl_id, after=after, n=self.slice), self.slice
                )
            if in_full:
                queued = urls.queued_some(tx, crawl_id=self.crawl_id, most=MOST_QUEUED)
                failures = live.failures(tx, self.crawl_id)
                newest = live.newest(tx, self.crawl_id)
                if crawl.state == "active":  # else nothing comes, whatever the hosts' rows say
                    hosts = live.hosts(tx, crawl_id=self.crawl_id, queues=self.queues)
                stopped = next((node.stopped_because for node in segments.nodes(tx) if node.stopped_because), None)
        got = self._fetched.sums
        return Look(
            crawl=crawl,
            pages=got["pages"],
            failed=got["failed"],
            bytes=got["bytes"],
            queued=queued,
            failures=failures,
            hosts=hosts,
            is_whole=self._fetched.is_whole,
            newest=newest,
            stopped=stopped,
            is_full=in_full,
        )
