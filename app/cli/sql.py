"""`tiptoe sql` and `tiptoe db upgrade`: the database itself."""

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Any

import typer

from app.cli.database import open_database, say
from app.cli.out import AsJson, plain, table

MOST_ROWS = 10_000

db_app = typer.Typer(no_args_is_help=True, help="The database's schema.")


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help='Such as "SELECT url, title FROM pages LIMIT 10".')],
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV with a header line, for any number of rows.")] = False,
) -> None:
    """Ask the database. Read-only; a table for people cuts long cells, --json and --csv do not. docs/sql.md has recipes."""
    from app.crawl.sql import select
    from app.errors import InputError

    if as_json and as_csv:
        raise InputError("--json and --csv", "choose one of them")
    with open_database() as (_, engine), select(engine, query) as (columns, rows):
        if as_json:
            _json(columns, rows)
        elif as_csv:
            _csv(columns, rows)
        else:
            _table(columns, rows)


@db_app.callback()
def _group() -> None:
    """Keeps `upgrade` a subcommand, though it is the only one."""


@db_app.command()
def upgrade() -> None:
    """Bring the schema to this Tiptoe's version. Safe to repeat, and to run at once from several machines."""
    from app.store import db

    with open_database(migrate=False) as (settings, engine):
        assert settings.database_url is not None
        before = db.revision(engine)
        db.upgrade(settings.database_url)
        after = db.revision(engine)
        moved = f"at {after} already" if before == after else f"{before or 'none'} → {after}"
        print(f"{db.place(engine)}: {moved}")


def _json(columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """An array of objects, written as the rows come."""
    opening = "["
    for row in rows:
        print(opening + json.dumps(plain(dict(zip(columns, row, strict=True))), ensure_ascii=False), end="")
        opening = ",\n"
    print("[]" if opening == "[" else "]")


def _csv(columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row])


def _csv_cell(value: object) -> object:
    simple = plain(value)
    return json.dumps(simple, ensure_ascii=False) if isinstance(simple, list | dict) else simple


def _table(columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    table(columns, islice(rows, MOST_ROWS))
    if next(rows, None) is not None:
        say(f"… only the first {MOST_ROWS:,} rows are shown; --csv and --json have all")
