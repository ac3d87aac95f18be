"""The database that modules of tests have in turn: no module finds what another one left."""

import psycopg
import pytest

from tests.databases import Databases
from tests.store.rows import clean, make_crawl, one

CRAWL = "INSERT INTO crawls (name, scope) VALUES ('left', 'any')"
MANY = "INSERT INTO crawls (name, scope) SELECT 'left ' || n, 'any' FROM generate_series(1, 5000) AS n"

# what a module did, whether the next one has the same database
ACTS = [
    (CRAWL, True),
    (MANY, True),
    (f"{MANY}; TRUNCATE crawls CASCADE", True),
    (f"{CRAWL}; ANALYZE crawls", False),
    ("CREATE TABLE mine ()", False),
    ("ALTER TABLE crawls ADD mine int", False),
    ("ALTER TABLE crawls ALTER name DROP NOT NULL", False),
    ("ALTER TABLE crawls SET (fillfactor = 50)", False),
    ("ALTER TABLE hosts DISABLE TRIGGER USER; ALTER TABLE crawls ADD CHECK (name <> 'x')", False),
    ("DROP TABLE items CASCADE", False),
    ("GRANT SELECT ON crawls TO PUBLIC", False),
    ("CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'", False),
    ("CREATE VIEW mine AS SELECT 1 AS x", False),
    ("COMMENT ON TABLE crawls IS 'mine'", False),
    ("CREATE DOMAIN mine AS int", False),
]


@pytest.mark.parametrize(("act", "is_the_same"), ACTS)
def test_rows_alone_do_not_cost_a_database(databases: Databases, act: str, is_the_same: bool) -> None:
    had = databases.lend()
    with psycopg.connect(had, autocommit=True) as connection:
        connection.execute(act.encode())
    databases.take_back()
    given = databases.lend()
    try:
        assert (given == had) is is_the_same
        with clean(given) as engine:
            assert make_crawl(engine) == 1, "ids begin anew"
            assert one(engine, "SELECT count(*) FROM crawls") == 1
            assert one(engine, "SELECT pg_relation_size('crawls')") < 100_000, "nothing of what was there is read again"
    finally:
        databases.take_back()


def test_what_a_module_left_open_is_ended(databases: Databases) -> None:
    had = databases.lend()
    left = psycopg.connect(had)
    left.execute(f"{CRAWL}; LOCK TABLE crawls".encode())
    databases.take_back()
    assert databases.lend() == had
    databases.take_back()
    with pytest.raises(psycopg.OperationalError):
        left.execute("SELECT 1")
