"""`tiptoe archive`: the files that hold what was fetched: listed, verified, deleted by age."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.out import AsJson, answer, done, say, show_json, shown, table
from app.words import counted

if TYPE_CHECKING:
    from app.archive.verify import Verdict

app = typer.Typer(no_args_is_help=True, help="The archive's files (WARC): list, verify, and delete them by age.")
OneCrawl = Annotated[
    str | None, typer.Argument(metavar="[CRAWL]", help="Of this crawl only.", show_default="all crawls")
]
_FLAWS_SHOWN = 50


@app.command("list")
def list_(
    crawl: OneCrawl = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most this many, the oldest first.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """List segments: the files of the archive, where each is, and what is in it."""
    from app.admin import archive

    with open_database() as (_, engine):
        found = archive.listed(engine, crawl, limit=limit)
    if as_json:
        show_json([{"crawl": name, **each._asdict()} for name, each in found])
        return
    columns = ("name", "state", "node", "bytes", "records", "opened_at", "closed_at", "place")
    table(("crawl", *columns), [[name, *(getattr(each, column) for column in columns)] for name, each in found])
    size = sum(each.bytes or 0 for _, each in found)
    say(f"{counted(len(found), 'segment')}, {counted(size, 'byte')} in those that are closed")


@app.command()
def verify(crawl: OneCrawl = None, as_json: AsJson = False) -> None:
    """Verify the archive: the digests of every record, and that rows and records point to each other. Exit 1: a flaw."""
    from app.admin import archive

    with open_database() as (settings, engine):
        found = archive.verified(engine, settings, crawl)
    show_json(found) if as_json else _show(found)
    if found.flaws:
        raise typer.Exit(1)


@app.command()
def prune(
    crawl: OneCrawl = None,
    days: Annotated[
        int | None, typer.Option(metavar="N", help="Delete segments that were closed more than N days ago.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old segments for good. The last capture of each page, and what later revisits repeat, is copied forward."""
    from app.admin import archive
    from app.errors import InputError

    if days is None:
        raise InputError(
            "tiptoe archive prune", "how old? add --days N: segments closed more than N days ago are deleted"
        )
    if not yes:
        whose = f"crawl {crawl}" if crawl is not None else "all crawls"
        what = f"segments of {whose} that were closed more than {counted(days, 'day')} ago will be deleted for good"
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise InputError("tiptoe archive prune", f"{what}; add --yes")
        typer.confirm(f"{shown(what)}. Continue?", abort=True)
    with open_database() as (settings, engine):
        found = archive.pruned(engine, settings, crawl, days=days)
    line = f"{counted(found.segments, 'segment')} deleted, {counted(found.bytes, 'byte')}; "
    done(f"{line}{counted(found.copied, 'capture')} copied forward", as_json=as_json, **found._asdict())


def _show(found: "Verdict") -> None:
    for flaw in found.flaws[:_FLAWS_SHOWN]:
        answer(f"{shown(flaw.segment)}: {shown(flaw.what)}")
    if len(found.flaws) > _FLAWS_SHOWN:
        answer(f"… and {len(found.flaws) - _FLAWS_SHOWN:,} more; --json has all")
    looked = (
        f"{counted(found.segments, 'segment')}, {counted(found.records, 'record')}, {counted(found.captures, 'row')}"
    )
    answer(f"{looked}: {counted(len(found.flaws), 'flaw') if found.flaws else 'all is well'}")
    if found.without_row:
        answer(f"{counted(found.without_row, 'record')} of visits that lost their lease have no row, as they may")
    if found.elsewhere:
        say(f"{counted(len(found.elsewhere), 'segment is', 'segments are')} on other nodes' disks; verify there")
