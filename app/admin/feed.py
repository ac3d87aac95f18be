"""Feeds a crawl's pages to a script: first those that are stored, then those that arrive, each once.

Pages arrive out of order: a settle that began earlier may commit later. So each look reads the log of requests anew, as
far back as an unsettled request can lie, and leaves out what was handed out already.

A stored page as handlers get it: its row, and its answer and document from the archive when they are asked for.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Engine

from app.config import Settings
from app.errors import ArchiveMissing
from app.features.archive.read import Archive
from app.features.export import rows as export
from app.features.extract.page import OF_THE_ANSWER, CrawledPage, Headers
from app.features.rights.rows import answers_of
from app.model import Archived, Capture
from app.store import db, feed, server
from app.store.crawls import Crawl
from app.store.feed import PageOfFeed, PagePlace

AT_ONCE: Final = 200


class StoredPage(CrawledPage):
    """A stored page. Title, language and text are the crawl's; headers and body raise ArchiveMissing without one."""

    _row: PageOfFeed
    _crawl_id: int
    _engine: Engine
    _archive: Archive

    def __init__(
        self, row: PageOfFeed, *, crawl: Crawl, engine: Engine, archive: Archive, keeps: object = None
    ) -> None:
        known = {"url": row.url, "crawl": crawl.name, "status": row.status, "fetched_at": row.fetched_at}
        inner = {"_row": row, "_crawl_id": crawl.id, "_engine": engine, "_archive": archive, "_earlier": lambda: None}
        inner["_keeps"] = keeps
        for name, value in {**known, **inner, "is_cut": row.truncated}.items():
            object.__setattr__(self, name, value)

    @property
    def title(self) -> str | None:
        """The <title>, white space folded."""
        return self._row.title

    @property
    def language(self) -> str | None:
        """BCP 47 tag in lower case: as declared, else as detected."""
        return self._row.language

    @property
    def text(self) -> str:
        """The main text; "" where the page asks not to be archived."""
        return self._row.main_text or ""

    @cached_property
    def rights(self) -> dict[str, str]:
        """The owner's answer for each purpose: "allowed", "refused" or "unknown"."""
        place = self._row.host_id, self._crawl_id, self._row.key
        with db.transaction(self._engine) as tx:
            return answers_of(tx, [place])[place]

    @property
    def rendered_at(self) -> datetime | None:
        """When a browser made its document; None: none has."""
        return self._made[0]

    @property
    def _document(self) -> bytes:
        return self._made[1].body if self._made[1] else b""

    @property
    def _document_url(self) -> str | None:
        return self._made[1].at if self._made[1] else None

    def __getattr__(self, name: str) -> Any:
        """Read the answer from the archive at the first look at it."""
        if name not in OF_THE_ANSWER:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        _, answer = self._archive.plain(self._capture)
        object.__setattr__(self, "headers", Headers(list(answer.headers)))
        object.__setattr__(self, "body", answer.body)
        return self.__dict__[name]

    @cached_property
    def _made(self) -> tuple[datetime | None, Archived | None]:
        """When a browser made its document, and that."""
        capture = self._capture
        return (capture.fetched_at, self._archive.read(capture)) if capture.rendered_from is not None else (None, None)

    @cached_property
    def _capture(self) -> Capture:
        place = (self._row.host_id, self._row.key)
        with db.transaction(self._engine) as tx:
            capture = export.latest_captures(tx, crawl_id=self._crawl_id, pages=[place]).get(place)
        if capture is None:
            raise ArchiveMissing(self.url, "its crawl keeps no archive, or the page asks not to be archived")
        return capture


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
        # A transaction that stands idle for so long is ended.
        reach = timedelta(seconds=self.settings.lease_s) + timedelta(seconds=10)
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
