"""Ways in which Postgres is there and of no use, told as a ServiceError; and a Postgres that is one of several."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, Engine, text

from app.errors import InputError, ServiceError
from app.store import db, lineage
from tests.descriptors import few_descriptors
from tests.store.rows import backend

READ_ONLY = "options=-c%20default_transaction_read_only=on"

# by SQLAlchemy, and by the driver itself
WRITES = [
    pytest.param(lambda tx: tx.execute(text("INSERT INTO lineage (seen) VALUES ('x')")), id="sqlalchemy"),
    pytest.param(lambda tx: db.run(tx, db.queries("lineage")["begin"]), id="driver"),
]


@pytest.mark.parametrize("write", WRITES)
def test_a_server_that_does_not_write_is_away_and_is_looked_for_anew(
    engine: Engine, database_url: str, write: Callable[[Connection], object]
) -> None:
    """A primary that became a standby keeps its connections."""
    reader = db.connect(f"{database_url}?{READ_ONLY}")
    with db.transaction(reader) as tx:
        before = backend(tx)
    with pytest.raises(ServiceError, match="read-only transaction"), db.transaction(reader) as tx:
        write(tx)
    with db.transaction(reader) as tx:
        assert backend(tx) != before
    reader.dispose()
    with db.transaction(engine) as tx:
        assert not lineage.has_changed(tx)


def test_no_file_descriptor_for_a_connection(database_url: str) -> None:
    engine = db.connect(database_url)
    with few_descriptors(0), pytest.raises(ServiceError, match="Postgres at"), db.transaction(engine):
        pass
    with db.transaction(engine) as tx:
        assert backend(tx)
    engine.dispose()


def test_of_several_hosts_the_one_that_writes(database_url: str) -> None:
    """libpq's way: the first of these is nobody's."""
    parts = urlsplit(database_url)
    hosts = f"host=127.0.0.1,127.0.0.1&port=1,{parts.port}&target_session_attrs=read-write"
    engine = db.connect(f"postgresql://{parts.username}:{parts.password}@{parts.path}?{hosts}")
    with db.transaction(engine) as tx:
        assert backend(tx)
    assert "secret" not in db.place(engine)
    engine.dispose()


def test_several_hosts_with_ports_have_another_spelling() -> None:
    with pytest.raises(InputError, match=r"host=a,b&port=5432,5432"):
        db.connect("postgresql://u:secret@a:1,b:2/x")
