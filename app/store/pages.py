"""What documents say, and which say the same. One query of pages.sql each."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("pages")
Where = tuple[int, bytes]  # crawl id, URL key


class PageRow(TypedDict):
    """A row of pages, but for the host and the times."""

    crawl_id: int
    key: bytes
    url: str
    status: int
    content_type: str | None
    charset: str
    language: str | None
    title: str | None
    description: str | None
    main_text: str | None
    body_sha256: bytes
    text_sha256: bytes
    body_bytes: int
    truncated: bool
    links: int
    canonical_url: str | None
    directives: str | None
    opt_out: str | None
    depth: int


class Revision(TypedDict):
    """What a 304 says anew of a page. noarchive: its text is kept no more."""

    crawl_id: int
    key: bytes
    directives: str | None
    opt_out: str | None
    noarchive: bool


def keep(tx: Connection, *, host_id: int, rows: Sequence[PageRow]) -> None:
    if rows:
        db.run(tx, _sql["keep"], {"host_id": host_id, "rows": db.rows_param(rows)})


def drop(tx: Connection, *, host_id: int, keys: Sequence[Where]) -> None:
    """Pages that are not to be kept, with what is noted of them as duplicates."""
    if keys:
        rows = [{"crawl_id": crawl_id, "key": key} for crawl_id, key in keys]
        db.run(tx, _sql["drop"], {"host_id": host_id, "rows": db.rows_param(rows)})
        forget_duplicates(tx, host_id=host_id, keys=keys)


def revise(tx: Connection, *, host_id: int, rows: Sequence[Revision]) -> None:
    if rows:
        db.run(tx, _sql["revise"], {"host_id": host_id, "rows": db.rows_param(rows)})


def originals(tx: Connection, *, host_id: int, rows: Sequence[PageRow]) -> tuple[dict[Where, str], dict[Where, str]]:
    """URLs of the pages with the same bytes, and of those with the same main text, by (crawl id, key). host_id: of rows."""
    digests = [{name: row[name] for name in ("crawl_id", "key", "body_sha256", "text_sha256")} for row in rows]
    found = db.run(tx, _sql["originals"], {"host_id": host_id, "rows": db.rows_param(digests)}).all()
    keyed = [((row.crawl_id, bytes.fromhex(row.key)), row) for row in found]
    return (
        {where: row.same_body for where, row in keyed if row.same_body is not None},
        {where: row.same_text for where, row in keyed if row.same_text is not None},
    )


def note_duplicates(tx: Connection, *, host_id: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """rows: crawl_id, key, url, kind, of_url."""
    if rows:
        db.run(tx, _sql["note_duplicates"], {"host_id": host_id, "rows": db.rows_param(rows)})


def noted_duplicates(tx: Connection, *, host_id: int, keys: Iterable[Where]) -> set[Where]:
    """Those of these pages that are noted as duplicates."""
    rows = [{"crawl_id": crawl_id, "key": key} for crawl_id, key in keys]
    found = db.run(tx, _sql["noted_duplicates"], {"host_id": host_id, "rows": db.rows_param(rows)})
    return {(row.crawl_id, row.key) for row in found}


def forget_duplicates(tx: Connection, *, host_id: int, keys: Collection[Where]) -> None:
    """Pages that were fetched again and are duplicates no more."""
    if keys:
        rows = [{"crawl_id": crawl_id, "key": key} for crawl_id, key in keys]
        db.run(tx, _sql["forget_duplicates"], {"host_id": host_id, "rows": db.rows_param(rows)})


def of_url(tx: Connection, *, host_id: int, key: bytes) -> dict[int, dict[str, Any]]:
    """By crawl id."""
    return {
        row["crawl_id"]: dict(row) for row in tx.execute(_sql["of_url"], {"host_id": host_id, "key": key}).mappings()
    }


def duplicates_of_url(tx: Connection, *, host_id: int, key: bytes) -> dict[int, dict[str, Any]]:
    """By crawl id: kind, of_url, found_at."""
    found = tx.execute(_sql["duplicates_of_url"], {"host_id": host_id, "key": key})
    return {row["crawl_id"]: dict(row) for row in found.mappings()}


def duplicate_kinds(tx: Connection, crawl_id: int) -> dict[str, int]:
    return {row.kind: row.pages for row in tx.execute(_sql["duplicate_kinds"], {"crawl_id": crawl_id})}
