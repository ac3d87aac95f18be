"""Runs a person's own query: read-only, one statement, rows streamed, Postgres' objections as one line.

A guard against accidents, not a fence: its user holds the database's password anyway.
"""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any, cast

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Engine

from app.errors import InputError, ServiceError
from app.store import db, migrate, server


@contextmanager
def select(engine: Engine, query: str) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """Run a query: (column names, rows). Raises InputError with Postgres' message, in one line."""
    bare = query.strip().rstrip(";").rstrip()
    if not bare:
        raise InputError("an empty query", 'write one, such as "SELECT url, title FROM pages LIMIT 10"')
    with answer(engine, bare) as found:
        yield found


@contextmanager
def answer(engine: Engine, query: str) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """Run a person's query in a read-only transaction: (column names, streamed rows). Raises InputError.

    Memory is flat. The extended protocol takes one statement, so no second one can follow that writes.
    """
    with db.transaction(engine) as connection:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql("SELECT 1")  # from the first query on the mode cannot be changed
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        cursor = driver.cursor()
        stream = cast(Generator[tuple[Any, ...], None, None], cursor.stream(query))
        with closing(stream) as rows:  # left open, it would hold the connection's lock against the commit
            try:
                with _refused(engine):
                    first = next(rows, None)
                    if first is None:  # streaming nothing names no columns
                        cursor.execute(query, prepare=True)
            except InputError:
                # Within a COPY, say: it takes no rollback.
                if driver.info.transaction_status == TransactionStatus.ACTIVE:
                    connection.invalidate()
                raise
            names = [column.name for column in cursor.description or ()]
            yield names, _rest(engine, first, rows)


def _rest(engine: Engine, first: tuple[Any, ...] | None, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    if first is not None:
        yield first
        with _refused(engine):
            yield from rows


@contextmanager
def _refused(engine: Engine) -> Iterator[None]:
    """Postgres' objection to a person's query as an InputError; a ServiceError when the connection was lost."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise ServiceError(f"Postgres at {db.place(engine)}", str(error).strip().partition("\n")[0][:300]) from error
    except psycopg.Error as error:
        what = (error.diag.message_primary or str(error)).strip()[:300]
        raise InputError(what, _remedy(engine, error)) from error


def _remedy(engine: Engine, error: psycopg.Error) -> str:
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return "returns a value that Python cannot represent; cast it, e.g. with ::text"
    if error.sqlstate is None:
        return "this brings no rows; write a query, such as SELECT"
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return "tiptoe sql only reads; use psql to change something"
    if error.diag.message_hint:
        return error.diag.message_hint.strip().replace("\n", " ")
    if isinstance(error, psycopg.errors.UndefinedTable):
        return f"there are: {', '.join(server.tables(engine) + migrate.view_names())}"
    return "correct the query"
