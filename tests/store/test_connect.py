"""What a connection asks of both ends, so that neither waits long for one that is gone."""

import pytest
from sqlalchemy import text

from app.store import db

# of the URL, the setting of the session, its value
SESSIONS = [
    ("", "idle_in_transaction_session_timeout", "10s"),
    ("", "tcp_user_timeout", "10000"),
    ("", "tcp_keepalives_idle", "10"),
    ("", "application_name", "tiptoe"),
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
