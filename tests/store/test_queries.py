"""Every named query of every .sql file: Postgres takes it, it says its purpose once, and somebody runs it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest
from psycopg import _queries
from sqlalchemy import TextClause
from sqlalchemy.dialects import postgresql

import app.store
from app.store import db

FOLDER = Path(app.store.__file__).parent
DOLLARS = postgresql.dialect(paramstyle="numeric_dollar")

PURPOSE = re.compile(r"^-- (\w+): (.*)$", re.MULTILINE)
FILES = {path.stem: path for path in sorted(FOLDER.parent.rglob("*.sql")) if path.stem != "views"}


def queries(room: str) -> Mapping[str, TextClause]:
    return db.queries(room, str(FILES[room]))


@pytest.fixture(scope="module")
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    """One for all queries: a new one knows no table."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("room", FILES)
def test_postgres_takes_the_queries(connection: psycopg.Connection, room: str) -> None:
    refused = {}
    for name, query in queries(room).items():
        try:
            connection.execute(f"PREPARE it AS {query.compile(dialect=DOLLARS)}")
            connection.execute("DEALLOCATE it")
        except psycopg.Error as error:
            refused[name] = str(error)
    assert refused == {}


@pytest.mark.parametrize("room", FILES)
def test_the_driver_looks_for_the_parameters_of_a_query_once(room: str) -> None:
    for name, each in queries(room).items():
        query = db.driven(each)
        assert len(query.encode()) <= _queries.MAX_CACHED_STATEMENT_LENGTH, name
        assert not re.search(r"^\s*--", query, re.MULTILINE), name
        odd = [line for line in query.splitlines() if line.partition("--")[0].count("'") % 2]
        assert odd == [], f"{name}: indented text"


def test_a_query_that_postgres_does_not_take_is_refused(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedColumn):
        connection.execute("PREPARE it AS SELECT no_such_column FROM hosts")


@pytest.mark.parametrize("room", FILES)
def test_queries_have_one_purpose_line_each(room: str) -> None:
    source = FILES[room].read_text()
    marks = PURPOSE.findall(source)
    names = [name for name, _ in marks]
    assert names == list(queries(room)), "a name stands twice, or a comment looks like one"
    assert all(purpose.strip() for _, purpose in marks)
    assert source.startswith("-- ")
    for name, query in queries(room).items():
        code = "\n".join(line for line in query.text.splitlines() if not line.startswith("--"))
        assert re.match(r"SELECT|INSERT|UPDATE|DELETE|WITH", code), name
        assert ";" not in code, f"{name}: one statement"


@pytest.mark.parametrize("room", FILES)
def test_queries_are_those_that_the_room_runs(room: str) -> None:
    (source,) = [text for path in FILES[room].parent.glob("*.py") if f'queries("{room}"' in (text := path.read_text())]
    called = set(re.findall(r'_sql\["(\w+)"\]', source)) | set(re.findall(r'_same\(\s*tx,\s*"(\w+)"', source))
    assert called == set(queries(room))


def test_no_room_builds_sql_from_strings() -> None:
    for path in FOLDER.glob("*.py"):
        if path.name in {
            "db.py",
            "migrate.py",
            "ask.py",
            "tables.py",
            "partitions.py",
            "views.py",
        }:  # migrations; a person's own query; DDL; views
            continue
        assert not re.search(r"\btext\(|exec_driver_sql", path.read_text()), path.name
