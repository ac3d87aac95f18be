"""Cleans text on its way to Postgres: the one place that turns a site's text into text that Postgres takes.

Postgres' text holds neither NUL nor half of a surrogate pair
(https://www.postgresql.org/docs/current/datatype-character.html). Both are dropped here, in every parameter: rows that
go as one JSON parameter (`rows_param`), and text by itself or in a list (`Dumper`, which each connection of
`db.connect` uses). Else a header, a title or a line of robots.txt that holds one would fail its settle again at every
visit.

On the way back JSON is read by what wrote it: Postgres gives the 1e30 of a site as an integer of 31 digits, which
orjson reads as the number that it was, and could not write. Rows come as the driver's named tuples (`Rows`).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import orjson
import psycopg
import psycopg.adapt
from psycopg.types.json import set_json_loads
from psycopg.types.string import StrDumperUnknown

_ESCAPED_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_Kind = TypeVar("_Kind", bound=NamedTuple)


class RowsParam(bytes):
    """Rows as JSON in UTF-8, clean. A string of them would be decoded, looked through and encoded once more."""

    __slots__ = ()


def rows_param(rows: Sequence[Mapping[str, Any]]) -> RowsParam:
    """Rows as one JSON parameter. bytes become hex text: decode(x, 'hex') in the query."""
    try:
        encoded = orjson.dumps(rows, default=bytes.hex)  # it knows dates and UUIDs, and a row has 15 keys and digests
    except orjson.JSONEncodeError:  # a lone surrogate
        encoded = json.dumps(rows, default=_hex, ensure_ascii=False).encode("utf-8", "ignore")
    return RowsParam(_ESCAPED_NUL.sub(rb"\1", encoded) if rb"\u0000" in encoded else encoded)


class RowsDumper(psycopg.adapt.Dumper):
    """psycopg's dumper for rows: they go as they are, as text of a type that the query says."""

    def dump(self, obj: RowsParam) -> bytes:
        return obj


class Dumper(StrDumperUnknown):
    """psycopg's dumper for text, which by itself would raise; lists of text use it too."""

    def dump(self, obj: str) -> bytes:
        return obj.replace("\0", "").encode("utf-8", "ignore")


def guard(connection: psycopg.Connection[Any]) -> None:
    """Make a connection clean the text that it sends, and read JSON as it was sent."""
    set_json_loads(orjson.loads, connection)
    connection.adapters.register_dumper(str, Dumper)
    connection.adapters.register_dumper(RowsParam, RowsDumper)


def _hex(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime | UUID):  # orjson knows these by itself
        return str(value)
    raise TypeError(f"{type(value).__name__} in a row")


class Rows:
    """The rows of a query, as the driver's named tuples."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        """The number of rows written, where none are returned."""
        return int(self._cursor.rowcount)

    def all(self) -> list[Any]:
        rows: list[Any] = self._cursor.fetchall()
        return rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor.fetchall())

    def one_or_none(self) -> Any:
        rows = self._cursor.fetchall()
        assert len(rows) < 2, "the query was to bring one row"
        return rows[0] if rows else None

    def one(self) -> Any:
        (row,) = self._cursor.fetchall()
        return row

    def scalar_one(self) -> Any:
        ((value,),) = self._cursor.fetchall()
        return value

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """The rows as values of `kind`, each field from the column of its name."""
        in_order = attrgetter(*kind._fields)
        return [kind._make(in_order(row)) for row in self._cursor.fetchall()]
