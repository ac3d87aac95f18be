"""`tiptoe.pages`, `items`, `add_seeds`, `export`: what crawls have, without running one."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from tiptoe import _session

if TYPE_CHECKING:
    from app.extract.page import CrawledPage


def pages(crawl: str, *, since: datetime | None = None, home: str | Path | None = None) -> "Iterator[CrawledPage]":
    """The stored pages of a crawl, host by host, in constant memory.   since: those that were fetched from then on

    Raises InputError for a crawl that there is not.
    """
    from app.admin.crawls import find
    from app.admin.feed import open_feed

    with _session.database(home) as (settings, engine):
        yield from open_feed(engine, settings, find(engine, crawl)).stored(since)


def add_seeds(crawl: str, seeds: Iterable[str], *, home: str | Path | None = None) -> int:
    """Add URLs to a crawl, which is created if it is new. Returns how many were new. A finished crawl becomes active.

    Raises InputError for a URL that is none; the others are added all the same.
    """
    from app.admin.edit import open_crawl
    from app.admin.seeds import add
    from app.errors import InputError
    from app.model import CrawlChange

    with _session.database(home) as (settings, engine):
        added = add(engine, settings, lambda: open_crawl(engine, settings, crawl, CrawlChange()), seeds)
    if added.bad:
        first = added.bad[0]
        raise InputError(f"seed {first.text!r}", first.why)
    return added.added


class ExportOptions(TypedDict, total=False):
    """Further options of an export."""

    format: str
    since: datetime
    part_rows: int


def export(
    what: str,
    *,
    crawl: str,
    to: str | Path,
    columns: Sequence[str] = (),
    where: Sequence[str] = (),
    home: str | Path | None = None,
    **options: Unpack[ExportOptions],
) -> int:
    """Export as `tiptoe export` does. Returns how many rows.

    what     pages, links, fetches or items
    to       a file whose ending names the format, a folder, or s3://bucket/prefix/
    columns  names; none: the usual ones
    where    filters, such as "status=200"
    options  format, since and part_rows
    """
    from app.admin.export.export import export_rows
    from app.admin.export.plan import PART_ROWS, ExportWish

    wish = ExportWish(
        what=what,
        crawl=crawl,
        form=options.get("format"),
        to=str(to),
        columns=tuple(columns),
        where=tuple(where),
        since=options.get("since"),
        part_rows=options.get("part_rows", PART_ROWS),
    )
    with _session.database(home) as (settings, engine):
        return export_rows(engine, settings, wish).rows
