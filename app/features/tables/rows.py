"""Rows of plugins: their statements run in the settle's transaction, bounded, and what they do ends with their own."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypedDict

import psycopg
import structlog
from psycopg.sql import SQL, Identifier
from sqlalchemy import Connection, Engine, TextClause, text

from app.errors import DETAIL_CHARS
from app.plugins import Plugin
from app.store import db

FAILURES_MOST = 3  # settles in a row in which nothing of a plugin's could be written: then it is off
SETTLE_S = 1.0  # of all statements of a plugin in a settle, which holds locks of ours
_POSTGRES = frozenset({"08", "25", "53", "57P", "58"})  # Postgres is away, full or read-only, whoever asks
DROPPED_AT_ONCE = 10_000  # rows of a table
_DROP = SQL("DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE crawl_id = %s LIMIT %s))")
_log = structlog.get_logger()
_sql = db.queries("tables", __file__)


class PageRows(TypedDict):
    """The rows that a plugin read of a page.   tables: by name; without rows, those of before go"""

    plugin: str
    host_id: int
    crawl_id: int
    key: bytes
    url: str
    tables: Mapping[str, Sequence[Mapping[str, Any]]]


class Written(NamedTuple):
    """Rows of a plugin that a settle could not write.   lost: their pages;   why: of the last of them"""

    plugin: str
    lost: int
    why: str
    is_off: bool


class PluginState(NamedTuple):
    """A plugin as the database has it.   tables: that are there"""

    name: str
    failures: int
    off_at: datetime | None
    why: str | None
    tables: list[str]


def write(tx: Connection, rows: Sequence[PageRows], plugins: Sequence[Plugin]) -> list[Written]:
    """Write rows of pages by the statements of their plugins. Whatever these do, the transaction goes on.

    Values that Postgres refuses cost the rows of their page alone. Returns what was lost.
    """
    found: dict[str, list[PageRows]] = {}
    for row in sorted(rows, key=lambda row: (row["plugin"], row["crawl_id"], row["key"])):
        found.setdefault(row["plugin"], []).append(row)
    state = db.run(tx, _sql["state"], {"names": [*found]}).one()
    loaded = {plugin.name: plugin for plugin in plugins if plugin.tables}
    lost = []
    for name, own in found.items():
        if name in loaded and name not in state.off:
            errors = _write(tx, loaded[name], own, state.timeout)
            if len(errors) < len(own):
                db.run(tx, _sql["worked"], {"name": name})
            if errors:
                is_off = len(errors) == len(own) and _failed(tx, name, errors[-1])
                lost.append(Written(name, len(errors), errors[-1], is_off))
    return lost


def tell(lost: Sequence[Written]) -> None:
    """Log what a settle that was committed has lost."""
    for each in lost:
        _log.warning("plugin.rows_lost", plugin=each.plugin, pages=each.lost, why=each.why)
        if each.is_off:
            _log.error("plugin.off", plugin=each.plugin, why=each.why)


def upgrade(engine: Engine, plugins: Sequence[Plugin]) -> list[str]:
    """Make the tables of plugins, or bring them up to date. Returns a line for each plugin whose tables cannot be."""
    problems = []
    for plugin in plugins:
        if not plugin.tables:
            continue
        with db.transaction(engine) as tx:
            db.run(tx, _sql["bound"], {"timeout": "30s"})
            try:
                with tx.begin_nested():
                    for table in plugin.tables:
                        for statement in table.create:
                            db.run(tx, _parsed(statement))
            except psycopg.Error as error:
                _raise_ours(error)
                problems.append(
                    f"plugin {plugin.name}: its tables cannot be made: {_said(error)}; correct what it declares"
                )
            db.run(tx, _sql["named"], {"name": plugin.name})
    return problems


def states(tx: Connection) -> list[PluginState]:
    """All plugins that have tables here, or failed."""
    return db.run(tx, _sql["listed"]).of(PluginState)


def put_on(tx: Connection, name: str) -> bool:
    """Let a plugin's rows be written again, by all processes from their next settle on. False: it is not known."""
    return db.run(tx, _sql["put_on"], {"name": name}).rowcount > 0


def drop_crawl(tx: Connection, crawl_id: int) -> int:
    """Delete rows of a crawl from tables with a column `crawl_id`. Returns how many; 0: there are none left."""
    deleted = 0
    for row in db.run(tx, _sql["of_crawls"]):
        cursor = tx.connection.cursor()
        cursor.execute(_DROP.format(table=Identifier(row.name)), [crawl_id, DROPPED_AT_ONCE])
        deleted += cursor.rowcount
    return deleted


def _write(tx: Connection, plugin: Plugin, rows: Sequence[PageRows], timeout: str) -> list[str]:
    """Write a plugin's rows, at once if possible, else page by page. Returns an error for each page that lost its."""
    until = time.monotonic() + SETTLE_S
    error = _at_once(tx, plugin, rows, until, timeout)
    if error is None:
        return []
    if len(rows) == 1 or (getattr(error, "sqlstate", None) or "")[:2] not in db.VALUES:
        return [_said(error)] * len(rows)
    found = [_at_once(tx, plugin, [row], until, timeout) for row in rows]
    return [_said(error) for error in found if error is not None]


def _at_once(tx: Connection, plugin: Plugin, rows: Sequence[PageRows], until: float, timeout: str) -> Exception | None:
    """Write the rows of some pages behind a savepoint. Returns the error that took them back."""
    known = {table.name for table in plugin.tables}
    if unknown := sorted({name for row in rows for name in row["tables"]} - known):
        return LookupError(f"it declares no table {unknown[0]}; there are {', '.join(sorted(known))}")
    pages = [_of_page(row) for row in rows]
    try:
        with tx.begin_nested():
            for table in plugin.tables:
                own = [
                    {**each, **page}
                    for row, page in zip(rows, pages, strict=True)
                    for each in row["tables"].get(table.name, ())
                ]
                where = {"pages": db.rows_param(pages), "rows": db.rows_param(own)}
                for statement in table.write:
                    left_ms = int((until - time.monotonic()) * 1_000)
                    if left_ms <= 0:
                        raise TimeoutError(f"took more than {SETTLE_S:g} s")
                    db.run(tx, _sql["bound"], {"timeout": f"{left_ms}ms"})
                    db.run(tx, _parsed(statement), where)
    except (psycopg.Error, TimeoutError) as error:
        _raise_ours(error)
        return error
    db.run(tx, _sql["bound"], {"timeout": timeout})
    return None


def _of_page(row: PageRows) -> dict[str, object]:
    """The fields that each row gets: they name its page in `pages`."""
    return {
        "host_id": row["host_id"],
        "crawl_id": row["crawl_id"],
        "key": f"\\x{row['key'].hex()}",
        "url": row["url"],
    }


def _failed(tx: Connection, name: str, why: str) -> bool:
    """Count a failure. Returns whether the plugin is off now."""
    return bool(db.run(tx, _sql["failed"], {"name": name, "why": why, "most": FAILURES_MOST}).one().is_off)


@cache
def _parsed(statement: str) -> TextClause:
    return text(statement)


def _raise_ours(error: Exception) -> None:
    """Raise an error that is no statement's fault."""
    sqlstate = getattr(error, "sqlstate", None)
    if isinstance(error, psycopg.OperationalError) and (sqlstate is None or sqlstate[:2] in _POSTGRES):
        raise error
    if sqlstate is not None and (sqlstate[:2] in _POSTGRES or sqlstate[:3] in _POSTGRES):
        raise error


def _said(error: Exception) -> str:
    if getattr(error, "sqlstate", None) == "57014":
        return f"took more than {SETTLE_S:g} s"
    return " ".join(str(error).split())[:DETAIL_CHARS]
