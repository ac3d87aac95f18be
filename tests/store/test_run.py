"""Queries that are run by the driver itself."""

from collections.abc import Iterator
from typing import NamedTuple

import psycopg
import pytest
from sqlalchemy import Connection, Engine, text

from app.errors import ServiceError, Unwritable
from app.store import db
from tests.faults.waiting import until

PAIRS = text("SELECT n AS number, chr(64 + n) AS letter FROM generate_series(1, :most) AS n ORDER BY n")


class Pair(NamedTuple):
    letter: str
    number: int


@pytest.fixture
def tx(engine: Engine) -> Iterator[Connection]:
    with db.transaction(engine) as tx:
        yield tx


def test_rows_have_the_names_of_their_columns(tx: Connection) -> None:
    rows = db.run(tx, PAIRS, {"most": 2}).all()
    assert [(row.number, row.letter) for row in rows] == [(1, "A"), (2, "B")]


def test_as_a_kind_each_field_is_the_column_of_its_name(tx: Connection) -> None:
    assert db.run(tx, PAIRS, {"most": 2}).of(Pair) == [Pair("A", 1), Pair("B", 2)]


def test_one_none_and_a_value(tx: Connection) -> None:
    assert db.run(tx, PAIRS, {"most": 1}).one() == (1, "A")
    assert db.run(tx, PAIRS, {"most": 0}).one_or_none() is None
    assert db.run(tx, text("SELECT 10 % 4")).scalar_one() == 2
    with pytest.raises(ValueError, match="unpack"):
        db.run(tx, PAIRS, {"most": 2}).one()
    with pytest.raises(AssertionError):
        db.run(tx, PAIRS, {"most": 2}).one_or_none()


def test_casts_times_and_percent_signs_are_no_parameters(tx: Connection) -> None:
    query = text("SELECT '12:30'::time::text AS at, 'a%%b%c' AS signs, CAST(:x AS text)::text AS x")
    assert db.run(tx, query, {"x": "y"}).one() == ("12:30:00", "a%%b%c", "y")


def test_an_array_of_numbers(tx: Connection) -> None:
    query = text("SELECT CAST(:numbers AS integer[]) AS numbers")
    for numbers in ([], [1], [200, None, -3]):
        assert db.run(tx, query, {"numbers": db.array_param(numbers)}).scalar_one() == numbers


def test_how_many_rows_were_written(tx: Connection) -> None:
    assert db.run(tx, text("UPDATE hosts SET failures = failures")).rowcount == 0


def test_what_was_run_before_a_failure_is_not_kept(engine: Engine) -> None:
    insert = text("INSERT INTO domains (name) VALUES (:name)")

    def twice() -> None:
        with db.transaction(engine) as tx:
            db.run(tx, insert, {"name": "example.org"})
            db.run(tx, insert, {"name": "example.org"})

    with pytest.raises(Unwritable, match="example") as refused:
        twice()
    assert refused.value.sqlstate == psycopg.errors.UniqueViolation.sqlstate
    with db.transaction(engine) as tx:
        assert db.run(tx, text("SELECT count(*) FROM domains")).scalar_one() == 0


def test_a_connection_that_is_cut_is_a_service_out_of_reach_and_the_next_one_works(engine: Engine) -> None:
    me = text("SELECT pg_backend_pid()")
    pids = []

    def cut() -> None:
        with db.transaction(engine) as tx:
            pids.append(db.run(tx, me).scalar_one())
            with engine.connect() as other:
                other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pids[0]})
            db.run(tx, me)

    with pytest.raises(ServiceError, match="Postgres at"):
        cut()
    with db.transaction(engine) as tx:
        assert db.run(tx, me).scalar_one() not in pids


def test_a_lock_that_is_not_had_in_time_is_a_service_that_refuses(engine: Engine) -> None:
    def look() -> None:
        with db.transaction(engine) as tx:
            db.run(tx, text("SET LOCAL lock_timeout = '50ms'"))
            db.run(tx, text("SELECT FROM domains"))

    with engine.begin() as holder:
        holder.execute(text("LOCK TABLE domains"))
        with pytest.raises(ServiceError, match="lock timeout"):
            look()


def test_what_a_stopped_process_holds_is_free_again(engine: Engine, database_url: str) -> None:
    """Postgres has to take it for idle: within a pipeline it would not, and no one else could visit the host."""
    lock = text("SELECT name FROM domains FOR UPDATE SKIP LOCKED")
    with db.transaction(engine) as tx:
        db.run(tx, text("INSERT INTO domains (name) VALUES ('held.test')"))
    stopped = db.connect(f"{database_url}?options=-c%20idle_in_transaction_session_timeout%3D100ms")

    def is_free() -> bool:
        with db.transaction(engine) as tx:
            return db.run(tx, lock).one_or_none() is not None

    def stop() -> None:
        with db.transaction(stopped) as tx:
            assert db.run(tx, lock).one_or_none() is not None
            assert not is_free()
            until(is_free, "its lock is free")
            db.run(tx, lock)

    with pytest.raises(ServiceError):
        stop()
    stopped.dispose()
