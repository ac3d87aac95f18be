"""What a connection asks of both ends, so that neither waits long for one that is gone."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import text

from app.admin import doctor
from app.errors import InputError, OtherSchema, ServiceError
from app.store import db, migrate, server

# of the URL, the setting of the session, its value
SESSIONS = [
    ("", "idle_in_transaction_session_timeout", "10s"),
    ("", "tcp_user_timeout", "10000"),
    ("", "idle_session_timeout", "0"),
    ("", "tcp_keepalives_idle", "5"),
    ("", "application_name", "tiptoe"),
    ("", "TimeZone", "UTC"),
    ("", "default_transaction_isolation", "read committed"),
    ("?options=-c%20default_transaction_isolation%3Dserializable", "default_transaction_isolation", "read committed"),
    ("?options=-c%20TimeZone%3DAsia/Tokyo", "TimeZone", "UTC"),
    ("?client_encoding=latin1", "client_encoding", "UTF8"),
    ("?options=-c%20idle_in_transaction_session_timeout%3D5min", "idle_in_transaction_session_timeout", "5min"),
    ("?options=-c%20work_mem%3D3MB", "work_mem", "3MB"),
    ("?options=-c%20work_mem%3D3MB", "idle_in_transaction_session_timeout", "10s"),
]


@pytest.mark.parametrize(("parameters", "setting", "value"), SESSIONS)
def test_what_postgres_is_asked(database_url: str, parameters: str, setting: str, value: str) -> None:
    engine = db.connect(database_url + parameters)
    with db.transaction(engine) as tx:
        assert tx.execute(text("SELECT current_setting(:name)"), {"name": setting}).scalar_one() == value
    engine.dispose()


@pytest.mark.parametrize(("may_spread", "processes"), [(True, "2"), (False, "0")])
def test_queries_of_a_session_take_one_core_where_it_is_asked_for(
    database_url: str, may_spread: bool, processes: str
) -> None:
    engine = db.connect(database_url, may_spread=may_spread)
    with db.transaction(engine) as tx:
        assert tx.execute(text("SHOW max_parallel_workers_per_gather")).scalar_one() == processes
    engine.dispose()


# of the URL, libpq's parameter, its value
CONNECTIONS = [
    ("", "connect_timeout", "5"),
    ("", "tcp_user_timeout", "10000"),
    ("", "keepalives_idle", "5"),
    ("?connect_timeout=30", "connect_timeout", "30"),
    ("?tcp_user_timeout=0", "tcp_user_timeout", "0"),
]


@pytest.mark.parametrize(("parameters", "name", "value"), CONNECTIONS)
def test_what_libpq_is_asked(database_url: str, parameters: str, name: str, value: str) -> None:
    engine = db.connect(database_url + parameters)
    with db.transaction(engine) as tx:
        asked = tx.connection.dbapi_connection.info.get_parameters()  # type: ignore[union-attr]
    engine.dispose()
    assert asked.get(name, "0") == value


# setting of the database, its value there, libpq's variable for it, and what a session of ours has
PINNED = [
    ("TimeZone", "Asia/Tokyo", "PGTZ", "UTC"),
    ("DateStyle", "German", "PGDATESTYLE", "ISO, MDY"),
    ("DateStyle", "SQL, DMY", "PGDATESTYLE", "ISO, MDY"),
    ("IntervalStyle", "iso_8601", "", "postgres"),
    ("standard_conforming_strings", "off", "", "on"),
    ("array_nulls", "off", "", "on"),
    ("client_encoding", "LATIN1", "PGCLIENTENCODING", "UTF8"),
    ("default_transaction_isolation", "serializable", "", "read committed"),
    ("default_transaction_isolation", "repeatable read", "", "read committed"),
]


@contextmanager
def as_set(database_url: str, setting: str, value: str) -> Iterator[None]:
    """The database has this setting for all new sessions."""
    name, which = sql.Identifier(urlsplit(database_url).path[1:]), sql.Identifier(setting)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} SET {} = {}").format(name, which, sql.Literal(value)))
        yield
        connection.execute(sql.SQL("ALTER DATABASE {} RESET {}").format(name, which))


@pytest.mark.parametrize(("setting", "value", "variable", "ours"), PINNED)
def test_what_is_pinned_whatever_the_database_and_the_environment_have(
    database_url: str, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, variable: str, ours: str
) -> None:
    """A package of Postgres takes the machine's zone, and we show, export and compare what it answers."""
    for is_variable in [False, True] if variable else [False]:
        if is_variable:
            monkeypatch.setenv(variable, value)
        with as_set(database_url, setting, value):
            engine = db.connect(database_url)
            with db.transaction(engine) as tx:
                assert tx.execute(text("SELECT current_setting(:name)"), {"name": setting}).scalar_one() == ours
                assert server.now(tx).utcoffset() == timedelta(0)
                assert tx.execute(text("SELECT interval '1 day 2 h', 'Щ日'")).one() == (timedelta(1, 7200), "Щ日")
            engine.dispose()


@pytest.mark.parametrize(
    ("setting", "value", "variable", "ours"), [row for row in PINNED if row[0] != "client_encoding"]
)
def test_behind_a_pooler_it_is_checked(database_url: str, setting: str, value: str, variable: str, ours: str) -> None:
    """A pooler passes no options: by the first connection, so by doctor and by each command and worker at its start."""
    with as_set(database_url, setting, value):
        engine = db.connect(f"{database_url}?pooler=transaction")
        with pytest.raises(ServiceError, match=f"ALTER ROLE tiptoe SET {setting} = '{ours}'") as told:
            migrate.require(engine)
        assert "\n" not in str(told.value)
        (check,) = doctor.database(engine)
        assert (check.grade, ours in check.remedy) == ("fail", True)
        engine.dispose()


def test_a_transaction_that_could_not_be_ordered_is_repeated(database_url: str) -> None:
    """40001, as a standby's recovery makes one, or a trigger that sets another isolation."""
    engine, tries = db.connect(database_url), list[int]()
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("CREATE TABLE counted (n int)")
        other.execute("INSERT INTO counted VALUES (0)")

        def act() -> None:
            with db.transaction(engine) as tx:
                tx.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
                tx.execute(text("SELECT n FROM counted")).one()
                if not tries:
                    other.execute("UPDATE counted SET n = n + 1")
                tries.append(1)
                tx.execute(text("UPDATE counted SET n = n + 1"))

        db.repeat(act)
        assert (len(tries), other.execute("SELECT n FROM counted").fetchone()) == (2, (2,))
        other.execute("DROP TABLE counted")
    engine.dispose()


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ("?connect_timeout=soon", "has a parameter that cannot be used: bad value for connect_timeout: 'soon'"),
        ("?application_name=a%00", "has a NUL"),
        ("%00x", "has a NUL"),
    ],
)
def test_a_url_that_the_driver_does_not_read_is_bad_input(database_url: str, parameters: str, line: str) -> None:
    """libpq stops at a NUL, and would look for the rest at its defaults: another server."""
    with (
        pytest.raises(InputError, match=f"TIPTOE_DATABASE_URL: {line}"),
        db.transaction(db.connect(database_url + parameters)),
    ):
        pass


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (["deadbeef"], "its schema deadbeef is another program's"),
        (["0001", "39ab"], "0001, 39ab is another program's"),
        ([""], r"its schema \(no name\) is another program's"),
        (["9999"], "9999 is newer than this Tiptoe"),
    ],
)
def test_a_version_that_is_not_ours(database_url: str, rows: list[str], line: str) -> None:
    """Alembic is used by others, too: their table of versions has the same name."""
    engine = db.connect(database_url + "?options=-c%20search_path%3Dpg_temp")
    with engine.connect() as connection:
        connection.execute(text("CREATE TEMPORARY TABLE alembic_version (version_num text)"))
        connection.execute(text("INSERT INTO alembic_version SELECT unnest(CAST(:rows AS text[]))"), {"rows": rows})
        connection.commit()
    with pytest.raises(OtherSchema, match=line):
        migrate.require(engine)
    engine.dispose()
