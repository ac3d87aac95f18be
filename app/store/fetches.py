"""The fetch log, and what it proves. One query of fetches.sql each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("fetches")


class Fetch(TypedDict):
    """A row of the log. start_s, end_s: monotonic seconds since the visit's anchor."""

    host_id: int
    crawl_id: int | None
    url_key: bytes
    url: str
    kind: str
    reason: str
    start_s: float
    end_s: float
    delay_s: float
    address: str | None
    status: int | None
    outcome: str
    failure: str | None
    detail: str | None
    location: str | None
    retry_after: str | None
    content_type: str | None
    wire_bytes: int
    body_bytes: int
    truncated: bool
    dns_ms: float | None
    connect_ms: float | None
    first_byte_ms: float | None
    total_ms: float
    conditional: bool
    etag: str | None
    last_modified: str | None
    body_sha256: bytes | None
    attempt: int


def log(tx: Connection, *, visit_id: int, anchor: datetime, rows: Sequence[Fetch], fenced: bool = False) -> None:
    """anchor: database time of the visit's take-up."""
    if rows:
        tx.execute(
            _sql["log"],
            {"visit_id": visit_id, "anchor": anchor, "rows": db.rows_param(rows), "fenced": fenced},
        )


def of_url(tx: Connection, *, host_id: int, key: bytes, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["of_url"], {"host_id": host_id, "key": key, "n": n}).mappings()]


def of_host(tx: Connection, *, host_id: int, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["of_host"], {"host_id": host_id, "n": n}).mappings()]


def audit(tx: Connection, *, crawl_id: int | None) -> list[Mapping[str, Any]]:
    """A row per host: host, fetches, smallest_gap_s, smallest_delay_s, gap_violations, concurrent, before_robots, fenced."""
    return [dict(row) for row in tx.execute(_sql["audit"], {"crawl_id": crawl_id}).mappings()]


def outcomes(tx: Connection, crawl_id: int) -> list[Mapping[str, Any]]:
    """outcome, status, fetches, last_at."""
    return [dict(row) for row in tx.execute(_sql["outcomes"], {"crawl_id": crawl_id}).mappings()]


class Place(TypedDict):
    """Where a page of rows ended: the place of its last row."""

    host_id: int
    started_at: datetime
    id: int


def under_copy(tx: Connection, *, crawl_id: int | None, after: Place, n: int) -> list[Mapping[str, Any]]:
    """host_id, started_at, id, url."""
    rows = tx.execute(_sql["under_copy"], {"crawl_id": crawl_id, "n": n, **after})
    return [dict(row) for row in rows.mappings()]
