"""Visits: opened at take-up (hosts.take_up), closed at leaving. One query of visits.sql each."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("visits")


def close(tx: Connection, *, visit_id: int, ending: str, fetches: int) -> None:
    tx.execute(_sql["close"], {"visit_id": visit_id, "ending": ending, "fetches": fetches})


def mark_lost(tx: Connection) -> int:
    return len(tx.execute(_sql["mark_lost"]).all())


def recent(tx: Connection, *, host_id: int, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["recent"], {"host_id": host_id, "n": n}).mappings()]


def open_borrowed(tx: Connection, *, host_id: int, token: UUID, worker: str) -> tuple[int, datetime]:
    """(visit id, database time) for a lease from `hosts.borrow`."""
    row = tx.execute(_sql["open"], {"host_id": host_id, "token": token, "worker": worker}).one()
    return row.id, row.taken_at


def latest(tx: Connection, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["latest"], {"n": n}).mappings()]
