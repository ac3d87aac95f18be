"""Feeds a crawl's pages to a script: first those that are stored, then those that arrive, each once.

Pages arrive out of order: a settle that began earlier may commit later. So each look reads the log of requests anew, as
far back as an unsettled request can lie, and leaves out what was handed out already.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Engine

from app.admin.stored_page import StoredPage
from app.archive.read import Archive
from app.config import Settings
from app.store import db, feed, server
from app.store.crawls import Crawl
from app.store.feed import PageOfFeed, PagePlace

AT_ONCE: Final = 200
MARGIN: Final = timedelta(seconds=10)  # a transaction that stands idle for so long is ended


@dataclass(slots=True)
class PageFeed:
    """The pages of one crawl.

    began    what is fetched from then on arrives; what was fetched before is stored
    keeps    what is to live as long as any of its pages, which read their answers when they are asked for
    look_s   seconds that the last look took
    """

    engine: Engine
    settings: Settings
    crawl: Crawl
    began: datetime
    keeps: object = None
    look_s: float = 0.0
    _archive: Archive = field(init=False)
    _looked: datetime = field(init=False)
    _seen: dict[PagePlace, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._looked = self.began
        self._archive = Archive(self.engine, self.settings)

    def stored(self, since: datetime | None = None) -> Iterator[StoredPage]:
        """Pages that were fetched before the feed began, host by host."""
        after: PagePlace = (0, b"")
        while True:
            with db.transaction(self.engine) as tx:
                rows = feed.stored(tx, crawl_id=self.crawl.id, after=after, since=since, until=self.began, n=AT_ONCE)
            yield from map(self._page, rows)
            if len(rows) < AT_ONCE:
                return
            after = (rows[-1].host_id, rows[-1].key)

    def arrived(self) -> Iterator[StoredPage]:
        """Pages that arrived since the last look, in the order of their requests. Sets `look_s`."""
        began = time.monotonic()
        reach = timedelta(seconds=self.settings.lease_s) + MARGIN
        with db.transaction(self.engine) as tx:
            now = server.now(tx)
            found = feed.arrived(tx, crawl_id=self.crawl.id, since=self._looked - reach, known_until=self.began)
        self.look_s = time.monotonic() - began
        new = [place for place, at in found.items() if self._seen.get(place) != at]
        self._seen = {place: at for place, at in self._seen.items() if place in found}
        for first in range(0, len(new), AT_ONCE):
            with db.transaction(self.engine) as tx:
                rows = feed.of_keys(tx, crawl_id=self.crawl.id, places=new[first : first + AT_ONCE])
            for row in rows:
                self._seen[row.host_id, row.key] = row.fetched_at
                yield self._page(row)
        self._looked = now  # last: what a failure left out is found by the next look

    def _page(self, row: PageOfFeed) -> StoredPage:
        return StoredPage(row, crawl=self.crawl, engine=self.engine, archive=self._archive, keeps=self.keeps)


def open_feed(engine: Engine, settings: Settings, crawl: Crawl, *, keeps: object = None) -> PageFeed:
    """A feed that begins now.   keeps: as `PageFeed`"""
    with db.transaction(engine) as tx:
        return PageFeed(engine, settings, crawl, server.now(tx), keeps)
