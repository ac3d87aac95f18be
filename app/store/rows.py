"""What a query brought. The driver makes a named tuple of each row (psycopg's `namedtuple_row`); this hands them out."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

_Kind = TypeVar("_Kind", bound=NamedTuple)


class Rows:
    """What a query brought, as the driver's named tuples."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        """Rows that were written, where none are returned."""
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
        """As `kind`, each field from the column of its name."""
        in_order = attrgetter(*kind._fields)
        return [kind._make(in_order(row)) for row in self._cursor.fetchall()]
