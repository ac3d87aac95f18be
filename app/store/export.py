"""Reads the rows of an export, a batch at a time, each behind the last. One query of export.sql each.

Paging by key instead of one long cursor: a transaction that lasts as long as an export would keep Postgres from
clearing up behind the frontier.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.model import Capture
from app.store import db

_sql = db.queries("export")
Position = tuple[str, ...]  # the key of a row as text: the columns after_1, after_2 …, in the order of the export


class ExportBatch(NamedTuple):
    """Rows in the order of `names`; the first columns, after_1 and so on, are the key by which they are ordered."""

    names: list[str]
    rows: list[tuple[Any, ...]]

    @property
    def last(self) -> Position:
        """The position of the last row."""
        return tuple(map(_text, self.rows[-1][: self._width]))

    @property
    def positions(self) -> int:
        """The number of positions: a page has one, however many links it has."""
        return len({row[: self._width] for row in self.rows})

    @property
    def _width(self) -> int:
        return sum(name.startswith("after_") for name in self.names)


_BATCHES = {"pages": _sql["pages"], "fetches": _sql["fetches"], "links": _sql["links"], "items": _sql["items"]}
_FIRST: Mapping[str, Position] = {
    "pages": ("0", ""),
    "fetches": ("-infinity", "0"),
    "links": ("-infinity", "0"),
    "items": ("0", "", "", "-1"),
}


def first(kind: str) -> Position:
    """The position in front of all rows."""
    return _FIRST[kind]


def batch(
    tx: Connection, kind: str, *, crawl_id: int, after: Position, n: int, where: Mapping[str, Any]
) -> ExportBatch:
    """The next n rows.   where: a value for each filter of the kind's query, None: any; and for each flag of it"""
    values = {"crawl_id": crawl_id, "n": n, **where}
    values |= {f"after_{place}": value for place, value in enumerate(after, 1)}
    return ExportBatch(*db.tuples(tx, _BATCHES[kind], values))


def latest_captures(
    tx: Connection, *, crawl_id: int, pages: Sequence[tuple[int, bytes]]
) -> dict[tuple[int, bytes], Capture]:
    """The latest capture of each page, by (host id, key): of the rendered document, where one stands.

    Pages that are not in the archive are missing.
    """
    rows = db.rows_param([{"host_id": host_id, "key": key} for host_id, key in pages])
    found = db.run(tx, _sql["latest_captures"], {"crawl_id": crawl_id, "rows": rows}).of(Capture)
    return {(capture.host_id, capture.key): capture for capture in found}


def fits(tx: Connection, pattern: str) -> None:
    """Try a regular expression. Raises Unwritable with Postgres' objection."""
    tx.execute(_sql["fits"], {"pattern": pattern})


def _text(value: object) -> str:
    match value:
        case bytes():
            return value.hex()
        case datetime():
            return value.isoformat()
        case _:
            return str(value)
