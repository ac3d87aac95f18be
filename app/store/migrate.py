"""Brings the schema to head and says where it is.

Migrations are Alembic's, in migrations/. The views of views.sql are dropped before a migration, made again after it,
and left alone while nothing changes.

A fingerprint of views.sql, kept as the comment of `alembic_version`, identifies a database's views. Nothing that a
person built upon them is dropped: Postgres refuses, and so does the upgrade.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TypeGuard

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from app.errors import InputError, OtherSchema, ServiceError
from app.store import db

_OTHERS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)
_MIGRATIONS = Path(__file__).parents[2] / "migrations"
_SOURCE = Path(__file__).parent / "views.sql"


def upgrade(url: str, *, lock_timeout: str = "10s") -> None:
    """Bring the schema to head; at head nothing is touched, and no lock is taken.

    Concurrent upgrades wait for one another (advisory lock). Raises ServiceError, and InputError where an object of the
    person's own depends on something that would change, or a newer Tiptoe made the schema: then nothing was changed.

    lock_timeout: short, as every reader queues behind the lock that it waits for
    """
    engine = db.connect(url, pool_size=2)
    try:
        db.check(engine)
        if not is_at_head(engine):
            _check_known(engine)
            _migrate(engine, lock_timeout)
    finally:
        engine.dispose()


def is_at_head(engine: Engine) -> bool:
    """Whether the schema is of this Tiptoe's revision, and the views are its own. Raises ServiceError."""
    with db.transaction(engine) as connection:
        return _is_at_head(connection)


def require(engine: Engine, *, with_views: bool = True) -> None:
    """Raises OtherSchema unless the schema is this Tiptoe's, with the version found, the one wanted, and the remedy.

    with_views: its views, too. Workers read none of them."""
    with db.transaction(engine) as connection:
        found = _revision(connection)
        is_ours = found == revisions()[-1]
        if is_ours and (not with_views or views_found(connection) == views_fingerprint()):
            return
        role = connection.execute(text("SELECT current_user WHERE current_schema() IS NULL")).scalar_one_or_none()
    if role is not None:
        grant = f"GRANT USAGE, CREATE ON SCHEMA public TO {db.quoted(role)}"
        remedy = f"the role {role} sees no schema; run as the owner: {grant}"
    else:
        remedy = otherwise(found)
    raise OtherSchema(f"Postgres at {db.place(engine)}", remedy)


def otherwise(found: str | None) -> str:
    """The line about a schema that is not this Tiptoe's: what was found, what is wanted, what to do.

    found: its revision; of the head, its views are others"""
    if found == revisions()[-1]:
        return f"the views of its schema {found} are another Tiptoe's; run `tiptoe db upgrade`"
    wants = f"and this Tiptoe wants {revisions()[-1]}"
    if found is None:
        return f"it has no schema yet, {wants}; run `tiptoe crawl URL…`, or `tiptoe db upgrade` for an empty one"
    if is_newer(found):
        finding, remedy = unknown(found)
        return f"its schema {finding}, {wants}; {remedy}"
    return f"its schema is {found}, {wants}; run `tiptoe db upgrade`"


def others(engine: Engine) -> int:
    """The number of sessions on this database but the one that asks."""
    with db.transaction(engine) as connection:
        return int(connection.execute(_OTHERS).scalar_one())


def is_newer(found: str | None) -> TypeGuard[str]:
    """Whether this Tiptoe does not know this revision: a newer one made the schema, or another program did."""
    return found is not None and found not in revisions()


def unknown(found: str) -> tuple[str, str]:
    """The finding and the remedy for a revision that this Tiptoe does not know. Tiptoe numbers its own, and has one."""
    if re.fullmatch(r"[0-9]{4}", found):
        return f"{found} is newer than this Tiptoe", "upgrade Tiptoe here"
    return f"{found or '(no name)'} is another program's", f"{db.OWN_DATABASE}; tables of both cannot share one"


def _check_known(engine: Engine) -> None:
    found = revision(engine)
    if is_newer(found):
        raise OtherSchema(f"Postgres at {db.place(engine)}", otherwise(found))


def _is_at_head(connection: Connection) -> bool:
    return _revision(connection) == revisions()[-1] and views_found(connection) == views_fingerprint()


def _migrate(engine: Engine, lock_timeout: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with db.transaction(engine) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tiptoe migrations'))"))
        if _is_at_head(connection):  # another one did it meanwhile
            return
        connection.execute(text("SELECT set_config('lock_timeout', :most, true)"), {"most": lock_timeout})
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except DBAPIError as error:
            raise _stopped(engine, error.orig, lock_timeout) or error from error


def _stopped(engine: Engine, cause: BaseException | None, lock_timeout: str) -> InputError | ServiceError | None:
    """The reason why an upgrade failed, where a person can fix it."""
    match getattr(cause, "sqlstate", None):
        case "2BP01" | "0A000":  # dependent_objects_still_exist; "cannot alter type of a column used by a view"
            diag = getattr(cause, "diag", None)
            detail = str(getattr(diag, "message_detail", None) or cause).replace("\n", "; ")
            remedy = "nothing was changed; drop it, run `tiptoe db upgrade`, and create it again"
            return InputError(f"the upgrade would drop objects of your own ({detail})", remedy)
        case "55P03":  # lock_not_available
            remedy = f"an upgrade waited {lock_timeout} for another session's lock; end long queries, and try again"
            return ServiceError(f"Postgres at {db.place(engine)}", remedy)
    return None


def revision(engine: Engine) -> str | None:
    """The schema's revision; None before the first migration. Raises ServiceError."""
    with db.transaction(engine) as connection:
        return _revision(connection)


def _revision(connection: Connection) -> str | None:
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar_one() is None:
        return None
    found = connection.execute(text("SELECT CAST(version_num AS text) FROM alembic_version ORDER BY 1")).scalars().all()
    return ", ".join(found) if found else None  # of another program with a history of its own there are several


def revisions() -> list[str]:
    """All revisions that this Tiptoe knows, the head last: migrations are numbered.

    Saves commands the import of Alembic.
    """
    return sorted(path.stem.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def is_declared(connection: Connection) -> Callable[[str | None, str, object], bool]:
    """Alembic's include_name: leaves out partitions, which app.beat.rotate_logs makes and app.store.tables does not
    declare."""
    made = set(connection.execute(text("SELECT relname FROM pg_class WHERE relispartition")).scalars())
    return lambda name, kind, _: kind != "table" or name not in made


def view_names() -> list[str]:
    """The views, in the order they are made."""
    return re.findall(r"^CREATE VIEW (\w+)", "\n".join(_statements()), re.MULTILINE)


def views_fingerprint() -> str:
    """The fingerprint of this Tiptoe's views."""
    return "views " + sha256(_SOURCE.read_bytes()).hexdigest()[:16]


def views_found(connection: Connection) -> str | None:
    """The fingerprint of a database's views; None where it has none, or where an older Tiptoe kept no fingerprint."""
    comment: str | None = connection.execute(
        text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")
    ).scalar_one()
    return comment


def drop_views(connection: Connection) -> None:
    """Drop the views before a migration, as they block changes of columns.

    Postgres refuses where an object depends on one.
    """
    connection.exec_driver_sql(f"DROP VIEW IF EXISTS {', '.join(view_names())}")
    _keep(connection, None)


def recreate_views(connection: Connection) -> None:
    """Make the views after every migration (not before the first); they hold no data."""
    if connection.execute(text("SELECT to_regclass('crawls')")).scalar_one() is None:
        return
    for statement in _statements():
        connection.exec_driver_sql(statement)
    _keep(connection, views_fingerprint())


def _keep(connection: Connection, comment: str | None) -> None:
    written = f"'{comment}'" if comment else "NULL"
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar_one() is not None:
        connection.exec_driver_sql(f"COMMENT ON TABLE alembic_version IS {written}")


def _statements() -> list[str]:
    return [statement.strip() for statement in re.split(r";\n", _SOURCE.read_text()) if statement.strip()]
