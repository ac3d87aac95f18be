"""`tiptoe export`: pages, fetches, links and items of a crawl as files."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.options import Content, PageContent, gather, retyped
from app.cli.out import AsJson, answer, say, show_json
from app.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.features.export.export import Exported


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
Spreadsheet = Annotated[
    bool,
    typer.Option("--spreadsheet", help="With csv: put a ' before cells that a spreadsheet would run as a formula."),
]
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
    str | None,
    typer.Option(
        metavar="MOMENT", help="Only what is new since then: 2026-11-01, 2026-11-01T12:30, or 12h, 7d, 2w (ago)."
    ),
]
Purpose = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="PURPOSE",
        help="Only pages whose owners allow it, with the evidence: archive, search, ai-input or ai-train.",
    ),
]
OrUnknown = Annotated[
    bool, typer.Option("--or-unknown", help="With --for: pages of which nobody knows whether they do, too.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Destination:
    to: str
    form: str | None
    part_rows: int | None
    spreadsheet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    columns: tuple[str, ...]
    where: tuple[str, ...]
    since: str | None
    content: PageContent
    purpose: str | None
    or_unknown: bool


def _place(to: To, form: Form = None, part_rows: PartRows = None, spreadsheet: Spreadsheet = False) -> _Destination:
    return _Destination(to=to, form=form, part_rows=part_rows, spreadsheet=spreadsheet)


def _choice(
    columns: Columns = None,
    where: Where = None,
    since: Since = None,
    content: Content = PageContent.MAIN,
    purpose: Purpose = None,
    or_unknown: OrUnknown = False,
) -> _Choice:
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    return _Choice(
        columns=names,
        where=tuple(where or ()),
        since=since,
        content=content,
        purpose=purpose,
        or_unknown=or_unknown,
    )


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
    from app.features.export.export import export_rows
    from app.features.export.plan import PART_ROWS, ExportWish

    wish = ExportWish(
        what=what,
        crawl=crawl,
        form=place.form,
        to=place.to,
        columns=choice.columns,
        where=choice.where,
        since=choice.since,
        spreadsheet=place.spreadsheet,
        content=choice.content,
        purpose=choice.purpose,
        or_unknown=choice.or_unknown,
        part_rows=PART_ROWS if place.part_rows is None else place.part_rows,
    )
    began = time.monotonic()
    with open_database() as (settings, engine):
        done = export_rows(engine, settings, wish, _teller(what, began))
        if not done.rows:
            _tell_nothing(engine, what, crawl, choice.where)
    _tell(done, what, seconds=time.monotonic() - began, as_json=as_json)


def _teller(what: str, began: float) -> Callable[[int], None]:
    """A function that says how far it is, now and then."""
    last = began

    def tell(rows: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 5.0:
            say(f"{counted(rows, _noun(what))}, {rows / (now - began):,.0f} a second")
            last = now

    return tell


def _tell(done: "Exported", what: str, *, seconds: float, as_json: bool) -> None:
    if done.missing:
        say(f"{counted(done.missing, 'page')} without a body in the archive")
    if done.unfit:
        say(f"{counted(done.unfit, 'value')} of items did not fit their column; --columns +item has them")
    for reason, n in done.left_out.items():
        say(f"left out, {counted(n, 'page')}: {reason}")
    if as_json:
        show_json(
            {
                "what": what,
                "to": done.place,
                "rows": done.rows,
                "parts": done.parts,
                "missing": done.missing,
                "unfit": done.unfit,
                "left_out": done.left_out,
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


def _tell_nothing(engine: "Engine", what: str, crawl: str, where: tuple[str, ...]) -> None:
    """Say so where nothing can be there: no handler has had a page, or a filter names what there is not."""
    from app.admin import extract, hosts
    from app.errors import InputError

    handlers = sorted({each.handler for each in extract.status(engine, crawl)}) if what == "items" else []
    if what == "items" and not handlers:
        say(retyped(f"no handler ran over {crawl} yet: tiptoe extract run HANDLER --crawl {crawl}"))
        return
    for name, equals, value in (each.partition("=") for each in where):
        if name == "handler" and equals and value not in handlers:
            say(f"handler {value!r} had no page of {crawl}; there are: {', '.join(handlers)}")
        elif name == "host" and equals:
            try:
                hosts.known(engine, value)
            except InputError as error:
                say(retyped(str(error)))


def _noun(what: str) -> str:
    """The singular of what is exported."""
    return {"fetches": "fetch"}.get(what, what.removesuffix("s"))
