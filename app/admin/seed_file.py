"""Reads seeds from a file: one URL per line, or a column of CSV or TSV, by a CSV reader (RFC 4180).

A file is CSV if its name or `column` says so, if its first line is a header that names a column of URLs, or if that
line has tabs or begins with a quote. Any other file is a list: a comma is a part of its URL.
"""

import codecs
import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from app.errors import InputError
from app.policy.bare import bare_host

HEADERS = frozenset(
    {"url", "urls", "uri", "link", "links", "href", "loc", "address", "website", "page", "seed", "host", "domain"}
)
SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
# The longer first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MARK_BYTES = 4
_NAME = re.compile(r"[^\W\d][\w -]{0,60}")


def encoding(start: bytes) -> str:
    """The encoding of a file that begins so: what its byte order mark says, else UTF-8."""
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")


def seeds(lines: Iterable[str], *, suffix: str = "", column: str | None = None) -> Iterator[tuple[int, str]]:
    """Read (line number, text of a seed), without empty lines and comments.

    Lines count from 1; a record has its first line's.

    suffix: of the file's name, such as .csv.   column: a header's name, or a number from 1; None: a column with a usual
    name, else the first. Raises InputError for a column that does not exist.
    """
    numbered = ((number, line.lstrip("\ufeff") if number == 1 else line) for number, line in enumerate(lines, 1))
    first = next(((number, line) for number, line in numbered if not _is_skipped(line)), None)
    if first is None:
        return
    delimiter = _delimiter(first[1], suffix, column)
    everything = chain([first], numbered)
    if delimiter is None:
        yield from ((number, line.strip()) for number, line in everything if not _is_skipped(line))
    else:
        yield from _cells(everything, delimiter, column)


def _is_skipped(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _delimiter(line: str, suffix: str, column: str | None) -> str | None:
    """The delimiter of a file with this first line; None: the file is a list."""
    tabbed = "\t" in line.strip()
    if suffix in SUFFIXES:
        header = re.sub(r'"[^"]*"', "", line)
        return "\t" if tabbed else ";" if ";" in header and "," not in header else SUFFIXES[suffix]
    if tabbed:
        return "\t"
    for delimiter in (",", ";"):
        cells = _record(line, delimiter)
        if len(cells) > 1 and _url_column(cells) is not None:
            return delimiter
    is_header_alone = line.strip().strip('"').lower() in HEADERS
    return "," if column is not None or is_header_alone or line.lstrip().startswith('"') else None


def _cells(numbered: Iterator[tuple[int, str]], delimiter: str, column: str | None) -> Iterator[tuple[int, str]]:
    """Read one cell of each record.

    A record without it, or that cannot be read, is returned whole, as an invalid seed.
    """
    records = _records(numbered, delimiter)
    first = next(records)
    index, is_header = _place(first[1], column)
    for number, record in records if is_header else chain([first], records):
        cell = record[index].strip() if index < len(record) else delimiter.join(record) + f" (no column {index + 1})"
        if cell:
            yield number, cell


def _records(numbered: Iterator[tuple[int, str]], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Read records, each with the number of its first line: a quoted cell may contain line ends."""
    taken: list[int] = []

    def lines() -> Iterator[str]:
        for number, line in numbered:
            if taken or not _is_skipped(line):  # within a quoted cell every line counts
                taken.append(number)
                yield line

    reader = csv.reader(lines(), delimiter=delimiter)
    while True:
        taken.clear()
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            record = [f"({error})"]
        if taken:
            yield taken[0], record


def _place(header: list[str], column: str | None) -> tuple[int, bool]:
    """(index of the column, whether this first record is a header)."""
    usual = _url_column(header)
    if column is None:
        return (0, False) if usual is None else (usual, True)
    if column.isdecimal() and int(column) >= 1:
        index = int(column) - 1
        cell = header[index].strip() if index < len(header) else ""
        return index, usual is not None or bool(_NAME.fullmatch(cell) and bare_host(cell) is None)
    names = [cell.strip().lower() for cell in header]
    if column.strip().lower() not in names:
        has = ", ".join(cell.strip()[:40] for cell in header[:20])
        raise InputError(f"--column {column!r}", f"is not in the first line; use one of: {has}; or a number from 1")
    return names.index(column.strip().lower()), True


def _url_column(cells: list[str]) -> int | None:
    """The index of a header's column of URLs; None: it is not a header, or names none."""
    names = [cell.strip().lower() for cell in cells]
    if any("://" in name for name in names):
        return None
    return next((index for index, name in enumerate(names) if name in HEADERS), None)


def _record(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
