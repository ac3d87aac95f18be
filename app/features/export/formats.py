"""Writes rows as JSON lines, CSV or Parquet. Markdown has a file of its own.

Parquet is typed, and written a row group at a time (extra `parquet`: arro3, a fifth of pyarrow's size).
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

import orjson

from app import owned
from app.clock import EPOCH
from app.errors import InputError
from app.extras import to_install
from app.features.export.columns import ColumnType, ExportColumn
from app.features.export.rows import Row, most_at_once
from app.words import inert

if TYPE_CHECKING:
    from arro3.core import Array, DataType

CRLF: Final = "\r\n"
Write = Callable[[Path, Sequence[ExportColumn], Iterator[list[Row]]], None]
MICROSECOND: Final = timedelta(microseconds=1)


class ExportFormat(StrEnum):
    """The form of the files, which is also the ending of their names but for Markdown's."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    MARKDOWN = "markdown"  # a file for each page


def format_of(word: str | None, to: str) -> ExportFormat:
    """The format that a word names; without one, as the ending of the place says, or JSON lines. Raises InputError."""
    if word is None:
        ending = to.rpartition(".")[2]
        return ExportFormat(ending) if ending in set(ExportFormat) else ExportFormat.JSONL
    if word not in set(ExportFormat):
        raise InputError(f"--format {word}", f"is unknown; use one of {', '.join(ExportFormat)}")
    return ExportFormat(word)


def endings(form: ExportFormat, *, is_chosen: bool) -> tuple[str, ...]:
    """The endings that a file may have: of the format, or of any where none is chosen; Markdown has no single file."""
    if form is ExportFormat.MARKDOWN:
        return ()
    return (form,) if is_chosen else tuple(each for each in ExportFormat if each is not ExportFormat.MARKDOWN)


def writer(form: ExportFormat, *, spreadsheet: bool = False) -> Write:
    """The function that writes a whole file of rows. Raises InputError where its library is not installed.

    spreadsheet: as of `write_csv`"""
    match form:
        case ExportFormat.JSONL:
            return write_jsonl
        case ExportFormat.CSV:
            return partial(write_csv, spreadsheet=spreadsheet)
        case _:
            return make_write()


def write_jsonl(path: Path, columns: Sequence[ExportColumn], batches: Iterable[list[Row]]) -> None:
    """Write an object a line; times in ISO 8601, UTC."""
    names = [column.name for column in columns]
    with open(path, "wb", opener=owned.open_draft) as file:
        for batch in batches:
            for row in batch:
                file.write(line(dict(zip(names, row, strict=True))))


def write_csv(
    path: Path, columns: Sequence[ExportColumn], batches: Iterable[list[Row]], *, spreadsheet: bool = False
) -> None:
    """Write a header and a record a row (RFC 4180, with LF); nothing stands for a missing value.

    spreadsheet: with a ' before each text that one would run as a formula"""
    cell = _inert_cell if spreadsheet else _cell
    with open(path, "w", encoding="utf-8", newline="", opener=owned.open_draft) as file:
        file.writelines(_records([[column.name for column in columns]]))
        for batch in batches:
            file.writelines(_records([[cell(value) for value in row] for row in batch]))


def _records(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lines of CSV. Older Pythons quote a lone CR, which ends a line for readers, only where the line end has one."""
    lines: list[str] = []
    csv.writer(_CsvFile(lines.append), lineterminator=CRLF).writerows(rows)
    return (f"{line.removesuffix(CRLF)}\n" for line in lines)


class _CsvFile(NamedTuple):
    """A file for the csv module."""

    write: Callable[[str], object]


def line(values: dict[str, Any]) -> bytes:
    """A row as a line of JSON."""
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def _inert_cell(value: object) -> object:
    written = _cell(value)
    return inert(written) if isinstance(written, str) else written


def _cell(value: object) -> object:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case dict() | list():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return value


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

    with open(path, "wb", opener=owned.open_draft) as file:
        write(
            RecordBatchReader.from_batches(schema, records()),
            _Sink(file, failed),  # type: ignore[arg-type]  # it has what arro3 calls of a file
            compression="zstd(3)",
            max_row_group_size=4 * most_at_once(columns),  # encoded, they wait in memory for the group's end
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
