"""Writes rows as Parquet, typed, a row group at a time (extra `parquet`: arro3, a fifth of pyarrow's size)."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from app.errors import InputError
from app.extras import to_install
from app.features.export.columns import ColumnType, ExportColumn
from app.features.export.rows import Row, most_at_once

if TYPE_CHECKING:
    from arro3.core import Array, DataType

GROUP_BATCHES: Final = 4  # encoded, they wait in memory for the end of their group
COMPRESSION: Final = "zstd(3)"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def make_write() -> Callable[[Path, Sequence[ExportColumn], Iterable[list[Row]]], None]:
    """The function that writes a file. Raises InputError without the libraries."""
    try:
        import arro3.core
        import arro3.io  # noqa: F401  # both are needed
    except ImportError as error:
        raise InputError("--format parquet", f"needs arro3; {to_install('parquet')}") from error
    return write_parquet


def write_parquet(path: Path, columns: Sequence[ExportColumn], batches: Iterable[list[Row]]) -> None:
    """Write a file of these columns. Times are UTC with microseconds, JSON is text."""
    from arro3.core import Field, RecordBatch, RecordBatchReader, Schema
    from arro3.io import write_parquet as write

    types = _types()
    schema = Schema([Field(column.name, types[column.type], nullable=True) for column in columns])
    failed: list[BaseException] = []

    def records() -> Iterator[RecordBatch]:
        try:
            for batch in batches:
                values = zip(columns, zip(*batch, strict=True), strict=True)
                yield RecordBatch.from_arrays([_array(column.type, each) for column, each in values], schema=schema)
                if failed:
                    return
        except BaseException as error:  # noqa: BLE001  # it passes through Rust, which would say it in other words
            failed.append(error)

    with path.open("wb") as file:
        write(
            RecordBatchReader.from_batches(schema, records()),
            _Sink(file, failed),  # type: ignore[arg-type]  # it has what arro3 calls of a file
            compression=COMPRESSION,
            max_row_group_size=GROUP_BATCHES * most_at_once(columns),
        )
    if failed:
        raise failed[0]


class _Sink:
    """A file for arro3, which panics where one cannot be written to: the error is noted, and the rest dropped."""

    def __init__(self, file: BinaryIO, failed: list[BaseException]) -> None:
        self._file = file
        self._failed = failed

    def write(self, data: bytes) -> int:
        if not self._failed:
            try:
                self._file.write(data)
            except OSError as error:
                self._failed.append(error)
        return len(data)

    def flush(self) -> None:
        """Leave it to the end: the file is flushed when it is closed."""

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)


def _types() -> dict[ColumnType, "DataType"]:
    from arro3.core import DataType

    return {
        ColumnType.TEXT: DataType.utf8(),
        ColumnType.JSON: DataType.utf8(),
        ColumnType.INTEGER: DataType.int64(),
        ColumnType.REAL: DataType.float64(),
        ColumnType.BOOLEAN: DataType.bool(),
        ColumnType.TIME: DataType.timestamp("us", tz="UTC"),
        ColumnType.DATE: DataType.date32(),
        ColumnType.NUMERIC: DataType.decimal128(38, 9),
    }


def _array(type_: ColumnType, values: Sequence[Any]) -> "Array":
    from arro3.core import Array, DataType

    types = _types()
    match type_:
        case ColumnType.TIME:
            micros = [None if value is None else (value - EPOCH) // MICROSECOND for value in values]
            return Array(micros, type=DataType.int64()).cast(types[type_])
        case ColumnType.DATE:
            days = [None if value is None else (value - EPOCH.date()).days for value in values]
            return Array(days, type=DataType.int32()).cast(types[type_])
        case ColumnType.NUMERIC:  # as text
            return Array(values, type=DataType.utf8()).cast(types[type_])
        case ColumnType.JSON:
            return Array([None if value is None else json.dumps(value) for value in values], type=types[type_])
        case _:
            return Array(values, type=types[type_])
