"""Engine, transaction, named queries. The one place that knows the driver.

SQL stands in .sql files beside the modules that run it: `-- name: words of its purpose` opens a query. Nothing builds
SQL from strings. Rows go in as one JSON parameter (`json_to_recordset`): one round trip however many.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import unquote
from uuid import UUID

import psycopg
import structlog
from psycopg.rows import namedtuple_row
from sqlalchemy import Connection, Engine, TextClause, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import Deadlock, InputError, ServiceError, TiptoeError, Unwritable
from app.model.crawl import OPTIONS
from app.store import border, deadline
from app.store.border import Rows
from app.store.border import RowsParam as RowsParam
from app.store.border import rows_param as rows_param
from app.words import without_password

_log = structlog.get_logger()

OLDEST_POSTGRES = 15

# A black hole (a partition, a machine that is gone) must not hold a thread for the quarter of an hour that TCP retries,
# nor the two hours until TCP probes a silent peer. In seconds but for tcp_user_timeout; libpq-connect.html. An idle
# connection ends at the probe after tcp_user_timeout: three are sent before it, since the network may lose one.
_NOTICES_A_DEAD_PEER = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
# Postgres probes us likewise: when we are gone, our locks are released. Its JIT compiler stays off: it takes longer
# than any of our queries, and is triggered by the estimated length of a list of rows, which is always a hundred.
_SESSION = {
    "jit": "off",
    "idle_in_transaction_session_timeout": "10s",
    "idle_session_timeout": "0",  # of our pools; a session that Postgres ended fails at its next query
    "tcp_keepalives_idle": "5s",
    "tcp_keepalives_interval": "2s",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10s",
}
# What our queries and the driver are written for; it wins over options of the URL, and the variables and roles of
# whoever runs us. Times are shown, exported and compared as Postgres answers them. A visit's transactions are made for
# read committed: in serializable ones, settles of two hosts that share a row would undo each other.
_PINNED = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "default_transaction_isolation": "read committed",
}
_ENCODING = "UTF8"
# A pooler that shares connections between transactions (PgBouncer in transaction mode) takes no `options`, and a
# prepared statement would stay on a server connection that another client uses next. `?pooler=transaction` in the URL
# declares it.
POOLER = "pooler"
POOLED = "transaction"
_MARK = "tiptoe.session"  # a setting of our own, in `options`: where it does not arrive, the others do not either
_NO_OPTIONS = "startup parameter"  # unsupported startup parameter: options (PgBouncer)
_POOLER_REMEDY = (
    "write ?pooler=transaction at the end of TIPTOE_DATABASE_URL (&pooler=transaction after other parameters)"
)
_ROLES = {
    "jit": "on",
    "idle_in_transaction_session_timeout": "0",
}  # settings of _SESSION that must hold, and Postgres' defaults
# https://www.postgresql.org/docs/current/errcodes-appendix.html
READ_ONLY = "25006"  # read_only_sql_transaction
VALUES = frozenset({"22", "23", "54"})  # classes: the values to write are at fault, or too large for jsonb or an index
OWN_DATABASE = "make a database for Tiptoe alone (createdb NAME), and name it in TIPTOE_DATABASE_URL"
_REMEDIES = {  # by SQLSTATE, else by its class
    "08": "check the network, and that Postgres runs",
    "0A": f"Postgres {OLDEST_POSTGRES} or newer is needed, without extensions that forbid this",
    "25006": "write to the primary: name all servers and target_session_attrs=read-write in TIPTOE_DATABASE_URL; "
    "or reset default_transaction_read_only of the role",
    "25P04": "raise transaction_timeout of the role",
    "28": "correct the user and the password in TIPTOE_DATABASE_URL, or pg_hba.conf",
    "3D": "create the database, or correct its name in TIPTOE_DATABASE_URL",
    "42P07": OWN_DATABASE,
    "42": "the schema is not as this Tiptoe makes it: run `tiptoe db upgrade`; if that does not help, report it",
    "53100": "make room on Postgres' disk",
    "53200": "give Postgres' machine more memory",
    "53300": "raise max_connections of Postgres, or lower TIPTOE_POOL_SIZE",
    "53": "give Postgres' machine more of it",
    "55": "end the session that holds it, and try again",
    "57014": "raise statement_timeout of the role, or try again",
    "57P05": "reset idle_session_timeout of the role",
    "57": "try again when Postgres is up",
    "P0": "a trigger or a function of your own refused it; correct or drop it",
}
_NO_ENTRY = "check TIPTOE_DATABASE_URL, and that Postgres runs there and lets this role in"
TRIES = 4  # of a transaction
_NAME = re.compile(r"^-- (\w+): .+$", re.MULTILINE)
_BOUND = re.compile(r"(?<![:\w]):(\w+)(?!:)")  # :name, as SQLAlchemy's text() has it
_BARE = re.compile(r"^(?:\s*--.*\n)+|^\s+", re.MULTILINE)  # comments, and indentation
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_CASTS = {"flag": "boolean", "list": "text[]", "whole": "bigint", "choice": "text", "profile": "text"}
_OPTIONS = {name: f"CAST(:{name} AS {_CASTS.get(option.kind, 'double precision')})" for name, option in OPTIONS.items()}
_LISTS = {  # what queries write for a crawl's options, whatever they are
    "{options}": ", ".join(_OPTIONS),
    "{:options}": ", ".join(_OPTIONS.values()),
    "{options = :options}": ", ".join(f"{name} = {value}" for name, value in _OPTIONS.items()),
}
_T = TypeVar("_T")


@cache
def queries(room: str, beside: str = __file__) -> Mapping[str, TextClause]:
    """The named queries of <room>.sql: {name: SQL}.   beside: the file that they are for; of app/store, unless said"""
    source = (Path(beside).parent / f"{room}.sql").read_text()
    for mark, listed in _LISTS.items():
        source = source.replace(mark, listed)
    marks = list(_NAME.finditer(source))
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    return {mark[1]: text(source[mark.end() : end].strip().rstrip(";")) for mark, end in zip(marks, ends, strict=True)}


def array_param(values: Sequence[int | UUID | None]) -> str:
    """Numbers or ids in Postgres' notation of an array, to be CAST: the driver takes ten times as long for a list."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"


def run(tx: Connection, query: TextClause, where: Mapping[str, Any] = _NOTHING) -> Rows:
    """Run a query of a visit: in the transaction of `tx`, by the driver itself.

    SQLAlchemy rebuilds its column metadata for every result: a quarter of the CPU of a visit. Raises psycopg.Error,
    which `transaction` translates like SQLAlchemy's.
    """
    deadline.tell(tx.connection)
    cursor = tx.connection.cursor(row_factory=namedtuple_row)
    cursor.execute(driven(query), where)
    return Rows(cursor)


def tuples(tx: Connection, query: TextClause, where: Mapping[str, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a query for many rows: its column names, and its rows as plain tuples, which cost half of named ones."""
    deadline.tell(tx.connection)
    cursor = tx.connection.cursor()
    cursor.execute(driven(query), where)
    rows: list[tuple[Any, ...]] = cursor.fetchall()  # type: ignore[assignment]  # psycopg makes a list
    return [column[0] for column in cursor.description or ()], rows


@cache
def driven(query: TextClause) -> str:
    """A query as the driver wants it: bare, as it looks for the parameters of one over 4,096 bytes at each call."""
    return _BOUND.sub(r"%(\1)s", _BARE.sub("", query.text).replace("%", "%%"))


def connect(url: str, *, pool_size: int = 16, session_name: str = "tiptoe", may_spread: bool = True) -> Engine:
    """An engine for a process; make it after a fork. url: postgresql://…  Raises InputError for a URL that is not
    Postgres'.

    session_name: of its sessions, in pg_stat_activity
    may_spread: a query may take several cores; behind a pooler it always may"""
    try:
        parsed = make_url(url)
    except ValueError as error:
        example = "postgresql://user:password@/name?host=a,b&port=5432,5432"
        remedy = f"has a port that is not a number; write several hosts as {example}"
        raise InputError("TIPTOE_DATABASE_URL", remedy) from error
    except ArgumentError as error:
        raise InputError(
            "TIPTOE_DATABASE_URL", "is not a database URL; write postgresql://user:password@host/name"
        ) from error
    if "\0" in unquote(url):  # libpq would end there: at another server, say, that its rest does not name
        raise InputError("TIPTOE_DATABASE_URL", "has a NUL (%00) in it; remove it")
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise InputError(
            f"TIPTOE_DATABASE_URL={without_password(parsed.render_as_string(hide_password=False))}",
            f"the frontier needs Postgres, not {parsed.get_backend_name()}; write postgresql://user:password@host/name",
        )
    # A host's proof takes 1 ms, and 90 where Postgres starts two more processes for it, as for a log of millions.
    session = _session(parsed, _SESSION if may_spread else _SESSION | {"max_parallel_workers_per_gather": "0"})
    try:
        engine = create_engine(
            parsed.set(drivername="postgresql+psycopg").difference_update_query([POOLER]),
            pool_size=pool_size,
            max_overflow=4,
            pool_timeout=30,
            use_native_hstore=False,  # we have none: its type is not looked for in each process
            pool_use_lifo=True,  # the connection used last has its plans and its backend's caches warm
            connect_args={
                "application_name": session_name,
                "client_encoding": _ENCODING,
                **session,
                **_unless_given(parsed),
            },
        )
    except ArgumentError as error:  # ?plugin=x
        raise InputError("TIPTOE_DATABASE_URL", f"has an unknown parameter; remove it: {error}") from error
    event.listen(engine, "connect", lambda connection, _record: border.guard(connection))
    event.listen(engine, "connect", _check_pinned if parsed.query.get(POOLER) else _pin)
    event.listen(engine, "before_cursor_execute", lambda _, cursor, *_rest: deadline.tell(cursor.connection))
    return engine


def _pin(connection: Any, _: object) -> None:
    """Set what is pinned on a new connection: libpq's own variables (PGDATESTYLE, PGTZ) win over our `options`.

    Raises ServiceError where the `options` were lost: prepared statements would fail at random later.
    """
    with connection.cursor() as cursor:
        pins = [part for pair in _PINNED.items() for part in pair]
        setters = ", ".join(["set_config(%s, %s, false)"] * len(_PINNED))
        cursor.execute(
            f"SELECT current_setting(%s, true), current_setting('server_encoding'), {setters}", [_MARK, *pins]
        )
        mark, encoding, *_rest = cursor.fetchone()
    connection.commit()
    if not mark:
        connection.close()
        raise ServiceError("a pooler before Postgres", f"drops the settings of our sessions; {_POOLER_REMEDY}")
    _check_encoding(connection, encoding)


def _check_pinned(connection: Any, _: object) -> None:
    """Check what is pinned on a new connection through a pooler, which takes no `options`. Raises ServiceError."""
    with connection.cursor() as cursor:
        shown = ", ".join(["current_setting(%s)"] * len(_PINNED))
        cursor.execute(f"SELECT current_setting('server_encoding'), current_user, {shown}", [*_PINNED])
        encoding, role, *found = cursor.fetchone()
    connection.rollback()
    _check_encoding(connection, encoding)
    wrong = [name for name, value in zip(_PINNED, found, strict=True) if not _is_pinned(name, value)]
    if wrong:
        connection.close()
        remedy = "; ".join(f"ALTER ROLE {quoted(role)} SET {name} = '{_PINNED[name]}'" for name in wrong)
        raise ServiceError(
            f"Postgres behind a pooler: {', '.join(wrong)}",
            f"is not what Tiptoe needs, and a pooler does not pass it on; run: {remedy}; then let the pooler reconnect",
        )


def _is_pinned(name: str, value: str) -> bool:
    if name == "TimeZone":
        return value in {"UTC", "Etc/UTC", "GMT"}  # a package takes the machine's zone
    return value.startswith("ISO") if name == "DateStyle" else value == _PINNED[name]


def _check_encoding(connection: Any, encoding: str) -> None:
    """Raise ServiceError for a database that cannot hold any site's text, or counts it in octets (SQL_ASCII)."""
    if encoding == _ENCODING:
        return
    name = connection.info.dbname
    connection.close()
    remedy = f"make one in {_ENCODING} (createdb -E {_ENCODING} -T template0 NAME), and name it in TIPTOE_DATABASE_URL"
    raise ServiceError(f"the database {name}", f"is in {encoding}, which does not hold the text of all sites; {remedy}")


def _unless_given(url: URL) -> dict[str, int]:
    return {name: value for name, value in _NOTICES_A_DEAD_PEER.items() if name not in url.query}


def _session(url: URL, wanted: Mapping[str, str]) -> dict[str, str | None]:
    """The connect arguments of a session.

    Behind a pooler its settings are the role's (docs/operating.md), and nothing is prepared."""
    pooler = url.query.get(POOLER)
    if pooler is None:
        return {"options": _options(url, wanted)}
    if pooler != POOLED:
        remedy = f"is an unknown mode; write pooler={POOLED}, or leave it out where sessions are pooled, or nothing"
        raise InputError(f"TIPTOE_DATABASE_URL: pooler={pooler}", remedy)
    return {"prepare_threshold": None}


def _options(url: URL, wanted: Mapping[str, str]) -> str:
    """libpq's `options`: ours, then those of the URL, which win, then what is pinned."""
    own = url.query.get("options", "")
    ours, pinned = _written({**wanted, _MARK: "1"}), _written(_PINNED)
    return " ".join([*ours, *([own] if isinstance(own, str) else own), *pinned])


def _written(values: Mapping[str, str]) -> list[str]:
    return [f"-c {name}=" + value.replace(" ", "\\ ") for name, value in values.items()]


def repeat(act: Callable[[], _T]) -> _T:
    """Run `act`, again if Postgres undid its transaction for another's sake, TRIES times at most. Returns its result.

    The lock order (ARCHITECTURE.md) leaves no deadlock that we know of; this handles those that we overlooked, and
    conflicts with a standby's recovery.
    act: one transaction; it undoes its other changes when it fails.
    """
    for _ in range(TRIES - 1):
        try:
            return act()
        except Deadlock as error:
            _log.warning("db.deadlock", error=str(error))
    return act()


@contextmanager
def transaction(engine: Engine, *, by_statement: bool = False, frozen: bool = False) -> Iterator[Connection]:
    """A short transaction, committed at the end.

    Raises ServiceError when Postgres is out of reach or refuses to serve, Deadlock when it undid it for another's sake,
    Unwritable when it refuses the values, TookTooLong at the deadline of a page or command.

    by_statement: each statement commits by itself, inside Postgres: a row that many wait for is not locked for a round
    trip, nor until a busy process sends COMMIT.
    frozen: all statements see one moment, and only read.

    Its queries are not pipelined (psycopg's pipeline mode saves round trips): to Postgres, a backend that waits in a
    pipeline is not idle in a transaction, so a process that is stopped there would keep its host locked.
    """
    try:
        with _connection(engine) as connection:
            if by_statement:
                connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if frozen:
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                deadline.tell(connection.connection, begins=True)
                yield connection
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        sqlstate = getattr(cause, "sqlstate", None)
        stopped = deadline.ended() if sqlstate == "57014" else None  # query_canceled
        if stopped is not None:
            raise stopped from error
        if sqlstate == READ_ONLY:
            engine.dispose()  # it was demoted, say: the next connection finds who writes now
        is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
        translated = _translated(engine, cause, is_lost=is_lost)
        if translated is None:
            raise
        raise translated from error


def _translated(engine: Engine, cause: BaseException | None, *, is_lost: bool) -> TiptoeError | None:
    """Postgres' error as one of ours, in one line with the remedy. None: the driver's, and so a bug."""
    sqlstate, said, where = getattr(cause, "sqlstate", None), _first_line(cause), f"Postgres at {place(engine)}"
    if sqlstate in {"40P01", "40001"}:  # deadlock_detected, serialization_failure: a repeat may succeed
        return Deadlock(where, said)
    if sqlstate is None and isinstance(cause, psycopg.DataError):
        return Unwritable(None, said)
    if sqlstate is not None:
        if sqlstate[:2] in VALUES:
            return Unwritable(sqlstate, said)
        return ServiceError(where, f"{said}; {_remedy(engine, sqlstate, said)}")
    if isinstance(cause, psycopg.OperationalError) or is_lost:
        return ServiceError(where, f"{said}; {_POOLER_REMEDY if _NO_OPTIONS in said else _NO_ENTRY}")
    return None


def _remedy(engine: Engine, sqlstate: str, said: str) -> str:
    if sqlstate == "42501" or sqlstate.startswith("3F"):  # insufficient_privilege, invalid_schema_name
        return _grants(engine, said)
    return _REMEDIES.get(sqlstate) or _REMEDIES.get(sqlstate[:2]) or "see Postgres' log"


def _grants(engine: Engine, said: str) -> str:
    """The GRANT for what was denied; Postgres names it in its own words, which may be in any language."""
    role = quoted(engine.url.username or "ROLE")
    schema = re.search(r'no schema|\bschema "?([^";]+)"?(?:;|$)', said)
    if schema:
        grant = f"GRANT USAGE, CREATE ON SCHEMA {quoted(schema[1] or 'public')} TO {role}"
        return f"run as the owner of the database: {grant}; and see the role's search_path"
    if re.search(r"\btempor", said, re.IGNORECASE):  # tables of an upgrade
        return f"run as its owner: GRANT TEMPORARY ON DATABASE {quoted(engine.url.database or 'NAME')} TO {role}"
    return (
        f"run as the role that owns Tiptoe's tables: GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; GRANT ALL ON "
        f"ALL SEQUENCES IN SCHEMA public TO {role}; or use that role"
    )


def quoted(name: str) -> str:
    """A name as SQL has it: in quotes where it needs them."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*|ROLE|NAME", name) else '"' + name.replace('"', '""') + '"'


def _connection(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except OSError as error:  # no file descriptor is left, say
        raise ServiceError(f"Postgres at {place(engine)}", error.strerror or str(error)) from error
    except ProgrammingError as error:  # a parameter of the URL that the driver reads, such as connect_timeout
        raise InputError(
            "TIPTOE_DATABASE_URL", f"has a parameter that cannot be used: {_first_line(error.orig)}"
        ) from None
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


def lacks(engine: Engine) -> list[str]:
    """SQL to run once for session settings that a pooler cannot pass on and that the role lacks; none where all is
    well."""
    with transaction(engine) as connection:
        found = connection.execute(
            text("SELECT name, setting, current_user AS role FROM pg_settings WHERE name = ANY(:names)"),
            {"names": [*_ROLES]},
        ).all()
    return [
        f"ALTER ROLE {quoted(row.role)} SET {row.name} = '{_SESSION[row.name]}'"
        for row in found
        if row.setting == _ROLES.get(row.name)
    ]


def place(engine: Engine) -> str:
    """The location of Postgres without the password, for messages."""
    return without_password(engine.url.set(drivername="postgresql").render_as_string(hide_password=False))


def _first_line(error: BaseException | None) -> str:
    diag = getattr(error, "diag", None)
    parts = [diag.message_primary, diag.message_detail, diag.message_hint] if diag is not None else []
    message = "; ".join(part.rstrip(".") for part in parts if part) or str(error).strip().replace("\n", " ")
    return re.sub(r"\s+", " ", message)[:300] or type(error).__name__
