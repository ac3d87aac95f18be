"""Writes rows as JSON lines or CSV. `parquet` and `markdown` have files of their own."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from app.admin.export.columns import ExportColumn
from app.admin.export.rows import Row
from app.errors import InputError

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


def writer(form: ExportFormat) -> Write:
    """The function that writes a whole file of rows. Raises InputError where its library is not installed."""
    match form:
        case ExportFormat.JSONL:
            return write_jsonl
        case ExportFormat.CSV:
            return write_csv
        case _:
            from app.admin.export.parquet import make_write

            return make_write()


def write_jsonl(path: Path, columns: Sequence[ExportColumn], batches: Iterable[list[Row]]) -> None:
    """Write an object a line; times in ISO 8601, UTC."""
    names = [column.name for column in columns]
    with path.open("wb") as file:
        for batch in batches:
            for row in batch:
                file.write(_line(dict(zip(names, row, strict=True))))


def write_csv(path: Path, columns: Sequence[ExportColumn], batches: Iterable[list[Row]]) -> None:
    """Write a header and a record a row (RFC 4180, with LF); nothing stands for a missing value."""
    with path.open("w", encoding="utf-8", newline="") as file:
        records = csv.writer(file, lineterminator="\n")
        records.writerow([column.name for column in columns])
        for batch in batches:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([[_cell(value) for value in row] for row in batch])
            file.write(text.getvalue())


def _line(values: dict[str, Any]) -> bytes:
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


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
