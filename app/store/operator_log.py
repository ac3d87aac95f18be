"""Orders that people gave: who, when, what, and what became of it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("operator_log")
NEWEST = 2**63 - 1


class OperatorOrder(NamedTuple):
    """A row of operator_log.   ended_at: None: it runs, or its process ended without a word"""

    id: int
    at: datetime
    who: str
    face: str
    act: str
    subject: str
    detail: str | None
    ended_at: datetime | None
    failed: bool
    outcome: str | None


def begin(tx: Connection, *, who: str, face: str, act: str, subject: str, detail: str | None) -> int:
    """Note an order before it is carried out. Returns its id.   face: web"""
    where = {"who": who, "face": face, "act": act, "subject": subject, "detail": detail}
    return int(db.run(tx, _sql["begin"], where).scalar_one())


def end(tx: Connection, *, id: int, failed: bool, outcome: str) -> None:
    """Note what became of it."""
    db.run(tx, _sql["end"], {"id": id, "failed": failed, "outcome": outcome})


def latest(tx: Connection, *, n: int, before: int = NEWEST, subject: str | None = None) -> Sequence[OperatorOrder]:
    """The latest orders, the newest first."""
    return db.run(tx, _sql["latest"], {"n": n, "before": before, "subject": subject}).of(OperatorOrder)
