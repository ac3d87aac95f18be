"""Engine, transaction, named queries, migrations. The one place that knows the driver.

SQL stands in .sql files beside the modules that run it: `-- name: words of its purpose` opens a query. Nothing builds
SQL from strings. Rows go in as one JSON parameter (`json_to_recordset`): one round trip however many.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, TextClause, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from app.errors import InputError, ServiceError

OLDEST_POSTGRES = 15
_MIGRATIONS = Path(__file__).parents[2] / "migrations"
_NAME = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


@cache
def queries(room: str) -> Mapping[str, TextClause]:
    """The named queries of app/store/<room>.sql: {name: SQL}."""
    source = (Path(__file__).parent / f"{room}.sql").read_text()
    marks = list(_NAME.finditer(source))
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    return {mark[1]: text(source[mark.end() : end].strip().rstrip(";")) for mark, end in zip(marks, ends, strict=True)}


def rooms() -> list[str]:
    """Names of all query files, for the test that PREPAREs every query."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.sql") if path.stem != "views")


def rows_param(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as one JSON parameter. bytes become hex text: decode(x, 'hex') in the query. NUL, which Postgres' text
    cannot hold, and lone surrogates are dropped."""
    encoded = json.dumps(rows, default=_hex, ensure_ascii=False, separators=(",", ":"))
    if "\\u0000" in encoded:
        encoded = re.sub(r"(?<!\\)((?:\\\\)*)\\u0000", r"\1", encoded)
    return encoded.encode("utf-8", "ignore").decode()


def _hex(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} in a row")


def connect(url: str, *, pool_size: int = 16) -> Engine:
    """An engine for a process; made after fork. url: postgresql://…  Raises InputError for a URL that is not Postgres'."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InputError(
            "TIPTOE_DATABASE_URL", "is not a database URL; write postgresql://user:password@host/name"
        ) from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise InputError(
            f"TIPTOE_DATABASE_URL={parsed.render_as_string(hide_password=True)}",
            f"the frontier lives in Postgres, not {parsed.get_backend_name()}; write postgresql://user:password@host/name",
        )
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=4,
        pool_timeout=30,
        connect_args={"connect_timeout": 10, "application_name": "tiptoe"},
    )


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """A short transaction, committed at the end. Raises ServiceError when Postgres is out of reach or refuses to serve."""
    try:
        with engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        if isinstance(error, OperationalError) or error.connection_invalidated:
            raise ServiceError(f"Postgres at {place(engine)}", _first_line(error)) from error
        raise
    except SQLAlchemyError as error:
        if type(error).__name__ == "TimeoutError":
            raise ServiceError(f"Postgres at {place(engine)}", "no free connection; raise TIPTOE_POOL_SIZE") from error
        raise


def check(engine: Engine) -> int:
    """Postgres' major version. Raises ServiceError when it is out of reach or too old."""
    with transaction(engine) as connection:
        version = int(connection.execute(text("SHOW server_version_num")).scalar_one()) // 10_000
    if version < OLDEST_POSTGRES:
        raise ServiceError(
            f"Postgres at {place(engine)}", f"is version {version}; {OLDEST_POSTGRES} or newer is needed"
        )
    return version


def upgrade(url: str) -> None:
    """Bring the schema to head. Several at once wait for one another (advisory lock). Raises ServiceError."""
    from alembic import command
    from alembic.config import Config

    engine = connect(url, pool_size=2)
    try:
        check(engine)
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        with transaction(engine) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tiptoe migrations'))"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def revision(engine: Engine) -> str | None:
    """The schema's revision; None before the first migration. Raises ServiceError."""
    with transaction(engine) as connection:
        if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar_one() is None:
            return None
        found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
        return found


def revisions() -> list[str]:
    """All revisions that this Tiptoe knows, the head last: migrations are numbered. Spares commands Alembic's import."""
    return sorted(path.stem.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def recreate_views(connection: Connection) -> None:
    """Views hold no data, so they are made anew from views.sql after every migration (not before the first)."""
    if connection.execute(text("SELECT to_regclass('crawls')")).scalar_one() is None:
        return
    for statement in _views():
        connection.exec_driver_sql(statement)


def drop_views(connection: Connection) -> None:
    """Before a migration, so that no view stands in the way of a column."""
    for name in view_names():
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name} CASCADE")


def view_names() -> list[str]:
    """The views, in the order they are made."""
    return re.findall(r"^CREATE VIEW (\w+)", "\n".join(_views()), re.MULTILINE)


def _views() -> list[str]:
    source = (Path(__file__).parent / "views.sql").read_text()
    return [statement.strip() for statement in re.split(r";\n", source) if statement.strip()]


def place(engine: Engine) -> str:
    """Where Postgres is, without the password, for messages."""
    return engine.url.set(drivername="postgresql").render_as_string(hide_password=True)


def _first_line(error: DBAPIError) -> str:
    message = str(error.orig).strip().replace("\n", " ")
    return re.sub(r"\s+", " ", message)[:300] or type(error.orig).__name__
