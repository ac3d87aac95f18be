"""An operator's orders for all hosts of a registrable domain.

One query of domains.sql each, in the caller's transaction.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from app.model import RestReason
from app.store import db

_sql = db.queries("domains")


def slow(tx: Connection, name: str, delay_s: float | None) -> list[str]:
    """Set the domain's delay. Returns the known hosts that it applies to: those without a delay of their own."""
    return [row.name for row in tx.execute(_sql["slow"], {"name": name, "delay_s": delay_s})]


def quiet(tx: Connection, name: str, hours: str | None) -> list[str]:
    """Set the domain's quiet hours. Returns its known hosts."""
    where = {"name": name, "hours": hours, "reason": RestReason.QUIET_HOURS.value}
    return [row.name for row in tx.execute(_sql["quiet"], where)]


def find(tx: Connection, name: str) -> Mapping[str, Any] | None:
    row = tx.execute(_sql["find"], {"name": name}).mappings().one_or_none()
    return dict(row) if row else None
