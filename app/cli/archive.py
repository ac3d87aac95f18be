"""`tiptoe archive`: the files that hold what was fetched: listed, verified, deleted by age."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database, ordered
from app.cli.out import AsJson, answer, done, heading, say, show_json, shown, table
from app.words import counted, sized

if TYPE_CHECKING:
    from app.features.archive.verify import Verification
    from app.store.segments import ArchiveNode, SegmentTotals

app = typer.Typer(no_args_is_help=True, help="The archive's files (WARC): list, verify, and delete them by age.")
OneCrawl = Annotated[
    str | None, typer.Argument(metavar="[CRAWL]", help="Of this crawl only.", show_default="all crawls")
]
_FLAWS_SHOWN = 50
_TOTALS = ("crawl", "state", "segments", "bytes", "records", "since", "until")
_NODES = ("node", "place", "free_bytes", "waiting_bytes", "seen_ago_s", "stopped_because", "trouble")


@app.command("list")
def list_(crawl: OneCrawl = None, as_json: AsJson = False) -> None:
    """List what is in the archive: files (segments), bytes and records by crawl and state, and the nodes that write
    it."""
    from app.admin import archive

    with open_database() as (settings, engine):
        found = archive.listing(engine, settings, crawl)
    if as_json:
        totals, nodes = ([row._asdict() for row in rows] for rows in (found.totals, found.nodes))
        show_json({"place": found.place, "totals": totals, "nodes": nodes})
        return
    answer(shown(found.place))
    table(_TOTALS, [[_cell(row, name) for name in _TOTALS] for row in found.totals])
    if found.nodes:
        heading("nodes")
        table(_NODES, [[_cell(row, name) for name in _NODES] for row in found.nodes])


@app.command()
def verify(crawl: OneCrawl = None, as_json: AsJson = False) -> None:
    """Verify the archive: the digests of every record, and that rows and records point to each other.

    Exit 1: a flaw.
    """
    from app.admin import archive

    with open_database() as (settings, engine):
        found = archive.check(engine, settings, crawl)
    show_json(found) if as_json else _show(found)
    if found.flaws:
        raise typer.Exit(1)


@app.command()
def prune(
    crawl: OneCrawl = None,
    days: Annotated[
        int | None, typer.Option(metavar="N", help="Delete segments that were closed more than N days ago.")
    ] = None,
    withdrawn: Annotated[
        bool,
        typer.Option("--withdrawn", help="Rewrite segments of any age without the records of withdrawn pages."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old segments for good, or the records of withdrawn pages.

    The last capture of each page, and what later revisits repeat, is copied forward.
    """
    from app.admin import archive
    from app.errors import InputError

    if withdrawn:
        _erase(crawl, days, yes=yes, as_json=as_json)
        return
    if days is None:
        raise InputError(
            "tiptoe archive prune", "how old? add --days N: segments closed more than N days ago are deleted"
        )
    archive.check_age(days)
    whose = f"crawl {crawl}" if crawl is not None else "all crawls"
    _confirm(f"segments of {whose} that were closed more than {counted(days, 'day')} ago will be deleted for good", yes)
    with open_database() as (settings, engine), ordered(engine, "archive.prune", crawl or "", f"days={days}") as order:
        found = archive.prune(engine, settings, days=days, crawl=crawl)
        line = f"{counted(found.segments, 'segment')} deleted, {counted(found.bytes, 'byte')}; "
        order.outcome = f"{line}{counted(found.copied, 'capture')} copied forward"
    done(order.outcome, as_json=as_json, **found._asdict())


def _erase(crawl: str | None, days: int | None, *, yes: bool, as_json: bool) -> None:
    """Rewrite segments without the records of withdrawn pages, once it is confirmed."""
    from app.admin import archive
    from app.errors import InputError

    if days is not None:
        raise InputError("--withdrawn", "rewrites segments of any age; leave --days out")
    _confirm(
        f"the records of withdrawn pages of {f'crawl {crawl}' if crawl else 'all crawls'} will be deleted for good", yes
    )
    with open_database() as (settings, engine), ordered(engine, "archive.prune", crawl or "", "withdrawn") as order:
        found = archive.erase(engine, settings, crawl=crawl)
        order.outcome = f"{counted(found.segments, 'segment')} rewritten, {counted(found.copied, 'capture')} kept"
    done(order.outcome, as_json=as_json, **found._asdict())


def _confirm(what: str, yes: bool) -> None:
    from app.errors import InputError

    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("tiptoe archive prune", f"{what}; add --yes")
    typer.confirm(f"{shown(what)}. Continue?", abort=True)


def _cell(row: "SegmentTotals | ArchiveNode", name: str) -> object:
    value = getattr(row, name)
    return sized(value) if name.endswith("bytes") and value is not None else value


def _show(found: "Verification") -> None:
    for flaw in found.flaws[:_FLAWS_SHOWN]:
        answer(f"{shown(flaw.segment)}: {shown(flaw.what)}")
    if len(found.flaws) > _FLAWS_SHOWN:
        answer(f"… and {len(found.flaws) - _FLAWS_SHOWN:,} more; --json has all")
    looked = (
        f"{counted(found.segments, 'segment')}, {counted(found.records, 'record')}, {counted(found.captures, 'row')}"
    )
    answer(f"{looked}: {counted(len(found.flaws), 'flaw') if found.flaws else 'all is well'}")
    if found.without_row:
        records = counted(found.without_row, "record has", "records have")
        answer(f"{records} no row, as may be: a lease was lost, or a 304 is of no kept page")
    if found.elsewhere:
        say(f"{counted(len(found.elsewhere), 'segment is', 'segments are')} on other nodes' disks; verify there")
