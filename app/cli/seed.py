"""`tiptoe seed`: adds and lists the URLs that a crawl starts from. Adding the first seeds makes the crawl."""

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from app.cli.database import May, open_database, ordered
from app.cli.options import asked, gather
from app.cli.out import AsJson, answer, rows_table, say, show_json
from app.model import CrawlChange, RequestKind
from app.words import counted

if TYPE_CHECKING:
    from app.admin.seeds import Added

app = typer.Typer(
    no_args_is_help=True, help="Seeds: the URLs that a crawl starts from. Adding the first one creates the crawl."
)

SHOWN_BAD_LINES = 20
MOST_NOTED = 10

Crawl = Annotated[str, typer.Argument(metavar="CRAWL", help="Name of the crawl; created if it is new.")]
AsSitemaps = Annotated[
    bool,
    typer.Option("--sitemap", help="The URLs are sitemaps, indexes, RSS or Atom feeds: their pages are the seeds."),
]


@app.command()
@gather(wish=asked)
def add(
    crawl: Crawl,
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="Where to start, e.g. https://example.org/")],
    wish: CrawlChange,
    sitemap: AsSitemaps = False,
    as_json: AsJson = False,
) -> None:
    """Add seeds to a crawl. A finished crawl becomes active again; workers (`tiptoe up`) do the rest."""
    from app.admin import seeds
    from app.admin.edit import open_crawl

    with open_database(May.CREATE) as (settings, engine):
        found = seeds.read(settings, urls)
        asked_for = _asked([seed.text for seed in found.urls], wish)  # a bad one may hold a password
        with ordered(engine, "crawl.seeds", crawl, asked_for) as order:
            into = partial(open_crawl, engine, settings, crawl, wish)
            added = seeds.add_urls(engine, settings, into, found.urls, kind=_kind(sitemap))
            added = replace(added, bad=found.bad, bad_count=len(found.bad))
            order.outcome, order.failed = _outcome(added), added.is_empty
        for problem in seeds.out_of_reach(settings, found.urls):  # kept: workers may see more than we do
            say(f"warning: {problem}")
    _tell(crawl, added, as_json=as_json)


@app.command("import")
@gather(wish=asked)
def import_(
    crawl: Crawl,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE|-", help="One URL per line, or CSV or TSV; - is standard input."),
    ],
    *,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|N",
            help="Column of a CSV file that holds the URLs: a name of its header, or a number from 1.",
            show_default="one named url, link, loc …, or the first",
        ),
    ] = None,
    wish: CrawlChange,
    sitemap: AsSitemaps = False,
    as_json: AsJson = False,
) -> None:
    """Add seeds from a file of any size.

    Bad lines are reported by number, good ones kept; empty lines and # are skipped.
    """
    from app.admin import seeds
    from app.admin.edit import open_crawl

    with (
        lines_of(file) as lines,
        open_database(May.CREATE) as (settings, engine),
        ordered(engine, "crawl.seeds", crawl, _asked([file], wish)) as order,
    ):
        rows = seeds.seeds(_counted(lines), suffix=Path(file).suffix.lower(), column=column)
        into = partial(open_crawl, engine, settings, crawl, wish)
        added = seeds.add(engine, settings, into, rows, kind=_kind(sitemap))
        order.outcome, order.failed = _outcome(added), added.is_empty
    if added.is_empty:
        say(f"tiptoe: {file}: contains no valid seed; write one URL per line")
    _tell(crawl, added, as_json=as_json)


@app.command("list")
def list_(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="Name of the crawl.")],
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """List the seeds of a crawl in the order they were added, with the state of each."""
    from app.admin.crawls import find
    from app.store import db, urls

    with open_database() as (_, engine):
        found_crawl = find(engine, crawl)
        with db.transaction(engine) as tx:
            found = urls.seeds(tx, crawl_id=found_crawl.id, n=limit)
    if as_json:
        show_json(found)
    else:
        rows_table(("url", "state", "status", "outcome", "admitted_at"), found)


def _kind(are_sitemaps: bool) -> RequestKind:
    return RequestKind.SITEMAP if are_sitemaps else RequestKind.PAGE


def _tell(crawl: str, added: "Added", *, as_json: bool) -> None:
    """Report bad lines on standard error. Exit 2 when not one seed was good."""
    for each in added.bad[:SHOWN_BAD_LINES]:
        say(f"tiptoe: {each}")
    if added.bad_count > SHOWN_BAD_LINES:
        say(f"tiptoe: … and {counted(added.bad_count - SHOWN_BAD_LINES, 'further bad line')}")
    if as_json:
        show_json({"crawl": crawl, "added": added.added, "known": added.known, "bad": added.bad_count})
    else:
        answer(f"{crawl}: {_outcome(added)}")
    if added.is_empty:
        raise typer.Exit(2)


def _asked(seeds: Sequence[str], wish: CrawlChange) -> str:
    """The order's detail. Seeds that are many are shown by the first."""
    shown = " ".join(seeds[:MOST_NOTED]) + (" …" if len(seeds) > MOST_NOTED else "")
    return "; ".join([f"seeds={shown}", *filter(None, [wish.words])])


def _outcome(added: "Added") -> str:
    bad = counted(added.bad_count, "bad line")
    return f"{counted(added.added, 'seed')} added, {added.known:,} known already, {bad}"


@contextmanager
def lines_of(file: str) -> Iterator[Iterable[str]]:
    """Lines of a file in UTF-8, or in what its byte order mark says.

    Bytes that are neither spoil their line, not the file. Raises InputError if it cannot be read.
    """
    from app.errors import InputError

    if file == "-":
        stdin = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
        lines = _decoded(stdin)
        yield lines
        lines.detach()
        stdin.detach()  # else it would be closed with them
        return
    try:
        opened = Path(file).open("rb")  # noqa: SIM115  # the reader closes it
    except OSError as error:
        raise InputError(
            f"seed file {file!r}",
            f"{(error.strerror or 'cannot be read').lower()}; name a readable file, or - for standard input",
        ) from error
    with opened, _decoded(opened) as lines:
        yield lines


def _decoded(opened: "io.BufferedReader[Any]") -> io.TextIOWrapper:
    from app.admin import seeds

    encoding = seeds.encoding(opened.peek(seeds.MARK_BYTES))
    return io.TextIOWrapper(opened, encoding=encoding, errors="replace", newline="")


def _counted(lines: Iterable[str]) -> Iterator[str]:
    """Report progress to a person at a terminal now and then."""
    for number, line in enumerate(lines, 1):
        yield line
        if number % 100_000 == 0 and sys.stderr.isatty():
            say(f"{number:,} lines")
