"""Pages whose text is read again from the archive. One query of reread.sql each, in the caller's transaction."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.model import Capture
from app.store import db
from app.store.pages import Renewed
from app.store.url_rows import Where, places

_sql = db.queries("reread")
IDLE_S = 120  # that a transaction may wait for a reader: none that is killed leaves its locks behind for longer


class StalePage(NamedTuple):
    """A page whose text another version of the reader found.

    reader                that version; None: of a release that noted none
    directives, opt_outs  what its site said, by the page's row and by the URL's
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    reader: int | None
    fetched_at: datetime
    is_rendered: bool
    body_sha256: bytes
    text_sha256: bytes
    title: str | None
    description: str | None
    language: str | None
    language_detected: str | None
    directives: str
    opt_outs: list[str | None]
    honour_opt_outs: bool

    @property
    def where(self) -> Where:
        return self.host_id, self.crawl_id, self.key


def crawls(tx: Connection, *, reader: int) -> list[int]:
    """The ids of crawls with a text of an earlier version."""
    return [row.id for row in db.run(tx, _sql["crawls"], {"reader": reader})]


def stale(tx: Connection, *, crawl_id: int, after: tuple[int, bytes], reader: int, n: int) -> list[StalePage]:
    """The next pages to read again.   after: host id and key of the last one before"""
    where = {"crawl_id": crawl_id, "host_id": after[0], "key": after[1], "reader": reader, "n": n}
    return db.run(tx, _sql["stale"], where).of(StalePage)


def hold(tx: Connection, pages: Collection[StalePage]) -> dict[Where, Capture]:
    """The captures of their documents, kept until the transaction ends, but for those that another process holds."""
    if not pages:
        return {}
    db.run(tx, _sql["patient"], {"timeout_s": str(IDLE_S)})
    names = ("host_id", "crawl_id", "key", "is_rendered", "body_sha256")
    rows = [{name: getattr(page, name) for name in names} for page in pages]
    found = db.run(tx, _sql["hold"], {"rows": db.rows_param(rows)}).of(Capture)
    return {(each.host_id, each.crawl_id, each.key): each for each in found}


def renew(tx: Connection, rows: Sequence[Renewed]) -> set[Where]:
    """Write what was read. Returns the pages that were written: not those fetched meanwhile. Their hosts are locked."""
    found = db.run(tx, _sql["renew"], {"rows": db.rows_param(rows)})
    return {(row.host_id, row.crawl_id, row.key) for row in found}


def compare_with(tx: Connection, rows: Sequence[Renewed]) -> None:
    """Have the next visits compare with these texts."""
    told = _only(rows, "host_id", "crawl_id", "key", "text_sha256", "reader", "is_rendered")
    db.run(tx, _sql["compare_with"], {"rows": db.rows_param(told)})


def part(tx: Connection, pages: Collection[Where]) -> set[Where]:
    """Forget notes of the same text that no longer hold, of these pages and of those that repeated them."""
    found = db.run(tx, _sql["part"], {"rows": places(pages)})
    return {(row.host_id, row.crawl_id, row.key) for row in found}


def queue(tx: Connection, pages: Collection[Where]) -> None:
    """Have pages indexed."""
    if pages:
        db.run(tx, _sql["queue"], {"rows": places(sorted(pages))})


def handle(tx: Connection, rows: Sequence[Renewed]) -> int:
    """Have handlers handle pages again. Returns how many rows are due."""
    told = _only(rows, "host_id", "crawl_id", "key", "capture_id", "body_sha256")
    return db.run(tx, _sql["handle"], {"rows": db.rows_param(told)}).rowcount


def _only(rows: Sequence[Mapping[str, Any]], *names: str) -> list[dict[str, Any]]:
    """These columns of the rows: texts are long."""
    return [{name: row[name] for name in names} for row in rows]


def waiting(tx: Connection, *, crawl_id: int, reader: int) -> int:
    """The number of a crawl's texts of other versions."""
    return int(db.run(tx, _sql["waiting"], {"crawl_id": crawl_id, "reader": reader}).one().pages)
