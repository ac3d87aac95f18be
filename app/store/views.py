"""The views of views.sql: dropped before a migration, made again after it, and left alone while nothing changes.

A fingerprint of views.sql, kept as the comment of `alembic_version`, identifies a database's views. Nothing that a
person built upon them is dropped: Postgres refuses, and so does the upgrade.
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
    """The fingerprint of this Tiptoe's views."""
    return "views " + sha256(_SOURCE.read_bytes()).hexdigest()[:16]


def found(connection: Connection) -> str | None:
    """The fingerprint of a database's views; None where it has none, or where an older Tiptoe kept no fingerprint."""
    comment: str | None = connection.execute(
        text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")
    ).scalar_one()
    return comment


def drop(connection: Connection) -> None:
    """Drop the views before a migration, as they block changes of columns.

    Postgres refuses where an object depends on one.
    """
    connection.exec_driver_sql(f"DROP VIEW IF EXISTS {', '.join(names())}")
    _keep(connection, None)


def recreate(connection: Connection) -> None:
    """Make the views after every migration (not before the first); they hold no data."""
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
