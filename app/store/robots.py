"""robots.txt by origin: one copy for the fleet. One query of robots.sql each, in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from app.model import Origin
from app.store import db

_sql = db.queries("robots")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the database knows of an origin's robots.txt. now: database time of the query."""

    scheme: str
    port: int
    availability: str
    body: bytes | None
    etag: str | None
    last_modified: str | None
    fetched_at: datetime
    expires_at: datetime
    unreachable_since: datetime | None
    crawl_delay_s: float | None
    detail: str | None
    status: int | None
    sitemaps: tuple[str, ...]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The same as far as a visit needs it at its start. fresh_s: seconds until it is to be fetched anew."""

    scheme: str
    port: int
    availability: str
    failures: int
    body_sha256: bytes | None
    etag: str | None
    last_modified: str | None
    crawl_delay_s: float | None
    fresh_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a fetch of robots.txt brought.

    fresh_s      seconds until it is fetched anew
    failures     times in a row that it was out of reach
    revalidated  a 304
    """

    availability: str
    revalidated: bool
    status: int | None
    detail: str
    body: bytes | None
    etag: str | None
    last_modified: str | None
    fresh_s: float
    failures: int
    crawl_delay_raw: str | None
    crawl_delay_s: float | None
    sitemaps: tuple[str, ...]


def of_host(tx: Connection, host_id: int) -> list[Stored]:
    rows = tx.execute(_sql["of_host"], {"host_id": host_id})
    return [
        Stored(
            scheme=row.scheme,
            port=row.port,
            availability=row.availability,
            body=row.body,
            etag=row.etag,
            last_modified=row.last_modified,
            fetched_at=row.fetched_at,
            expires_at=row.expires_at,
            unreachable_since=row.unreachable_since,
            crawl_delay_s=row.crawl_delay_s,
            detail=row.detail,
            status=row.status,
            sitemaps=tuple(row.sitemaps),
            now=row.now,
        )
        for row in rows
    ]


def pace_of_host(tx: Connection, host_id: int) -> list[Brief]:
    return [Brief(**row._mapping) for row in tx.execute(_sql["pace_of_host"], {"host_id": host_id})]


def body(tx: Connection, *, host_id: int, scheme: str, port: int) -> bytes:
    """Empty when there is none."""
    found = tx.execute(_sql["body"], {"host_id": host_id, "scheme": scheme, "port": port}).scalar_one_or_none()
    return found or b""


def of_origins(tx: Connection, origins: Sequence[Origin]) -> dict[Origin, tuple[str, bytes | None]]:
    """{origin: (availability, body)} of those that have been fetched."""
    rows = tx.execute(_sql["of_origins"], {"rows": db.rows_param([origin._asdict() for origin in origins])})
    return {Origin(row.scheme, row.host, row.port): (row.availability, row.body) for row in rows}


def store(tx: Connection, *, host_id: int, origin: Origin, fetched: Fetched) -> None:
    where = {"host_id": host_id, "scheme": origin.scheme, "port": origin.port, "fresh_s": fetched.fresh_s}
    if fetched.revalidated:
        tx.execute(_sql["revalidated"], where)
        return
    tx.execute(
        _sql["store"],
        {
            **where,
            "availability": fetched.availability,
            "status": fetched.status,
            "detail": fetched.detail,
            "failures": fetched.failures,
            "body": fetched.body,
            "etag": fetched.etag,
            "last_modified": fetched.last_modified,
            "crawl_delay_raw": fetched.crawl_delay_raw,
            "crawl_delay_s": fetched.crawl_delay_s,
            "sitemaps": list(fetched.sitemaps),
        },
    )


def forget(tx: Connection, host_id: int) -> int:
    """Returns how many origins' copies will be fetched anew."""
    return len(tx.execute(_sql["forget"], {"host_id": host_id}).all())
