"""Cleans text on its way to Postgres: the one place that turns a site's text into text that Postgres takes.

Postgres' text holds neither NUL nor half of a surrogate pair
(https://www.postgresql.org/docs/current/datatype-character.html). Both are dropped here, in every parameter: rows that
go as one JSON parameter (`rows_param`), and text by itself or in a list (`Dumper`, which each connection of
`db.connect` uses). Else a header, a title or a line of robots.txt that holds one would fail its settle again at every
visit.

JSON is read by what wrote it: Postgres gives the 1e30 of a site as an integer of 31 digits, which orjson reads as the
number that it was, and could not write.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
import psycopg
import psycopg.adapt
from psycopg.types.json import set_json_loads
from psycopg.types.string import StrDumperUnknown

_NUL = "\x00"
_ESCAPED_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


def clean(text: str) -> str:
    """The text without NUL and lone surrogates."""
    if _NUL in text:
        text = text.replace(_NUL, "")
    return text if text.isascii() else text.encode("utf-8", "ignore").decode()


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
        return obj.replace(_NUL, "").encode("utf-8", "ignore")


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
