"""Lays items flat: a column for each field of one handler's items, with the names and types of the view `items_NAME`.

A field keeps its name; a column of ours that has the same one is written with `_` in front, as in the view. JSON lines
and CSV have each value as the item has it. Parquet has it in the column's type; what does not fit, of an item that
another version made, is missing there and counted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sqlalchemy import Connection

from app.features.export.columns import COLUMNS, ColumnType, ExportColumn, ExportKind
from app.features.export.rows import ExportBatch
from app.store import item_views, items

ITEM: Final = "item"
TYPES: Final = {
    "text": ColumnType.TEXT,
    "bigint": ColumnType.INTEGER,
    "double precision": ColumnType.REAL,
    "boolean": ColumnType.BOOLEAN,
    "numeric": ColumnType.NUMERIC,
    "timestamptz": ColumnType.TIME,
    "date": ColumnType.DATE,
    "jsonb": ColumnType.JSON,
}
_BIGINT: Final = range(-(2**63), 2**63)
_NUMERIC_DIGITS, _NUMERIC_PLACES = 38, 9  # of Parquet's decimal


@dataclass(slots=True, kw_only=True)
class ItemFields:
    """The columns of a handler's items, and their values.

    columns   all that can be asked for
    fields    of these, by name: those of items, with their types
    ours      of the others: the name of each in the query
    is_typed  values are made to fit their types
    unfit     how many values did not
    """

    columns: tuple[ExportColumn, ...]
    fields: Mapping[str, ColumnType]
    ours: Mapping[str, str]
    is_typed: bool
    unfit: int = 0

    def only(self, chosen: Sequence[ExportColumn]) -> "ItemFields":
        """Furnish the chosen columns alone."""
        names = {column.name for column in chosen}
        return replace(
            self,
            fields={name: type_ for name, type_ in self.fields.items() if name in names},
            ours={name: ours for name, ours in self.ours.items() if name in names},
        )

    def furnish(self, found: ExportBatch) -> dict[str, list[Any]]:
        """Make the values of the columns, from a batch as it was read."""
        places = {name: place for place, name in enumerate(found.names)}
        made = {name: [row[places[ours]] for row in found.rows] for name, ours in self.ours.items()}
        found_items = [row[places[ITEM]] for row in found.rows]
        return made | {name: [self._value(item, name) for item in found_items] for name in self.fields}

    def _value(self, item: Mapping[str, Any], name: str) -> Any:
        value = item.get(name)
        if value is None or not self.is_typed:
            return value
        try:
            return _FIT[self.fields[name]](value)
        except (TypeError, ValueError, OverflowError, InvalidOperation):
            self.unfit += 1
            return None


def of_crawl(tx: Connection, crawl_id: int, handlers: Sequence[str] | None, *, is_typed: bool) -> ItemFields | None:
    """Find the fields of the one handler that is asked for, or of the only one that has items.

    None: there are several, or its items have no view.
    """
    named = set(handlers) if handlers else {each.handler for each in items.status(tx, crawl_id=crawl_id)}
    view = item_views.columns(tx, named.pop()) if len(named) == 1 else {}
    fields = {name: TYPES[kind] for name, kind in view.items() if name not in item_views.FIRST and kind in TYPES}
    if not fields or tuple(view)[: len(item_views.FIRST)] != item_views.FIRST:
        return None
    ours = {_free(column.name, fields): column for column in COLUMNS[ExportKind.ITEMS]}
    front = [column._replace(name=name, asked=column.name == ITEM) for name, column in ours.items()]
    place = next(place for place, column in enumerate(front) if column.type is ColumnType.JSON)
    flat = [ExportColumn(name, type_) for name, type_ in fields.items()]
    return ItemFields(
        columns=(*front[:place], *flat, *front[place:]),
        fields=fields,
        ours={name: column.name for name, column in ours.items()},
        is_typed=is_typed,
    )


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Put as many _ in front of the name as make it free."""
    while name in taken:
        name = f"_{name}"
    return name


def _text(value: Any) -> str:
    """Write a value as Postgres' ->> does."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or int(value) not in _BIGINT:
        raise ValueError(value)
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _numeric(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError(value)
    number = Decimal(str(value))
    if not number.is_finite() or -number.normalize().as_tuple().exponent > _NUMERIC_PLACES:  # type: ignore[operator]  # finite
        raise ValueError(value)
    if abs(number) >= Decimal(10) ** (_NUMERIC_DIGITS - _NUMERIC_PLACES):
        raise OverflowError(value)
    return f"{number:f}"


def _time(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _as_is(value: Any) -> Any:
    return value


_FIT: Final[Mapping[ColumnType, Callable[[Any], Any]]] = {
    ColumnType.TEXT: _text,
    ColumnType.INTEGER: _integer,
    ColumnType.REAL: _real,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.NUMERIC: _numeric,
    ColumnType.TIME: _time,
    ColumnType.DATE: date.fromisoformat,
    ColumnType.JSON: _as_is,
}
