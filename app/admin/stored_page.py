"""A stored page as handlers get it: its row, and its answer and document from the archive when they are asked for."""

from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Engine

from app.errors import ArchiveMissing
from app.features.archive.read import Archive
from app.features.export import rows as export
from app.features.extract.page import OF_THE_ANSWER, CrawledPage, Headers
from app.features.rights.rows import answers_of
from app.model import Archived, Capture
from app.store import db
from app.store.crawls import Crawl
from app.store.feed import PageOfFeed


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
