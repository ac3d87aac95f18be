"""No password is printed: a DSN names the file that holds it, and psql and our own engine read it there."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from app.local.services import Services, write_password_file
from app.store import db


def test_the_shown_dsn_connects_without_a_password_in_it(services: Services) -> None:
    password = urlsplit(services.database_url).password
    assert password
    assert password not in services.shown_database_url
    with psycopg.connect(services.shown_database_url) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("tiptoe",)
    engine = db.connect(services.shown_database_url, pool_size=1)
    assert db.check(engine) >= db.OLDEST_POSTGRES
    assert password not in db.place(engine)
    engine.dispose()


def test_the_file_that_holds_it_is_for_its_owner_alone(services: Services) -> None:
    assert services.password_file == services.home / "pgpass"
    assert services.password_file.stat().st_mode & 0o777 == 0o600


def test_the_broker_is_shown_without_its_password(services: Services) -> None:
    password = urlsplit(services.broker_url).password
    assert password
    assert password not in services.shown_broker_url
    assert services.shown_broker_url.startswith("redis://127.0.0.1:")


def test_a_new_port_replaces_the_file_and_leaves_no_draft(tmp_path: Path) -> None:
    for port in (1, 2, 2):
        path = write_password_file(tmp_path, f"postgresql://tiptoe:secret@127.0.0.1:{port}/tiptoe")
    assert path.read_text() == "127.0.0.1:2:*:tiptoe:secret\n"
    assert os.listdir(tmp_path) == ["pgpass"]


@pytest.mark.parametrize("secret", ["postgresql://u:secret@h/d", "postgresql://h/d?user=u&password=secret"])
def test_a_configured_one_is_shown_without_its_own(tmp_path: Path, secret: str) -> None:
    given = Services(
        database_url=secret, broker_url="amqp://u:secret@h//", home=tmp_path, data_dir=tmp_path, started=()
    )
    assert "secret" not in given.shown_database_url + given.shown_broker_url
