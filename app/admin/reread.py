"""Reads the stored pages of a crawl again from the archive, as a person orders it. It sends no request."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from app.admin.crawls import find
from app.beat.reread_pages import Reread, Rereading, make_readers
from app.config import Settings
from app.parse.html.html import READER
from app.store import db, reread


@dataclass(frozen=True, slots=True, kw_only=True)
class RereadCrawl:
    """A crawl whose pages were read again.   left: texts that an earlier version found, and that stay as they are"""

    crawl: str
    found: Reread
    left: int


def reread_crawl(
    engine: Engine, settings: Settings, name: str, *, tell: Callable[[Reread], object] = lambda _: None
) -> RereadCrawl:
    """Read all pages again whose text another version of the reader found.

    tell: called after each lot with what was found so far. Raises InputError, ServiceError.
    """
    crawl = find(engine, name)
    readers = make_readers(settings)
    reading = Rereading(engine, settings, crawl.id, readers)
    try:
        while reading.lot():
            tell(reading.found)
    finally:
        readers.close()
    with db.transaction(engine) as tx:
        left = reread.waiting(tx, crawl_id=crawl.id, reader=READER)
    return RereadCrawl(crawl=name, found=reading.found, left=left)
