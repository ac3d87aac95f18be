"""What a connection asks of both ends, so that neither waits long for one that is gone."""

from datetime import timedelta
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import text

from app.store import db, server

# of the URL, the setting of the session, its value
SESSIONS = [
    ("", "idle_in_transaction_session_timeout", "10s"),
    ("", "tcp_user_timeout", "10000"),
    ("", "tcp_keepalives_idle", "10"),
    ("", "application_name", "tiptoe"),
    ("", "TimeZone", "UTC"),
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
    ("", "keepalives_idle", "10"),
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


def test_times_are_utc_whatever_the_zone_of_the_server(database_url: str) -> None:
    """A package of Postgres takes the machine's zone, and we show, export and compare what it answers."""
    engine = db.connect(database_url)
    name = urlsplit(database_url).path[1:]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} SET timezone = 'Asia/Tokyo'").format(sql.Identifier(name)))
    with db.transaction(engine) as tx:
        found = server.now(tx)
    engine.dispose()
    assert found.utcoffset() == timedelta(0)
