"""Hosts that are offered, taken and left."""

from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from app.store import db, hosts
from app.store.host_rows import TakenHost
from tests.store.rows import (
    claim,
    contact,
    make_due_host,
)


def offer(engine: Engine) -> UUID:
    """Claim the one host that is due."""
    (claimed,) = claim(engine, {"host-00": 1})
    return claimed.token


def take_up(engine: Engine, host_id: int, token: UUID) -> TakenHost | None:
    with db.transaction(engine) as tx:
        return hosts.take_up(tx, host_id=host_id, token=token, worker="w:1", lease_s=60)


def taken_host(engine: Engine, **columns: Any) -> tuple[int, UUID]:
    host_id = make_due_host(engine, **columns)
    token = offer(engine)
    assert take_up(engine, host_id, token) is not None
    return host_id, token


def leave(engine: Engine, host_id: int, token: UUID, **columns: Any) -> bool:
    """Lock, leave, commit. False: fenced."""
    with db.transaction(engine) as tx:
        if hosts.lock_leased(tx, host_id=host_id, token=token) is None:
            return False
        hosts.leave(tx, [contact(host_id, token, **columns)])
        return True
