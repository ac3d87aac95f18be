"""A view per handler, `items_NAME`, with a column for each field of its items: made and widened as fields appear.

With a model the columns have its types. Without one they are text, since nothing says that a field keeps its type.
"""

from collections.abc import Mapping
from typing import cast

import psycopg
import structlog
from psycopg import sql
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from app.errors import TiptoeError
from app.store import db

_sql = db.queries("item_views")
_log = structlog.get_logger()
COLUMNS_MOST = 200  # a handler that makes field names of its data has no view of them
FIRST = ("_crawl", "_url", "_n", "_version", "_stale", "_extracted_at", "_item")  # no field of an item hides them
_FIELD_BYTES_MOST = 63  # NAMEDATALEN - 1: Postgres cuts a longer name, and two cut ones would be one column


def name_of(handler: str) -> str:
    return f"items_{handler}"


def columns(tx: Connection, handler: str) -> dict[str, str]:
    """The columns of a handler's view with their types, in their order; none where there is no view."""
    names = {"timestamp with time zone": "timestamptz"}
    found = db.run(tx, _sql["columns"], {"view": name_of(handler)})
    return {row.name: names.get(row.kind, row.kind) for row in found}


def widen(engine: Engine, handler: str, fields: Mapping[str, str | None]) -> list[str]:
    """Make the handler's view, or add columns for further fields. Returns its columns.

    fields: {field: SQL type}, None: text. Two processes wait for each other. Where Postgres refuses (a view of a
    person's own hangs on it, the role may not), the view stays as it is, and the log says so.
    """
    try:
        with db.transaction(engine) as tx:
            db.run(tx, _sql["lock"])
            before = columns(tx, handler)
            if before and list(before)[: len(FIRST)] != list(FIRST):
                _log.warning("items.no_view", handler=handler, error=f"{name_of(handler)} is a view of your own")
                return []
            there = {*before, *FIRST}
            new = {name: kind for name, kind in fields.items() if name not in there and _may_be_column(name)}
            if before and not new and tx.execute(_sql["is_current"], {"view": name_of(handler)}).scalar_one():
                return list(before)
            known = {name: kind for name, kind in before.items() if name not in FIRST}
            _create(tx, handler, known, dict(list(new.items())[: max(COLUMNS_MOST - len(known), 0)]))
            return list(columns(tx, handler))
    except (TiptoeError, DBAPIError, psycopg.Error) as error:
        _log.warning("items.no_view", handler=handler, error=str(error))
        return []


def _may_be_column(field: str) -> bool:
    return "\x00" not in field and 0 < len(field.encode("utf-8", "replace")) <= _FIELD_BYTES_MOST


def _create(tx: Connection, handler: str, known: Mapping[str, str], new: Mapping[str, str | None]) -> None:
    """CREATE OR REPLACE, which adds columns at the end. Those it has keep their type and place."""
    typed = {**known, **{name: kind or "text" for name, kind in new.items()}}
    fields = [_column(name, kind) for name, kind in typed.items()]
    statement = sql.SQL(
        "CREATE OR REPLACE VIEW {view} AS SELECT c.name AS _crawl, i.url AS _url, i.n AS _n, i.version AS _version, "
        "i.stale OR u.gone_at IS NOT NULL AS _stale, i.extracted_at AS _extracted_at, i.item AS _item{fields} "
        "FROM items AS i JOIN crawls AS c ON c.id = i.crawl_id "
        "LEFT JOIN urls AS u ON u.host_id = i.host_id AND u.crawl_id = i.crawl_id AND u.key = i.key "
        "WHERE i.handler = {handler}"
    ).format(
        view=sql.Identifier(name_of(handler)),
        fields=sql.SQL("").join(sql.SQL(", ") + field for field in fields),
        handler=sql.Literal(handler),
    )
    driver = cast("psycopg.Connection[object]", tx.connection.driver_connection)
    driver.execute(statement)


def _column(name: str, kind: str) -> sql.Composable:
    assert kind in {"text", "bigint", "double precision", "boolean", "numeric", "timestamptz", "date", "jsonb"}, kind
    if kind == "jsonb":
        return sql.SQL("i.item -> {name} AS {column}").format(name=sql.Literal(name), column=sql.Identifier(name))
    return sql.SQL("CAST(i.item ->> {name} AS {kind}) AS {column}").format(
        name=sql.Literal(name), kind=sql.SQL(kind), column=sql.Identifier(name)
    )
