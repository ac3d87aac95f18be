"""The fetch log, and the audit over it. One query of fetches.sql each."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("fetches")


class Fetch(TypedDict):
    """A row of the log.

    start_s, end_s, contact_s: monotonic seconds since the anchor, the database time of the take-up."""

    host_id: int
    crawl_id: int | None
    visit_id: int
    anchor: datetime
    url_key: bytes
    url: str
    kind: str
    reason: str
    start_s: float
    end_s: float
    contact_s: float | None
    delay_s: float
    address_budget: str | None
    address_gap_s: float | None
    rest_s: float | None
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
    segment_id: int | None
    at_offset: int | None
    length: int | None


def log(tx: Connection, rows: Sequence[Fetch], *, fenced: bool = False) -> None:
    if rows:
        db.run(tx, _sql["log"], {"rows": db.rows_param(rows), "fenced": fenced})


def of_url(tx: Connection, *, host_id: int, key: bytes, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["of_url"], {"host_id": host_id, "key": key, "n": n}).mappings()]


def of_host(tx: Connection, *, host_id: int, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["of_host"], {"host_id": host_id, "n": n}).mappings()]


class UnsentRequests(NamedTuple):
    """Requests to a host that were not sent since the last one that was."""

    times: int
    last_at: datetime | None
    because: str | None


def unsent(tx: Connection, *, host_id: int, n: int) -> UnsentRequests:
    """Requests not sent since the last one that was, by the latest n rows of the host's log."""
    return UnsentRequests._make(tx.execute(_sql["unsent"], {"host_id": host_id, "n": n}).one())


def hosts_of_crawl(tx: Connection, crawl_id: int) -> list[int]:
    """All hosts that a crawl contacted in any round, and those of its URLs."""
    return list(tx.execute(_sql["hosts_of_crawl"], {"crawl_id": crawl_id}).scalars())


def audit(tx: Connection, host_ids: Sequence[int] | None) -> list[Mapping[str, Any]]:
    """Rows of v_politeness_audit. None: for all hosts."""
    if host_ids is not None and len(host_ids) == 1:
        found = tx.execute(_sql["audit_host"], {"host_id": host_ids[0]})
    else:
        found = tx.execute(_sql["audit"], _hosts(host_ids))
    return [dict(row) for row in found.mappings()]


def audit_addresses(tx: Connection, host_ids: Sequence[int] | None) -> list[Mapping[str, Any]]:
    """Rows of v_address_audit for all budgets that these hosts drew on, with all draws on them."""
    return [dict(row) for row in tx.execute(_sql["audit_addresses"], _hosts(host_ids)).mappings()]


def outcomes(tx: Connection, crawl_id: int) -> list[Mapping[str, Any]]:
    """Rows of outcome, status, fetches, last_at."""
    return [dict(row) for row in tx.execute(_sql["outcomes"], {"crawl_id": crawl_id}).mappings()]


def begins(tx: Connection) -> datetime | None:
    """The start of the oldest request in the log; None: it is empty."""
    found: datetime | None = tx.execute(_sql["begins"]).scalar_one()
    return found


class Asked(NamedTuple):
    """The parts of a request that robots.txt applies to."""

    host_id: int
    kind: str
    url: str
    started_at: datetime
    ended_at: datetime


def asked(tx: Connection, host_ids: Sequence[int] | None, *, at_once: int) -> Iterator[Asked]:
    """All requests to these hosts, or to all: host by host, its robots.txt first.

    Streamed, `at_once` rows at a time.
    """
    rows = tx.execute(_sql["asked"], _hosts(host_ids), execution_options={"yield_per": at_once})
    for row in rows:
        yield Asked._make(row)


def _hosts(host_ids: Sequence[int] | None) -> dict[str, list[int] | None]:
    return {"host_ids": None if host_ids is None else list(host_ids)}
