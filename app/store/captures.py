"""Captures: what is in the archive, and where. One query of captures.sql each, in the caller's transaction.

A capture is found by its crawl and its id, or by its host, crawl and URL key. Ids are given when a settle writes: a
settle that began earlier may commit later, so "all above the last id that I saw" can miss some while the crawl runs.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, TypedDict
from uuid import UUID

from sqlalchemy import Connection

from app.model import Capture, CaptureKind
from app.store import db
from app.store.pages import Where

_sql = db.queries("captures")


class Original(NamedTuple):
    """A capture that holds its body: what a revisit says of it.

    id, url, fetched_at   of the capture that has the body, perhaps of another URL; the rest is this URL's
    payload_sha256        of the body as received
    """

    id: int
    url: str
    fetched_at: datetime
    kind: str
    status: int
    content_type: str | None
    charset: str | None
    body_sha256: bytes | None
    text_sha256: bytes | None
    body_bytes: int
    truncated: bool
    payload_sha256: bytes

    @property
    def is_document(self) -> bool:
        """Whether a 304 can confirm it: validators are of the last document, and not of an error or a redirect since.

        An answer of an unwanted type is archived as an error, without its body.
        """
        return 200 <= self.status < 300 and (self.kind != CaptureKind.ERROR or not self.body_bytes)


class RenderedFrom(NamedTuple):
    """The capture of the answer that a browser opened.

    standing  SHA-256 of the rendered document that stands; None: there is none
    """

    id: int
    record_id: UUID | None
    url: str
    status: int
    standing: bytes | None


def add(tx: Connection, rows: Sequence[Capture]) -> dict[tuple[int, int], int]:
    """Write captures. Returns their ids by (segment id, offset)."""
    if not rows:
        return {}
    found = db.run(tx, _sql["add"], {"rows": db.rows_param([row._asdict() for row in rows])})
    return {(row.segment_id, row.at_offset): row.id for row in found}


def originals(tx: Connection, places: Collection[Where]) -> dict[Where, Original]:
    """The captures that hold the last documents of these URLs, or else bodies, as far as they are in the archive."""
    if not places:
        return {}
    rows = [{"host_id": host_id, "crawl_id": crawl_id, "key": key} for host_id, crawl_id, key in places]
    found = db.run(tx, _sql["originals"], {"rows": db.rows_param(rows)}).all()
    return {
        (row.host_id, row.crawl_id, bytes.fromhex(row.key)): Original(
            *[getattr(row, name) for name in Original._fields]
        )
        for row in found
    }


def of_url(tx: Connection, *, host_id: int, crawl_id: int, key: bytes, n: int = 100) -> list[Capture]:
    """The captures of a URL, the latest first."""
    return db.run(tx, _sql["of_url"], {"host_id": host_id, "crawl_id": crawl_id, "key": key, "n": n}).of(Capture)


def by_id(tx: Connection, *, crawl_id: int, id: int) -> Capture | None:
    found = db.run(tx, _sql["by_id"], {"crawl_id": crawl_id, "id": id}).of(Capture)
    return found[0] if found else None


def after(
    tx: Connection, *, crawl_id: int, after: int = 0, n: int = 1_000, kind: CaptureKind | None = None
) -> list[Capture]:
    """A crawl's captures with ids above `after`, in the order of their ids; of one kind, or of all."""
    where = {"crawl_id": crawl_id, "after": after, "n": n, "kind": kind and kind.value}
    return db.run(tx, _sql["after"], where).of(Capture)


def of_segment(tx: Connection, *, segment_id: int, at: int = 0, n: int = 1_000) -> list[Capture]:
    """The captures of a segment from an offset on, in the order of their records."""
    return db.run(tx, _sql["of_segment"], {"segment_id": segment_id, "at": at, "n": n}).of(Capture)


def rendered(tx: Connection, *, host_id: int, crawl_id: int, key: bytes, body_sha256: bytes) -> RenderedFrom | None:
    """The answer that a rendered document of this URL is made from; None: it is not in the archive."""
    where = {"host_id": host_id, "crawl_id": crawl_id, "key": key, "body_sha256": body_sha256}
    return next(iter(db.run(tx, _sql["rendered"], where).of(RenderedFrom)), None)


def sources(tx: Connection, segment_id: int) -> dict[int, UUID | None]:
    """The ids of the records that a segment's rendered documents were made from, by their captures."""
    return {row.id: row.record_id for row in db.run(tx, _sql["sources"], {"segment_id": segment_id})}


def dangling(tx: Connection, *, crawl_id: int, n: int = 100) -> list[Capture]:
    """Revisits whose body no row has any more, and rendered documents whose answer none has: there should be none."""
    return db.run(tx, _sql["dangling"], {"crawl_id": crawl_id, "n": n}).of(Capture)


def live(tx: Connection, *, crawl_id: int, segment_ids: Sequence[int]) -> list[Capture]:
    """Captures of segments that are to go, which pages or revisits that stay still need."""
    where = {"crawl_id": crawl_id, "segment_ids": db.array_param(segment_ids)}
    return db.run(tx, _sql["live"], where).of(Capture)


def not_withdrawn(tx: Connection, *, crawl_id: int, segment_ids: Sequence[int]) -> list[Capture]:
    """Captures of segments that are rewritten, without those of pages that their owners withdrew."""
    where = {"crawl_id": crawl_id, "segment_ids": db.array_param(segment_ids)}
    return db.run(tx, _sql["not_withdrawn"], where).of(Capture)


class Moved(TypedDict):
    """A capture whose record was copied, and where to."""

    crawl_id: int
    id: int
    segment_id: int
    at_offset: int


def move(tx: Connection, rows: Sequence[Moved]) -> None:
    if rows:
        db.run(tx, _sql["moved"], {"rows": db.rows_param(rows)})


def drop(tx: Connection, segment_ids: Sequence[int]) -> int:
    """Delete the captures of segments. Returns how many."""
    return db.run(tx, _sql["drop"], {"segment_ids": db.array_param(segment_ids)}).rowcount


def drop_crawl(tx: Connection, crawl_id: int, n: int = 10_000) -> int:
    """Delete some captures of a crawl. Returns how many; 0: there are none left."""
    return db.run(tx, _sql["drop_crawl"], {"crawl_id": crawl_id, "n": n}).rowcount
