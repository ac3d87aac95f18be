"""Engine, transaction, named queries, migrations. The one place that knows the driver.

SQL stands in .sql files beside the modules that run it: `-- name: words of its purpose` opens a query. Nothing builds
SQL from strings. Rows go in as one JSON parameter (`json_to_recordset`): one round trip however many.
"""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import psycopg
from sqlalchemy import Connection, Engine, TextClause, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import InputError, ServiceError, Unwritable
from app.store import border
from app.store.border import rows_param as rows_param

OLDEST_POSTGRES = 15

# A black hole (a partition, a machine that is gone) must not hold a thread for the quarter of an hour that TCP tries, nor the
# two hours until it asks whether a silent peer is there. In seconds but for tcp_user_timeout; libpq-connect.html.
_NOTICES_A_DEAD_PEER = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}
# The same for Postgres: what we hold when we are gone is free again, our locks first. And its compiler stays off: it takes
# longer than any of our queries, and is called by what it expects of a list of rows, which is always a hundred.
_SESSION = {
    "jit": "off",
    "idle_in_transaction_session_timeout": "10s",
    "tcp_keepalives_idle": "10s",
    "tcp_keepalives_interval": "5s",
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": "10s",
}
READ_ONLY = "25006"  # errcodes-appendix.html: read_only_sql_transaction
_MIGRATIONS = Path(__file__).parents[2] / "migrations"
_NAME = re.compile(r"^-- (\w+): .+$", re.MULTILINE)
_BOUND = re.compile(r"(?<![:\w]):(\w+)(?!:)")  # :name, as SQLAlchemy's text() has it
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_Kind = TypeVar("_Kind", bound=NamedTuple)


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


def array_param(values: Sequence[int | UUID | None]) -> str:
    """Numbers or ids as Postgres writes an array, to be CAST: the driver takes ten times as long over a list."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"


def run(tx: Connection, query: TextClause, where: Mapping[str, Any] = _NOTHING) -> "Rows":
    """Run a query of a visit: in the transaction of `tx`, by the driver itself.

    SQLAlchemy's own way to the same cursor makes what it knows of a result's columns anew each time: a quarter of the CPU of a
    visit. Raises psycopg.Error, which `transaction` takes as it takes SQLAlchemy's.
    """
    driven = _driven(query)
    cursor = tx.connection.cursor()
    cursor.execute(driven.sql, where)
    return Rows(cursor, driven)


class Rows:
    """What a query brought, as named tuples."""

    __slots__ = ("_cursor", "_driven")

    def __init__(self, cursor: Any, driven: "_Driven") -> None:
        self._cursor, self._driven = cursor, driven

    @property
    def rowcount(self) -> int:
        """Rows that were written, where none are returned."""
        return int(self._cursor.rowcount)

    def all(self) -> list[Any]:
        rows = self._cursor.fetchall()
        return list(map(self._driven.kind(self._cursor)._make, rows))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.all())

    def one_or_none(self) -> Any:
        rows = self.all()
        assert len(rows) < 2, "the query was to bring one row"
        return rows[0] if rows else None

    def one(self) -> Any:
        (row,) = self.all()
        return row

    def scalar_one(self) -> Any:
        ((value,),) = self._cursor.fetchall()
        return value

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """As `kind`, each field from the column of its name."""
        rows = self._cursor.fetchall()
        columns = self._driven.kind(self._cursor)._fields
        in_order = itemgetter(*(columns.index(name) for name in kind._fields))
        return [kind._make(in_order(row)) for row in rows]


class _Driven:
    """A query as the driver wants it, and the named tuple of its rows, which the first result tells."""

    __slots__ = ("_kind", "sql")

    def __init__(self, query: TextClause) -> None:
        self.sql = _BOUND.sub(r"%(\1)s", query.text.replace("%", "%%"))
        self._kind: Any = None

    def kind(self, cursor: Any) -> Any:
        if self._kind is None:
            self._kind = _row_of([column.name for column in cursor.description])
        return self._kind


def _row_of(names: list[str]) -> Any:
    return namedtuple("Row", names)


@cache
def _driven(query: TextClause) -> _Driven:
    return _Driven(query)


def connect(url: str, *, pool_size: int = 16) -> Engine:
    """An engine for a process; made after fork. url: postgresql://…  Raises InputError for a URL that is not Postgres'."""
    try:
        parsed = make_url(url)
    except ValueError as error:
        remedy = "has a port that is no number; several hosts are written postgresql://user:password@/name?host=a,b&port=5432,5432"
        raise InputError("TIPTOE_DATABASE_URL", remedy) from error
    except ArgumentError as error:
        raise InputError(
            "TIPTOE_DATABASE_URL", "is not a database URL; write postgresql://user:password@host/name"
        ) from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise InputError(
            f"TIPTOE_DATABASE_URL={parsed.render_as_string(hide_password=True)}",
            f"the frontier lives in Postgres, not {parsed.get_backend_name()}; write postgresql://user:password@host/name",
        )
    try:
        engine = create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_size=pool_size,
            max_overflow=4,
            pool_timeout=30,
            pool_use_lifo=True,  # the connection used last has its plans and its backend's caches warm
            connect_args={"application_name": "tiptoe", "options": _options(parsed), **_unless_given(parsed)},
        )
    except ArgumentError as error:  # ?plugin=x
        raise InputError("TIPTOE_DATABASE_URL", f"has a parameter that is not known: {error}") from error
    event.listen(engine, "connect", lambda connection, _record: border.guard(connection))
    return engine


def _unless_given(url: URL) -> dict[str, int]:
    return {name: value for name, value in _NOTICES_A_DEAD_PEER.items() if name not in url.query}


def _options(url: URL) -> str:
    """libpq's `options`: ours, then those of the URL, which win."""
    own = url.query.get("options", "")
    ours = (f"-c {name}={value}" for name, value in _SESSION.items())
    return " ".join([*ours, own if isinstance(own, str) else " ".join(own)]).strip()


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """A short transaction, committed at the end.

    Raises ServiceError when Postgres is out of reach or refuses to serve, Unwritable when it refuses the values.

    Its queries are not pipelined (psycopg's pipeline mode spares round trips): a backend that waits within a pipeline is not idle
    in a transaction to Postgres, and so a process that is stopped there would keep its host locked as long as it is.
    """
    try:
        with _connection(engine) as connection, connection.begin():
            yield connection
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        is_read_only = getattr(cause, "sqlstate", None) == READ_ONLY
        if is_read_only:
            engine.dispose()  # it was demoted, say: the next connection finds who writes now
        is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if isinstance(cause, psycopg.OperationalError) or is_lost or is_read_only:
            raise ServiceError(f"Postgres at {place(engine)}", _first_line(cause)) from error
        if isinstance(cause, psycopg.DataError | psycopg.IntegrityError):  # SQLSTATE 22 and 23: by what it would write
            raise Unwritable(cause.sqlstate, _first_line(cause)) from error
        raise


def _connection(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except OSError as error:  # no file descriptor is left, say
        raise ServiceError(f"Postgres at {place(engine)}", error.strerror or str(error)) from error
    except PoolTimeout as error:
        raise ServiceError(f"Postgres at {place(engine)}", "no free connection; raise TIPTOE_POOL_SIZE") from error


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


def is_declared(connection: Connection) -> Callable[[str | None, str, object], bool]:
    """For Alembic's include_name: partitions come and go (app.crawl.retain), so app.store.tables does not declare them."""
    made = set(connection.execute(text("SELECT relname FROM pg_class WHERE relispartition")).scalars())
    return lambda name, kind, _: kind != "table" or name not in made


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


def _first_line(error: BaseException | None) -> str:
    message = str(error).strip().replace("\n", " ")
    return re.sub(r"\s+", " ", message)[:300] or type(error).__name__
