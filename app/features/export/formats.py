"""Writes rows as JSON lines or CSV. `parquet` and `markdown` have files of their own."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from app.errors import InputError
from app.features.export.columns import ExportColumn
from app.features.export.rows import Row
from app.words import inert

CRLF: Final = "\r\n"
Write = Callable[[Path, Sequence[ExportColumn], Iterator[list[Row]]], None]


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
            from app.features.export.parquet import make_write

            return make_write()


def write_jsonl(path: Path, columns: Sequence[ExportColumn], batches: Iterable[list[Row]]) -> None:
    """Write an object a line; times in ISO 8601, UTC."""
    names = [column.name for column in columns]
    with path.open("wb") as file:
        for batch in batches:
            for row in batch:
                file.write(line(dict(zip(names, row, strict=True))))


def write_csv(
    path: Path, columns: Sequence[ExportColumn], batches: Iterable[list[Row]], *, spreadsheet: bool = False
) -> None:
    """Write a header and a record a row (RFC 4180, with LF); nothing stands for a missing value.

    spreadsheet: with a ' before each text that one would run as a formula"""
    cell = _inert_cell if spreadsheet else _cell
    with path.open("w", encoding="utf-8", newline="") as file:
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
