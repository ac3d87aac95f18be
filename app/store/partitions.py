"""Makes and drops partitions of the logs while the fleet writes.

One query of partitions.sql each; DDL cannot be prepared, so it stands here.

A statement that changes a log's partitions needs a lock that conflicts with every reader and writer, and later ones
queue behind it. So it gives up after LOCK_MS; the next run tries again.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from app.policy.retention import Part, Span
from app.store import db, server

_sql = db.queries("partitions")
LOGS = ("fetches", "visits", "links")
_STRAYS = {
    "fetches": _sql["strays_of_fetches"],
    "visits": _sql["strays_of_visits"],
    "links": _sql["strays_of_links"],
}


def alone(engine: Engine, act: Callable[[Connection], bool]) -> bool | None:
    """Run `act` in one transaction; None when others held the locks, and nothing was changed. Raises ServiceError."""
    with db.transaction(engine) as tx:
        if not server.be_alone(tx, "partitions"):
            return None
        tx.execute(_sql["wait_briefly"], {"ms": 100})
        try:
            with tx.begin_nested():
                return act(tx)
        except OperationalError as error:
            if isinstance(error.orig, psycopg.errors.LockNotAvailable):
                return None
            raise


def parts(tx: Connection, log: str) -> list[Part]:
    """The partitions in order, without the default one."""
    return [Part(**row._asdict()) for row in tx.execute(_sql["parts"], {"log": log})]


def strays(tx: Connection, log: str) -> tuple[datetime, datetime] | None:
    """Times of the oldest and the newest row of the default partition; None: it is empty, as it should be."""
    row = tx.execute(_STRAYS[log]).one()
    return None if row.oldest is None else (row.oldest, row.newest)


def make(tx: Connection, log: str, span: Span) -> str:
    """Make a partition: a new one, or the default one with its rows, which a new one replaces. Returns its name.

    The log is locked first: an insert that had chosen the default partition and waited for it would fail.
    """
    name, default = f"{log}_{_date(span.lower)}", f"{log}_default"
    _run(tx, "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", log)
    if span.adopts:
        _run(tx, "ALTER TABLE {} DETACH PARTITION {}", log, default)
        _run(tx, "ALTER TABLE {} RENAME TO {}", default, name)
    else:
        _run(tx, "CREATE TABLE {} (LIKE {} INCLUDING CONSTRAINTS INCLUDING DEFAULTS)", name, log)
    _run(tx, "ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})", log, name, span.lower, span.upper)
    if span.adopts:
        _run(tx, "CREATE TABLE {} PARTITION OF {} DEFAULT", default, log)
    return name


def detach(tx: Connection, log: str, part: Part) -> None:
    """Take a partition out of the log at once; `drop` removes its files when nobody waits."""
    _run(tx, "ALTER TABLE {} DETACH PARTITION {}", log, part.name)
    _run(tx, "ALTER TABLE {} RENAME TO {}", part.name, f"{log}_dropped_{_date(part.upper)}")


def detached(tx: Connection) -> list[str]:
    return list(tx.execute(_sql["detached"]).scalars())


def drop(tx: Connection, name: str) -> None:
    _run(tx, "DROP TABLE {}", name)


def _date(moment: datetime) -> str:
    """A bound in UTC, whatever the session's time zone is."""
    return f"{moment.astimezone(UTC):%Y%m%d}"


def _run(tx: Connection, statement: str, *values: Any) -> None:
    """Run a statement of DDL. Parameters: str is a name, else a literal."""
    parts = [sql.Identifier(value) if isinstance(value, str) else sql.Literal(value) for value in values]
    tx.exec_driver_sql(sql.SQL(statement).format(*parts).as_string())
