"""The views of views.sql: dropped before a migration, made anew after it, and left alone while nothing changes.

A fingerprint of views.sql, kept as the comment of `alembic_version`, says which of them a database has. Nothing that a person
built upon them is dropped: Postgres refuses, and so does the upgrade.
"""

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from sqlalchemy import Connection, text

_SOURCE = Path(__file__).parent / "views.sql"


def names() -> list[str]:
    """The views, in the order they are made."""
    return re.findall(r"^CREATE VIEW (\w+)", "\n".join(_statements()), re.MULTILINE)


@cache
def fingerprint() -> str:
    """Of the views as this Tiptoe has them."""
    return "views " + sha256(_SOURCE.read_bytes()).hexdigest()[:16]


def found(connection: Connection) -> str | None:
    """Of those that a database has; None where it has none, or where they are of a Tiptoe that kept no fingerprint."""
    comment: str | None = connection.execute(
        text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")
    ).scalar_one()
    return comment


def drop(connection: Connection) -> None:
    """Before a migration, so that no view stands in the way of a column. Postgres refuses where something else stands on one."""
    connection.exec_driver_sql(f"DROP VIEW IF EXISTS {', '.join(names())}")
    _keep(connection, None)


def recreate(connection: Connection) -> None:
    """They hold no data, so they are made anew after every migration (not before the first)."""
    if connection.execute(text("SELECT to_regclass('crawls')")).scalar_one() is None:
        return
    for statement in _statements():
        connection.exec_driver_sql(statement)
    _keep(connection, fingerprint())


def _keep(connection: Connection, comment: str | None) -> None:
    written = f"'{comment}'" if comment else "NULL"
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar_one() is not None:
        connection.exec_driver_sql(f"COMMENT ON TABLE alembic_version IS {written}")


def _statements() -> list[str]:
    return [statement.strip() for statement in re.split(r";\n", _SOURCE.read_text()) if statement.strip()]
