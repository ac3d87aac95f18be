"""Visits: opened at take-up (hosts.take_up), closed at leaving. One query of visits.sql each."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("visits")


def close(tx: Connection, *, visit_id: int, ending: str, fetches: int) -> None:
    tx.execute(_sql["close"], {"visit_id": visit_id, "ending": ending, "fetches": fetches})


def mark_lost(tx: Connection) -> int:
    return len(tx.execute(_sql["mark_lost"]).all())


def recent(tx: Connection, *, host_id: int, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["recent"], {"host_id": host_id, "n": n}).mappings()]
