"""Visits: opened at take-up (hosts.take_up), closed at leaving. One query of visits.sql each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from sqlalchemy import Connection

from app.model import VisitEnding
from app.store import db

_sql = db.queries("visits")


class Ending(TypedDict):
    """taken_at: as the take-up said; it tells the partition."""

    id: int
    taken_at: datetime
    ending: VisitEnding
    detail: str | None
    fetches: int


def close(tx: Connection, rows: Sequence[Ending]) -> None:
    if rows:
        db.run(tx, _sql["close"], {"rows": db.rows_param(rows)})


def mark_lost(tx: Connection) -> int:
    return len(tx.execute(_sql["mark_lost"]).all())


def recent(tx: Connection, *, host_id: int, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["recent"], {"host_id": host_id, "n": n}).mappings()]


def latest(tx: Connection, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["latest"], {"n": n}).mappings()]


def audit(tx: Connection, host_ids: Sequence[int] | None, *, longest_s: float) -> list[Mapping[str, Any]]:
    """host_id, host, visits (that ended without a word), seconds (of which no row tells), overlapping: where there is any.

    None: all hosts.   longest_s: how long a visit can go on after its last logged request.
    """
    where = {"host_ids": None if host_ids is None else list(host_ids), "longest_s": longest_s}
    return [dict(row) for row in tx.execute(_sql["audit"], where).mappings()]
