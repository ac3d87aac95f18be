"""Items that handlers extracted. One query of items.sql each, in the caller's transaction."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Connection

from app.store import db
from app.store.extractions import Place

_sql = db.queries("items")


class ItemRow(TypedDict):
    """An item as it goes in.   n: its place among those of its page and handler"""

    host_id: int
    crawl_id: int
    key: bytes
    handler: str
    n: int
    url: str
    capture_id: int
    version: int
    item: Mapping[str, Any]


class ItemCounts(NamedTuple):
    """Items of a handler and version.   stale: of these, those that are out of date"""

    handler: str
    version: int
    items: int
    stale: int


def replace(tx: Connection, places: Iterable[Place], rows: Sequence[ItemRow]) -> None:
    """Replace all items of these pages and handlers by others, or by none."""
    gone = _rows(places)
    if gone:
        db.run(tx, _sql["drop"], {"rows": db.rows_param(gone)})
    if rows:
        db.run(tx, _sql["add"], {"rows": db.rows_param(rows)})


def outdate(tx: Connection, places: Iterable[Place]) -> None:
    """Mark the items of these pages and handlers stale."""
    late = _rows(places)
    if late:
        db.run(tx, _sql["outdate"], {"rows": db.rows_param(late)})


def supersede(tx: Connection, *, handler: str, version: int) -> int:
    """Mark items of the handler's earlier versions stale, some at a time. Returns how many; 0: there are none left."""
    return db.run(tx, _sql["supersede"], {"handler": handler, "version": version, "n": 10_000}).rowcount


def status(tx: Connection, *, crawl_id: int | None = None) -> list[ItemCounts]:
    return db.run(tx, _sql["status"], {"crawl_id": crawl_id}).of(ItemCounts)


def _rows(places: Iterable[Place]) -> list[dict[str, Any]]:
    names = ("host_id", "crawl_id", "key", "handler")
    return [dict(zip(names, place, strict=True)) for place in sorted(places)]
