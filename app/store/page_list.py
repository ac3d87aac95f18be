"""Pages of a crawl, for `tiptoe page list`. One query of page_list.sql each."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("page_list")


class ListedPage(NamedTuple):
    """A page in the archive: the capture of its document, and how many there are.

    rendered    a browser made the document
    changed_at  when its main text last changed; None where the page itself is not kept
    """

    url: str
    captures: int
    capture: int
    rendered: bool
    status: int
    content_type: str | None
    body_bytes: int
    fetched_at: datetime
    changed_at: datetime | None
    title: str | None
    language: str | None


def listed(
    tx: Connection, *, crawl_id: int, after: tuple[int, bytes], url_like: str | None, since: datetime | None, n: int
) -> list[ListedPage]:
    """The next n pages.   after: host id and key of the last one before.   url_like: pattern of LIKE"""
    where = {"crawl_id": crawl_id, "after_host": after[0], "after_key": after[1]}
    return db.run(tx, _sql["listed"], {**where, "url_like": url_like, "since": since, "n": n}).of(ListedPage)


def like(pattern: str) -> str:
    """A pattern with * as LIKE has it."""
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%") if "*" in pattern else f"%{escaped}%"
