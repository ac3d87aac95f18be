"""Empties the tables before each test, and keeps one engine for all tests that have the same database.

A new connection knows no table and no plan: to learn them anew in each test took Postgres half of its time.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.pool import QueuePool

from app.features.schema import schema
from app.store import db

FEW = 500  # rows that a table may leave behind, dead
IDLE_S = 5.0  # longer, and TCP asks whether the other end is there: a test is not to meet the answer


@contextmanager
def clean(database_url: str) -> Iterator[Engine]:
    """An engine on the module's database, its tables emptied. The next test gets it too, its connections warm."""
    engine = cleaner.engine(database_url)
    yield engine
    pool = engine.pool
    if not isinstance(pool, QueuePool) or pool.checkedout():
        cleaner.forget()  # a thread of the test still works on one


class Cleaner:
    """Of one database at a time."""

    def __init__(self) -> None:
        self._url = ""
        self._engine: Engine | None = None
        self._connection: psycopg.Connection[Any] | None = None
        self._backends: set[int] = set()
        self._lent_at = 0.0

    def engine(self, database_url: str) -> Engine:
        try:
            return self._emptied(database_url)
        except psycopg.OperationalError:  # a test ended all connections
            self.forget()
            return self._emptied(database_url)

    def connection(self, database_url: str) -> psycopg.Connection[Any]:
        """Our own, which commits by itself."""
        before, self._lent_at = self._lent_at, time.monotonic()
        if self._connection is None or self._url != database_url or self._lent_at > before + IDLE_S:
            self.forget()
            self._url = database_url
            self._connection = psycopg.connect(database_url, autocommit=True, application_name="tests")
            self._connection.execute(_delete_all().encode())
            self._engine = db.connect(database_url, pool_size=16)
            event.listen(self._engine, "connect", self._remember)
        return self._connection

    def backends(self) -> list[int]:
        """The processes of Postgres that serve our connections; some may have ended."""
        return [*self._backends, *([self._connection.info.backend_pid] if self._connection else [])]

    def forget(self) -> None:
        """Close what is open: the next test starts with connections of its own."""
        if self._connection is not None:
            self._connection.close()
        if self._engine is not None:
            self._engine.dispose()
        self._connection = self._engine = None
        self._backends.clear()

    def _remember(self, connection: Any, _: object) -> None:
        """A test may hold a transaction open for as long as a busy machine takes: Postgres ends none of them for it."""
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.commit()
        self._backends.add(connection.info.backend_pid)

    def _emptied(self, database_url: str) -> Engine:
        connection = self.connection(database_url)
        assert self._engine is not None
        (most,) = connection.execute("SELECT pg_temp.delete_all()").fetchone() or (0,)
        if most > FEW:
            connection.execute(f"TRUNCATE {', '.join(schema().tables)} RESTART IDENTITY CASCADE".encode())
        return self._engine


cleaner = Cleaner()

# Returns the most rows that were in a table. TRUNCATE takes fifty times as long, since it makes 371 files anew; outside
# of a function, whose plans are kept, DELETE takes twice as long.
_DELETE_ALL = """
CREATE FUNCTION pg_temp.delete_all() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    most bigint := 0;
    here bigint;
BEGIN
    {deletes}
    PERFORM setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S';
    RETURN most;
END $$
"""


def _delete_all() -> str:
    """The function's source."""
    tables = [table.name for table in reversed(schema().sorted_tables)]
    each = "DELETE FROM {}; GET DIAGNOSTICS here = ROW_COUNT; most := greatest(most, here);"
    return _DELETE_ALL.format(deletes="\n    ".join(each.format(table) for table in tables))
