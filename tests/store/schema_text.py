"""Writes the schema of a migrated database as SQL: `python -m tests.store.schema_text` renews migrations/schema.sql.

Views are left out, which are made anew from app/store/views.sql, and so are partitions, which beat makes.
"""

import tempfile
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import namedtuple_row

from app.local.services import LocalServices
from app.store import migrate

FILE = Path(__file__).parents[2] / "migrations/schema.sql"
HEAD = """-- The schema that `alembic upgrade head` makes, views (app/store/views.sql) and partitions aside. Made by
-- `python -m tests.store.schema_text`; change it by a migration.
"""

_FUNCTIONS = """
SELECT rtrim(pg_get_functiondef(oid), E' \\n') AS text, obj_description(oid) AS words, oid::regprocedure::text AS name
FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname"""

_SEQUENCES = """
SELECT s.oid::regclass::text AS name, format_type(q.seqtypid, NULL) AS type,
       t.oid::regclass::text || '.' || a.attname AS owner
FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid
JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'a'
JOIN pg_class t ON t.oid = d.refobjid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
WHERE s.relnamespace = 'public'::regnamespace ORDER BY 1"""

_TABLES = """
SELECT c.oid, c.oid::regclass::text AS name, obj_description(c.oid) AS words, c.reloptions,
       pg_get_partkeydef(c.oid) AS partitioned
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'alembic_version'
ORDER BY c.relname"""

_COLUMNS = """
SELECT quote_ident(a.attname) AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS is_needed,
       pg_get_expr(d.adbin, d.adrelid) AS value, a.attgenerated AS generated, a.attidentity AS identity,
       CASE WHEN a.attcollation <> t.typcollation THEN quote_ident(o.collname) END AS collation,
       CASE WHEN a.attstorage <> t.typstorage
            THEN CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN'
                                   ELSE 'EXTENDED' END
       END AS storage,
       col_description(a.attrelid, a.attnum) AS words
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_collation o ON o.oid = a.attcollation
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""

_CONSTRAINTS = """
SELECT quote_ident(conname) AS name, pg_get_constraintdef(oid) AS text, contype = 'f' AS is_foreign
FROM pg_constraint WHERE conrelid = %s AND contype IN ('p', 'u', 'c', 'f', 'x')
ORDER BY array_position(ARRAY['p', 'u', 'x', 'c', 'f'], contype::text), conname"""

_INDEXES = """
SELECT pg_get_indexdef(i.indexrelid) AS text FROM pg_index i
WHERE i.indrelid = %s
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))
ORDER BY i.indexrelid::regclass::text"""

_STATISTICS = """
SELECT pg_get_statisticsobjdef(oid) AS text FROM pg_statistic_ext
WHERE stxnamespace = 'public'::regnamespace ORDER BY stxname"""


def text_of(url: str) -> str:
    """SQL that makes the tables, indexes, sequences and functions of a database anew, in an order that works."""
    with psycopg.connect(url, row_factory=namedtuple_row) as connection:
        sequences = _rows(connection, _SEQUENCES)
        tables = [_table(connection, row) for row in _rows(connection, _TABLES)]
        statistics = [f"{row.text};" for row in _rows(connection, _STATISTICS)]
        functions = [
            f"{row.text};\nCOMMENT ON FUNCTION {row.name} IS {_quoted(row.words or '')};"
            for row in _rows(connection, _FUNCTIONS)
        ]
    parts = [
        "\n".join(f"CREATE SEQUENCE {row.name} AS {row.type};" for row in sequences),
        *(text for text, _ in tables),
        "\n".join(f"ALTER SEQUENCE {row.name} OWNED BY {row.owner};" for row in sequences),
        "\n".join(line for _, foreign in tables for line in foreign),
        "\n".join(statistics),
        *functions,
    ]
    return HEAD + "\n" + "\n\n".join(part for part in parts if part).replace("public.", "") + "\n"


def _rows(connection: psycopg.Connection[Any], query: LiteralString, *values: object) -> list[Any]:
    return connection.execute(query, values).fetchall()


def _table(connection: psycopg.Connection[Any], table: Any) -> tuple[str, list[str]]:
    """The table with all that is its own, and what can only follow when every table is there."""
    name = table.name
    columns = _rows(connection, _COLUMNS, table.oid)
    constraints = _rows(connection, _CONSTRAINTS, table.oid)
    own = [_column(each) for each in columns]
    own += [f"CONSTRAINT {each.name} {each.text}" for each in constraints if not each.is_foreign]
    behind = f"\nPARTITION BY {table.partitioned}" if table.partitioned else ""
    behind += f"\nWITH ({', '.join(table.reloptions)})" if table.reloptions else ""
    lines = [f"CREATE TABLE {name} (\n    " + ",\n    ".join(own) + f"\n){behind};"]
    lines += [f"ALTER TABLE {name} ALTER {each.name} SET STORAGE {each.storage};" for each in columns if each.storage]
    if table.words:
        lines.append(f"COMMENT ON TABLE {name} IS {_quoted(table.words)};")
    lines += [f"COMMENT ON COLUMN {name}.{each.name} IS {_quoted(each.words)};" for each in columns if each.words]
    lines += [f"{each.text.replace(' ON ONLY ', ' ON ')};" for each in _rows(connection, _INDEXES, table.oid)]
    foreign = [f"ALTER TABLE {name} ADD CONSTRAINT {each.name} {each.text};" for each in constraints if each.is_foreign]
    return "\n".join(lines), foreign


def _column(column: Any) -> str:
    parts = [column.name, column.type, f"COLLATE {column.collation}" if column.collation else ""]
    if column.generated:
        parts.append(f"GENERATED ALWAYS AS ({column.value}) STORED")
    elif column.identity:
        parts.append(f"GENERATED {'ALWAYS' if column.identity == 'a' else 'BY DEFAULT'} AS IDENTITY")
    elif column.value is not None:
        parts.append(f"DEFAULT {column.value}")
    return " ".join(part for part in [*parts, "NOT NULL" if column.is_needed else ""] if part)


def _quoted(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def main() -> None:
    """Write the file from a database that is migrated for it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # as root Postgres runs as another user, who must get in
        with LocalServices(Path(folder) / "home", database_url=None, broker_url=None, log=print) as running:
            migrate.upgrade(running.database_url)
            FILE.write_text(text_of(running.database_url))
    print(f"{FILE}: written")


if __name__ == "__main__":
    main()
