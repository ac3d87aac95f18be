"""Prints what commands answer: tables (rich on a terminal, aligned text elsewhere), facts, and one JSON document.

The border to the terminal: commands print only through this module (a test holds that), and every text passes
`app.words.harmless` or `escaped`. Sites write titles, URLs and headers: none of their control characters reaches a
terminal.
"""

import itertools
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from app.words import escaped, harmless, rounded, told_if_it_can_be

WIDTH = 80  # of passages
_is_hushed: ContextVar[bool] = ContextVar("--quiet", default=False)
_BREAKS = re.compile("[\t-\r\x1c-\x1f\x85\u2028\u2029]")

_JSON_HELP = "One JSON document on standard output, for scripts."
AsJson = Annotated[bool, typer.Option("--json", help=_JSON_HELP)]
JSON: Any = typer.Option(False, "--json", help=_JSON_HELP)  # of a command that is made of a signature


def answer(text: str, *, end: str = "\n") -> None:
    """Print to standard output."""
    print(harmless(text), end=end)


def say(line: str) -> None:
    """Print one line to standard error: standard output is for answers. Nothing within `hushed`."""
    if not _is_hushed.get():
        with told_if_it_can_be():
            print(shown(line), file=sys.stderr, flush=True)


@contextmanager
def hushed(is_quiet: bool) -> Iterator[None]:
    """Context in which `say` prints nothing, if it is to be quiet. An error that leaves it is said as ever."""
    token = _is_hushed.set(is_quiet)
    try:
        yield
    finally:
        _is_hushed.reset(token)


def show_json(value: object) -> None:
    """Print one document, indented at a terminal. Characters that would steer it are written as \\uXXXX."""
    answer(as_json_text(value, indent=2 if sys.stdout.isatty() else None))


def as_json_text(value: object, *, indent: int | None = None) -> str:
    """A document as text. Where the output is not in UTF-8, all but ASCII is escaped: a parser restores it."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return escaped(json.dumps(plain(value), ensure_ascii=not is_unicode, indent=indent))


def done(line: str, *, as_json: bool, **document: object) -> None:
    """Report a change that a command made, as a line or as a document."""
    show_json(document) if as_json else answer(shown(line))


def plain(value: object) -> Any:
    """A value for JSON: datetimes ISO, bytes hex, durations in seconds, dataclasses and rows as objects."""
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
    """A value as one line for a person, without characters that steer a terminal."""
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
    return harmless(_BREAKS.sub(" ", text))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, cut: int = 80) -> None:
    """Print a table. cut: characters of a cell; the rest becomes three dots."""
    cells = [[_cut(shown(value), cut) for value in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(columns, cells)
        return
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in [list(columns), *cells]:
        answer("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def rows_table(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Print columns of these names, in this order, from rows that may have more."""
    table(names, [[row[name] for name in names] for row in rows])


def heading(text: str) -> None:
    """Open a section of a page, after a blank line."""
    answer("")
    typer.secho(shown(text), bold=True) if sys.stdout.isatty() else answer(shown(text))


def facts(pairs: Iterable[tuple[str, object]], *, indent: str = "  ") -> None:
    """Print facts, aligned, one per line; those without a value are left out."""
    lines = [(shown(name), shown(value)) for name, value in pairs if value not in (None, "", [], ())]
    if sys.stdout.isatty():
        _rich_facts(lines, indent)
        return
    width = max((len(name) for name, _ in lines), default=0)
    for name, text in lines:
        answer(f"{indent}{name.ljust(width)}  {text}")


def passage(text: str, marked: Sequence[tuple[int, int]], *, indent: str = "   ") -> None:
    """Print a text in lines of WIDTH, with the marked parts bold on a terminal.   marked: (start, end) in characters"""
    bold = {at for start, end in marked for at in range(start, end)} if sys.stdout.isatty() else set[int]()
    for start, end in _lines(text, WIDTH - len(indent)):
        runs = itertools.groupby(range(start, end), key=lambda at: at in bold)
        parts = [(is_bold, shown(text[(at := list(run))[0] : at[-1] + 1])) for is_bold, run in runs]
        print(indent + "".join(typer.style(part, bold=True) if is_bold else part for is_bold, part in parts))


def differing(kind: str, text: str, marked: Sequence[tuple[int, int]] = ()) -> None:
    """Print a passage of a comparison after its sign: + green, - red, the marked parts underlined; plain in a pipe."""
    if not sys.stdout.isatty():
        print(shown(f"{kind} {text}"))
        return
    colour = {"+": "green", "-": "red"}.get(kind)
    inner = {at for start, end in marked for at in range(start, end)}
    for number, (start, end) in enumerate(_lines(text, WIDTH - 2)):
        runs = [list(run) for _, run in itertools.groupby(range(start, end), key=lambda at: at in inner)]
        parts = [typer.style(shown(text[r[0] : r[-1] + 1]), fg=colour, underline=r[0] in inner) for r in runs]
        print(typer.style(f"{kind if number == 0 else ' '} ", fg=colour) + "".join(parts))


def _lines(text: str, width: int) -> Iterator[tuple[int, int]]:
    """(start, end) of the lines of a text that is wrapped at spaces, and within words that are longer than a line."""
    for line in re.finditer(rf"\S(?:.{{0,{width - 2}}}\S)?(?=\s|$)|\S{{{width}}}", text):
        yield line.span()


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file and its folders, replacing an old one: whole, or not at all. What is no file, such as /dev/stdout,
    is written as it is. Raises InputError when it cannot be written."""
    from app import owned
    from app.errors import InputError

    draft = path
    try:
        if not path.exists() or path.is_file():
            draft = path.with_name(f".tiptoe-{os.getpid()}.part")
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(draft, "wb", opener=None if draft == path else owned.open_draft) as file:
            file.write(content.encode() if isinstance(content, str) else content)
        if draft != path:
            draft.replace(path)
    except OSError as error:
        if draft != path:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        raise InputError(f"{path}", f"cannot be written ({error.strerror}); choose another folder") from None


def _rich_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print a table where it fits the terminal; else a record for each row."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(Text(name), overflow="fold")
    for row in cells:
        made.add_row(*(Text(cell) for cell in row))
    unbounded = console.options.update(width=10_000)  # columns
    if len(columns) == 1 or console.measure(made, options=unbounded).maximum <= console.width:
        console.print(made)
        return
    if not cells:
        answer("no rows")  # where its head has no room either, nothing at all would be printed
    for row in cells:
        answer("")
        _rich_facts([(name, cell) for name, cell in zip(columns, row, strict=True) if cell], "")


def _rich_facts(lines: Sequence[tuple[str, str]], indent: str) -> None:
    """Print facts; long values wrap under themselves."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, text in lines:
        made.add_row(Text(f"{indent}{name}"), Text(text))
    Console().print(made)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
