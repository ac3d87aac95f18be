"""`alembic upgrade head` is app.features.schema, up and down and twice and from two at once."""

import re
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, text

from app.features.schema import schema
from app.local.services import Services
from app.store import db, migrate
from tests.store import schema_text
from tests.store.revisions import MIGRATIONS, move
from tests.store.rows import Aside, one, sql

OLD_VISITS = """INSERT INTO visits (host_id, token, queue, worker, taken_at)
SELECT 1, gen_random_uuid(), 'host-00', 'w:1', now() - n * interval '40 days' FROM generate_series(0, 2) AS n"""
OLD_FETCHES = """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
outcome,
                     wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
SELECT 1, 3 - n, 'k', 'http://h.test/', 'page', 'new', now() - n * interval '40 days', now(), 1, 'page', n, n, false,
1, false, 1
FROM generate_series(0, 2) AS n"""


@pytest.fixture
def empty_url(services: Services, request: pytest.FixtureRequest) -> str:
    """A database without any table."""
    name = "empty_" + re.sub(r"\W", "_", request.node.name)
    with psycopg.connect(services.database_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
    return re.sub(r"/[^/?]*(\?|$)", rf"/{name}\1", services.database_url)


def test_head_is_the_declared_tables(engine: Engine) -> None:
    """Alembic reads no collation of an index's column: the next test does."""
    with engine.connect() as connection:
        is_declared = migrate.is_declared(connection)
        opts = {
            "compare_type": True,
            "compare_server_default": True,
            "include_name": lambda name, kind, parents: name != "alembic_version" and is_declared(name, kind, parents),
            "include_object": lambda _object, name, _kind, _reflected, _other: name != "fetches_budget",
        }
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, schema()) == []


def test_head_is_the_declared_tables_down_to_checks_and_predicates(engine: Engine) -> None:
    """Alembic compares neither CHECKs nor what partial indexes are partial to."""
    with engine.begin() as tx:
        tx.execute(text("CREATE SCHEMA declared"))
        tx.execute(text("SET LOCAL search_path = declared"))
        schema().create_all(tx, checkfirst=False)
        declared = _catalogue(tx, "declared")
        migrated = _catalogue(tx, "public")
        tx.rollback()
    assert len(declared) > 100
    assert migrated == declared


def test_views_have_comments(engine: Engine) -> None:
    every = """SELECT relname AS name, obj_description(oid) AS words FROM pg_class
               WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace"""
    found = {row["name"]: row["words"] for row in sql(engine, every)}
    assert set(found) == set(migrate.view_names())
    assert all(words and words.endswith(".") for words in found.values())


def test_tables_have_comments(engine: Engine) -> None:
    assert all(table.comment and table.comment.endswith(".") for table in schema().tables.values())


def test_upgrade_down_and_up_again(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    engine = db.connect(empty_url)
    with db.transaction(engine) as tx:
        head = _catalogue(tx, "public")
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = tx
        command.downgrade(config, "base")
    left = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')"
    )
    assert [row["relname"] for row in sql(engine, left)] == ["alembic_version"]
    assert migrate.revision(engine) is None
    migrate.upgrade(empty_url)
    with db.transaction(engine) as tx:
        assert _catalogue(tx, "public") == head
    engine.dispose()


def test_upgrade_twice_keeps_what_is_there(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    engine = db.connect(empty_url)
    sql(engine, "INSERT INTO crawls (name, scope) VALUES ('kept', 'any')")
    tables = "SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY oid"
    before = sql(engine, tables)
    migrate.upgrade(empty_url)
    assert sql(engine, tables) == before
    assert one(engine, "SELECT name FROM crawls") == "kept"
    engine.dispose()


def test_a_log_survives_its_partitions_up_and_down(empty_url: str) -> None:
    """Rows, ids and their order; what comes after goes on where the ids were."""
    engine = db.connect(empty_url)
    move(engine, "0003")
    sql(engine, OLD_VISITS)
    sql(engine, OLD_FETCHES)
    logs = {log: f"SELECT * FROM {log} ORDER BY id" for log in ("fetches", "visits")}
    before = {log: sql(engine, query) for log, query in logs.items()}
    move(engine, "0004")
    assert {log: sql(engine, query) for log, query in logs.items()} == before
    places = "SELECT DISTINCT CAST(tableoid::regclass AS text) FROM {} ORDER BY 1"
    assert [one(engine, places.format(log)) for log in logs] == ["fetches_past", "visits_past"]
    sql(engine, OLD_VISITS)
    sql(engine, OLD_FETCHES)
    both = {log: sql(engine, query) for log, query in logs.items()}
    assert {log: [row["id"] for row in rows] for log, rows in both.items()} == {log: [1, 2, 3, 4, 5, 6] for log in logs}
    move(engine, "0003")
    assert {log: sql(engine, query) for log, query in logs.items()} == both
    assert sql(engine, OLD_VISITS + " RETURNING id")[0]["id"] == 7
    engine.dispose()


def test_upgrades_at_once_wait_for_one_another(empty_url: str) -> None:
    both = [Aside(lambda: migrate.upgrade(empty_url)) for _ in range(2)]
    for each in both:
        each.outcome()
    engine = db.connect(empty_url)
    assert migrate.revision(engine) == migrate.revisions()[-1]
    engine.dispose()


def _catalogue(tx: Connection, schema: str) -> set[tuple[Any, ...]]:
    """Columns, constraints, indexes, keys of partition and comments of a schema, as Postgres spells them. No
    partitions: these have what their table has."""
    rows = tx.execute(
        text(
            """
            WITH tables AS (
                SELECT oid, relname FROM pg_class
                WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = CAST(:schema AS regnamespace)
                  AND relname <> 'alembic_version'
            )
            SELECT t.relname, 'table', pg_get_partkeydef(t.oid), obj_description(t.oid) FROM tables AS t
            UNION ALL
            SELECT t.relname, 'column', a.attname,
                   concat_ws(' | ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
                             pg_get_expr(d.adbin, d.adrelid), col_description(t.oid, a.attnum))
            FROM tables AS t
            JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_attrdef AS d ON d.adrelid = t.oid AND d.adnum = a.attnum
            UNION ALL
            SELECT t.relname, 'constraint', c.conname, pg_get_constraintdef(c.oid)
            FROM tables AS t JOIN pg_constraint AS c ON c.conrelid = t.oid
            UNION ALL
            SELECT t.relname, 'index', i.relname, pg_get_indexdef(i.oid)
            FROM tables AS t JOIN pg_index AS x ON x.indrelid = t.oid JOIN pg_class AS i ON i.oid = x.indexrelid
            """
        ),
        {"schema": schema},
    )
    return {tuple(str(value).replace(f"{schema}.", "") for value in row) for row in rows}


def test_schema_sql_is_what_the_migrations_make(database_url: str) -> None:
    """Where it is not: `python -m tests.store.schema_text` renews it."""
    assert schema_text.FILE.read_text() == schema_text.text_of(database_url)


def test_schema_sql_makes_the_same_schema(empty_url: str) -> None:
    with psycopg.connect(empty_url) as connection:
        connection.execute(schema_text.FILE.read_text().encode())
    assert schema_text.text_of(empty_url) == schema_text.FILE.read_text()
