"""Links that were not admitted, and why. One query of suppressions.sql each."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("suppressions")


class Suppression(TypedDict):
    """key: SHA-256 of url, which is canonical where it could be made so, else as found."""

    crawl_id: int
    key: bytes
    reason: str
    url: str
    detail: str | None
    found_on: str | None


def note(tx: Connection, rows: Sequence[Suppression]) -> None:
    if rows:
        tx.execute(_sql["note"], {"rows": db.rows_param(rows)})


def of_url(tx: Connection, key: bytes) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["of_url"], {"key": key}).mappings()]


def reasons(tx: Connection, crawl_id: int) -> list[Mapping[str, Any]]:
    """reason, links, times, last_at."""
    return [dict(row) for row in tx.execute(_sql["reasons"], {"crawl_id": crawl_id}).mappings()]
