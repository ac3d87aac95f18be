"""How commands speak: tables (rich on a terminal, aligned text elsewhere), facts, and one JSON document.

What sites wrote (titles, URLs, headers) may hold control characters: none reaches a terminal.
"""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from app.words import rounded

CELL_CHARACTERS = 80

Sitemaps = Annotated[
    str | None,
    typer.Option(
        metavar="none|declared|all",
        help="Sitemaps to read: declared are those that robots.txt names; all, also /sitemap.xml where it names none. "
        "[default: all, or as before]",
    ),
]
HonourOptOuts = Annotated[
    bool | None,
    typer.Option(
        "--honour-opt-outs/--no-honour-opt-outs",
        help="Keep no page whose owner opts out of text and data mining. [default: no, or as before]",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, for scripts.")]


def show_json(value: object) -> None:
    """One document; indented for a person at a terminal."""
    indent = 2 if sys.stdout.isatty() else None
    print(json.dumps(plain(value), ensure_ascii=False, indent=indent))


def plain(value: object) -> Any:
    """As JSON has it: datetimes ISO, bytes hex, durations in seconds, dataclasses and rows as objects."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | memoryview():
            return bytes(value).hex()
        case Mapping():
            return {str(key): plain(entry) for key, entry in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(entry) for entry in value]
        case _ if is_dataclass(value):
            return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            return str(value)


def shown(value: object) -> str:
    """One line for a person, printable characters only."""
    match value:
        case None:
            text = ""
        case bool():
            text = "true" if value else "false"
        case float():
            text = rounded(value)
        case datetime():
            text = value.isoformat(" ", "seconds")
        case list() | tuple() | dict():
            text = json.dumps(plain(value), ensure_ascii=False)
        case _:
            text = str(plain(value))
    return text if text.isprintable() else "".join(_printable(character) for character in text)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, cut: int = CELL_CHARACTERS) -> None:
    """cut: characters of a cell; the rest is three dots."""
    cells = [[_cut(shown(value), cut) for value in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(columns, cells)
        return
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in [list(columns), *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def rows_table(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Columns of these names, in this order, from rows that may have more."""
    table(names, [[row[name] for name in names] for row in rows])


def heading(text: str) -> None:
    """Opens a section of a page; a blank line before it."""
    print()
    typer.secho(text, bold=True) if sys.stdout.isatty() else print(text)


def facts(pairs: Iterable[tuple[str, object]], *, indent: str = "  ") -> None:
    """A line each, aligned; those without a value are left out."""
    lines = [(name, shown(value)) for name, value in pairs if value not in (None, "", [], ())]
    width = max((len(name) for name, _ in lines), default=0)
    for name, text in lines:
        print(f"{indent}{name.ljust(width)}  {text}")


def write_file(path: Path, text: str) -> None:
    """Folders and all; what was there is replaced. Raises InputError when it cannot be written."""
    from app.errors import InputError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}", f"cannot be written ({error.strerror}); choose another folder") from None


def _rich_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(Text(name), overflow="fold")
    for row in cells:
        made.add_row(*(Text(cell) for cell in row))
    Console().print(made)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"
