"""`alembic upgrade head` is app.store.tables, up and down and twice and from two at once."""

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, text

from app.local.services import Services
from app.store import db
from app.store.tables import metadata
from tests.store.rows import Aside, one, sql

MIGRATIONS = Path(__file__).parents[2] / "migrations"


@pytest.fixture
def empty_url(services: Services, request: pytest.FixtureRequest) -> str:
    """A database without any table."""
    name = "empty_" + re.sub(r"\W", "_", request.node.name)
    with psycopg.connect(services.database_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")  # type: ignore[arg-type]
    return re.sub(r"/[^/?]*(\?|$)", rf"/{name}\1", services.database_url)


def test_head_is_the_declared_tables(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "include_name": _tables_only}
        )
        assert compare_metadata(context, metadata) == []


def test_head_is_the_declared_tables_down_to_checks_and_predicates(engine: Engine) -> None:
    """Alembic compares neither CHECKs nor what partial indexes are partial to."""
    with engine.begin() as tx:
        tx.execute(text("CREATE SCHEMA declared"))
        tx.execute(text("SET LOCAL search_path = declared"))
        metadata.create_all(tx, checkfirst=False)
        declared = _catalogue(tx, "declared")
        migrated = _catalogue(tx, "public")
        tx.rollback()
    assert len(declared) > 100
    assert migrated == declared


def test_views_have_comments(engine: Engine) -> None:
    views = """SELECT relname AS name, obj_description(oid) AS words FROM pg_class
               WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace"""
    found = {row["name"]: row["words"] for row in sql(engine, views)}
    assert set(found) == set(db.view_names())
    assert all(words and words.endswith(".") for words in found.values())


def test_tables_have_comments(engine: Engine) -> None:
    assert all(table.comment and table.comment.endswith(".") for table in metadata.tables.values())


def test_upgrade_down_and_up_again(empty_url: str) -> None:
    db.upgrade(empty_url)
    engine = db.connect(empty_url)
    with db.transaction(engine) as tx:
        head = _catalogue(tx, "public")
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = tx
        command.downgrade(config, "base")
    left = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'S')"
    assert [row["relname"] for row in sql(engine, left)] == ["alembic_version"]
    assert db.revision(engine) is None
    db.upgrade(empty_url)
    with db.transaction(engine) as tx:
        assert _catalogue(tx, "public") == head
    engine.dispose()


def test_upgrade_twice_keeps_what_is_there(empty_url: str) -> None:
    db.upgrade(empty_url)
    engine = db.connect(empty_url)
    sql(engine, "INSERT INTO crawls (name, scope) VALUES ('kept', 'any')")
    tables = "SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY oid"
    before = sql(engine, tables)
    db.upgrade(empty_url)
    assert sql(engine, tables) == before
    assert one(engine, "SELECT name FROM crawls") == "kept"
    engine.dispose()


def test_upgrades_at_once_wait_for_one_another(empty_url: str) -> None:
    both = [Aside(lambda: db.upgrade(empty_url)) for _ in range(2)]
    for each in both:
        each.outcome()
    engine = db.connect(empty_url)
    assert db.revision(engine) == db.revisions()[-1]
    engine.dispose()


def _tables_only(name: str | None, kind: str, _: object) -> bool:
    return kind != "table" or name != "alembic_version"


def _catalogue(tx: Connection, schema: str) -> set[tuple[Any, ...]]:
    """Columns, constraints, indexes and comments of a schema, as Postgres spells them."""
    rows = tx.execute(
        text(
            """
            WITH tables AS (
                SELECT oid, relname FROM pg_class
                WHERE relkind = 'r' AND relnamespace = CAST(:schema AS regnamespace) AND relname <> 'alembic_version'
            )
            SELECT t.relname, 'table', '', obj_description(t.oid) FROM tables AS t
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
