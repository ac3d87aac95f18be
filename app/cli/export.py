"""`tiptoe export`: pages, fetches, links and items of a crawl as files."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.gather import gather
from app.cli.options import retyped
from app.cli.out import AsJson, answer, say, show_json
from app.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.admin.export.export import Exported

TELL_EVERY_S = 5.0


To = Annotated[
    str,
    typer.Option(
        metavar="PLACE",
        help="A file, a folder for parts, or s3://bucket/prefix/. In a folder, the same command resumes after a crash.",
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="jsonl, csv, parquet or markdown.",
        show_default="the file's ending, or jsonl",
    ),
]
PartRows = Annotated[int | None, typer.Option(metavar="N", help="Rows of a part, in a folder.", show_default="250,000")]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Columns, separated by commas. +NAME adds one to the usual ones, such as +text or +markdown.",
        show_default="the usual ones",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILTER",
        help="status=200, language=en, host=…, url~REGEX, … (may be repeated; values of one name are alternatives).",
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only what was fetched since then, e.g. 2026-11-23, or with a time.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Destination:
    to: str
    form: str | None
    part_rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    columns: tuple[str, ...]
    where: tuple[str, ...]
    since: datetime | None


def _place(to: To, form: Form = None, part_rows: PartRows = None) -> _Destination:
    return _Destination(to=to, form=form, part_rows=part_rows)


def _choice(columns: Columns = None, where: Where = None, since: Since = None) -> _Choice:
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    return _Choice(columns=names, where=tuple(where or ()), since=_moment(since))


@gather(place=_place, choice=_choice)
def export(
    what: Annotated[str, typer.Argument(metavar="pages|links|fetches|items", help="What to export.")],
    *,
    crawl: Annotated[str, typer.Option(metavar="NAME", help="The crawl.")],
    place: _Destination,
    choice: _Choice,
    as_json: AsJson = False,
) -> None:
    """Export a crawl: JSON lines, CSV, Parquet, or a Markdown file for each page. docs/export.md lists the columns."""
    from app.admin.export.export import export_rows
    from app.admin.export.plan import PART_ROWS, ExportWish

    wish = ExportWish(
        what=what,
        crawl=crawl,
        form=place.form,
        to=place.to,
        columns=choice.columns,
        where=choice.where,
        since=choice.since,
        part_rows=PART_ROWS if place.part_rows is None else place.part_rows,
    )
    began = time.monotonic()
    with open_database() as (settings, engine):
        done = export_rows(engine, settings, wish, _teller(what, began))
        if what == "items" and not done.rows:
            _tell_unhandled(engine, crawl)
    _tell(done, what, seconds=time.monotonic() - began, as_json=as_json)


def _moment(text: str | None) -> datetime | None:
    """A time that a person gives; UTC where it names no zone. Raises InputError."""
    from app.errors import InputError

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--since {text}", "is not a time; write 2026-11-23 or 2026-11-23T15:00:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _teller(what: str, began: float) -> Callable[[int], None]:
    """A function that says how far it is, now and then."""
    last = began

    def tell(rows: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= TELL_EVERY_S:
            say(f"{counted(rows, _noun(what))}, {rows / (now - began):,.0f} a second")
            last = now

    return tell


def _tell(done: "Exported", what: str, *, seconds: float, as_json: bool) -> None:
    if done.missing:
        say(f"{counted(done.missing, 'page')} without a body in the archive")
    if as_json:
        show_json(
            {
                "what": what,
                "to": done.place,
                "rows": done.rows,
                "parts": done.parts,
                "missing": done.missing,
                "resumed": done.is_resumed,
                "next_since": done.next_since,
                "seconds": round(seconds, 3),
            }
        )
        return
    parts = f" in {counted(len(done.parts), 'part')}" if len(done.parts) > 1 else ""
    resumed = ", with those of the run before" if done.is_resumed else ""
    answer(f"{counted(done.rows, _noun(what))}{parts} to {done.place}{resumed}, in {seconds:,.1f} s")
    answer(f"next increment: --since {done.next_since.isoformat()}")


def _tell_unhandled(engine: "Engine", crawl: str) -> None:
    """Say so where there are no items because no handler has had a page."""
    from app.admin import extract

    if not extract.status(engine, crawl):
        say(retyped(f"no handler ran over {crawl} yet: tiptoe extract run HANDLER --crawl {crawl}"))


def _noun(what: str) -> str:
    """The singular of what is exported."""
    return {"fetches": "fetch"}.get(what, what.removesuffix("s"))
