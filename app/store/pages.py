"""What documents say, and which say the same. One query of pages.sql each."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("pages")


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
    main_text: str
    body_sha256: bytes
    text_sha256: bytes
    body_bytes: int
    truncated: bool
    links: int
    canonical_url: str | None
    depth: int


def keep(tx: Connection, *, host_id: int, rows: Sequence[PageRow]) -> None:
    if rows:
        tx.execute(_sql["keep"], {"host_id": host_id, "rows": db.rows_param(rows)})


def same_body(tx: Connection, rows: Sequence[PageRow]) -> dict[tuple[int, bytes], str]:
    """{(crawl id, key): URL of the page with the same bytes}."""
    return _same(
        tx,
        "same_body",
        [{"crawl_id": row["crawl_id"], "key": row["key"], "body_sha256": row["body_sha256"]} for row in rows],
    )


def same_text(tx: Connection, rows: Sequence[PageRow]) -> dict[tuple[int, bytes], str]:
    """{(crawl id, key): URL of the page with the same main text}."""
    return _same(
        tx,
        "same_text",
        [{"crawl_id": row["crawl_id"], "key": row["key"], "text_sha256": row["text_sha256"]} for row in rows],
    )


def note_duplicates(tx: Connection, *, host_id: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """rows: crawl_id, key, url, kind, of_url."""
    if rows:
        tx.execute(_sql["note_duplicates"], {"host_id": host_id, "rows": db.rows_param(rows)})


def of_url(tx: Connection, *, host_id: int, key: bytes) -> dict[int, dict[str, Any]]:
    """By crawl id."""
    return {row["crawl_id"]: dict(row) for row in tx.execute(_sql["of_url"], {"host_id": host_id, "key": key}).mappings()}


def duplicates_of_url(tx: Connection, *, host_id: int, key: bytes) -> dict[int, dict[str, Any]]:
    """By crawl id: kind, of_url, found_at."""
    found = tx.execute(_sql["duplicates_of_url"], {"host_id": host_id, "key": key})
    return {row["crawl_id"]: dict(row) for row in found.mappings()}


def duplicate_kinds(tx: Connection, crawl_id: int) -> dict[str, int]:
    return {row.kind: row.pages for row in tx.execute(_sql["duplicate_kinds"], {"crawl_id": crawl_id})}


def _same(tx: Connection, query: str, rows: Sequence[Mapping[str, Any]]) -> dict[tuple[int, bytes], str]:
    if not rows:
        return {}
    found = tx.execute(_sql[query], {"rows": db.rows_param(rows)})
    return {(row.crawl_id, bytes.fromhex(row.key)): row.of_url for row in found}
