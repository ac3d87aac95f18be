"""`tiptoe sql` and `tiptoe db upgrade`: the database itself."""

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.database import May, check_schema, open_database
from app.cli.out import AsJson, answer, as_json_text, done, plain, say, table
from app.words import inert

MOST_ROWS = 10_000

db_app = typer.Typer(no_args_is_help=True, help="The database's schema.")


def sql(
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY|-]", help='E.g. "SELECT url, title FROM pages LIMIT 10"; - is standard input.'),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the query from this file.")] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV with a header line, for any number of rows.")] = False,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet", help="With --csv: put a ' before cells that a spreadsheet would run as a formula."
        ),
    ] = False,
) -> None:
    """Query the database. Read-only; the table cuts long cells, --json and --csv do not. docs/sql.md has recipes."""
    from app.admin.sql import select
    from app.errors import InputError

    if as_json and as_csv:
        raise InputError("--json and --csv", "exclude each other; choose one")
    if spreadsheet and not as_csv:
        raise InputError("--spreadsheet", "works with --csv only; add it")
    with open_database() as (_, engine), select(engine, _query(query, file)) as (columns, rows):
        if as_json:
            _json(columns, rows)
        elif as_csv:
            _csv(columns, rows, spreadsheet)
        else:
            _table(columns, rows)


def _query(query: str | None, file: Path | None) -> str:
    """The query to run. Raises InputError for none, two, or one that cannot be read."""
    from app.errors import InputError

    if (query is None) == (file is None):
        raise InputError("tiptoe sql", 'write one query: "SELECT …", - for standard input, or -f FILE')
    try:
        if file is not None:
            return file.read_text(encoding="utf-8")
        text = sys.stdin.read() if query == "-" else query or ""
        text.encode()
        return text
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not in UTF-8"
        if file is None:
            raise InputError("tiptoe sql", f"the query cannot be read ({why}); write it in UTF-8") from None
        raise InputError(f"query file {str(file)!r}", f"cannot be read ({why}); name a text file") from None


@db_app.callback()
def _group() -> None:
    """The database's schema."""


@db_app.command()
def upgrade(as_json: AsJson = False) -> None:
    """Upgrade the schema to this version of Tiptoe. Safe to repeat, and to run on several machines at once."""
    from app.config import load
    from app.store import db

    with open_database(May.LOOK, makes_home=True) as (settings, engine):
        assert settings.database_url is not None
        before, after = check_schema(
            engine, settings.database_url, May.UPGRADE, is_ours=load().database_url is None, tell=_of_plugins_alone
        )
        moved = f"at {after} already" if before == after else f"{before or 'none'} → {after}"
        done(f"{db.place(engine)}: {moved}", as_json=as_json, database=db.place(engine), before=before, after=after)


def _of_plugins_alone(line: str) -> None:
    """Tell what is not said in the command's own line."""
    if line.startswith("plugin "):
        say(line)


def _json(columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Write an array of objects while the rows arrive."""
    opening = "["
    for row in rows:
        answer(opening + as_json_text(dict(zip(columns, row, strict=True))), end="")
        opening = ",\n"
    answer("[]" if opening == "[" else "]")


def _csv(columns: Sequence[str], rows: Iterator[tuple[Any, ...]], spreadsheet: bool) -> None:
    writer = csv.writer(_Out(), lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_cell(value, spreadsheet) for value in row])


class _Out:
    """Standard output for csv, through the border."""

    def write(self, line: str) -> int:
        answer(line, end="")
        return len(line)


def _csv_cell(value: object, spreadsheet: bool) -> object:
    simple = plain(value)
    if isinstance(simple, list | dict):
        return json.dumps(simple, ensure_ascii=False)
    if not isinstance(simple, str):
        return simple
    text = simple.replace("\r\n", "\n").replace("\r", "\n")
    return inert(text) if spreadsheet else text


def _table(columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    table(columns, islice(rows, MOST_ROWS))
    if next(rows, None) is not None:
        say(f"… only the first {MOST_ROWS:,} rows are shown; --csv and --json have all")
