"""`tiptoe.pages`, `changes`, `items`, `add_seeds`, `export`: what crawls have, without running one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from tiptoe import _session

if TYPE_CHECKING:
    from app.admin.changes import PageChange
    from app.features.extract.page import CrawledPage


def pages(crawl: str, *, since: datetime | None = None, home: str | Path | None = None) -> "Iterator[CrawledPage]":
    """The stored pages of a crawl, host by host, in constant memory.   since: those that were fetched from then on

    The database stays open for as long as a page is kept. Raises InputError for a crawl that there is not.
    """
    from app.admin.crawls import find
    from app.admin.feed import open_feed

    held = _session.hold(_session.settings_of(home))
    yield from open_feed(held.engine, held.settings, find(held.engine, crawl), keeps=held).stored(
        _session.moment(since)
    )


class ChangesOptions(TypedDict, total=False):
    """Further options of `changes`."""

    kinds: Sequence[str]
    pattern: str
    words: str
    passages: bool
    follow: bool


def changes(
    crawl: str,
    *,
    since: datetime | str | None = None,
    home: str | Path | None = None,
    **options: Unpack[ChangesOptions],
) -> "Iterator[PageChange]":
    """List what is new, changed, gone, withdrawn and returned in a crawl: change, at, url, host, title, cursor.

    Each once, in the order of commits, in constant memory.
    since     changes from then on; a cursor of one: those after it; "start": all that are kept; without it, of 7 days
    kinds     of these alone;   pattern: of URLs, with *;   words: that the page has, all of them
    passages  of changed pages what their text lost and gained, read from the archive
    follow    wait for further ones, without end
    Raises InputError for a crawl that there is not, and a cursor that cannot be continued.
    """
    from app.admin import changes as admin

    _session.check_keywords("changes", options, [*(changes.__kwdefaults__ or ()), *ChangesOptions.__annotations__])
    begins = since if isinstance(since, str) else _session.moment(since) or admin.USUAL
    wish = admin.ChangesWish(
        since=None if begins == admin.START else begins,
        kinds=options.get("kinds", ()),
        pattern=options.get("pattern"),
        words=options.get("words"),
        passages=options.get("passages", False),
    )
    with _session.database(home) as (settings, engine):
        found = admin.changes(engine, settings, crawl, wish)
        yield from found.followed() if options.get("follow", False) else found.found


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item that a handler extracted.

    item      its fields
    url       of the page;   handler, version: by which it was made
    is_stale  the handler has another version since, or failed on a later capture of the page
    """

    item: dict[str, Any]
    url: str
    handler: str
    version: int
    is_stale: bool
    extracted_at: datetime


def items(
    crawl: str, *, handler: str | None = None, since: datetime | None = None, home: str | Path | None = None
) -> Iterator[Item]:
    """The items of a crawl, in constant memory.   handler: of this one alone;   since: extracted from then on

    Raises InputError for a crawl or a handler that there is not.
    """
    from app.admin.crawls import find
    from app.admin.extract import check_known
    from app.features.export import rows
    from app.features.export.columns import ExportKind, choose, parse
    from app.features.export.rows import ExportRows

    kind = ExportKind.ITEMS
    where = {**parse(kind, [f"handler={handler}"] if handler else []), "since": _session.moment(since)}
    columns = choose(kind, ["item", "url", "handler", "version", "stale", "extracted_at"])
    with _session.database(home) as (settings, engine):
        found = ExportRows(
            engine=engine,
            kind=kind,
            crawl_id=find(engine, crawl).id,
            columns=columns,
            where=where,
            after=rows.first(kind),
        )
        is_empty = True
        for batch in found.batches():
            is_empty = is_empty and not batch
            for item, url, by, version, stale, at in batch:
                yield Item(item=item, url=url, handler=by, version=version, is_stale=stale, extracted_at=at)
        if is_empty and handler is not None:
            check_known(engine, settings, handler)


def add_seeds(crawl: str, seeds: Iterable[str], *, home: str | Path | None = None) -> int:
    """Add URLs to a crawl, which is created if it is new. Returns how many were new. A finished crawl becomes active.

    Raises InputError for a URL that is none; the others are added all the same.
    """
    from app.admin import operators
    from app.admin.edit import open_crawl
    from app.admin.seeds import add
    from app.errors import InputError
    from app.model import CrawlChange
    from app.words import counted

    _session.check_series("seeds", seeds)
    order = operators.of_user("python", "crawl.seeds", crawl)
    with _session.database(home, may="CREATE") as (settings, engine), operators.noted(engine, order) as note:
        added = add(engine, settings, lambda: open_crawl(engine, settings, crawl, CrawlChange()), seeds)
        note.outcome, note.failed = f"{counted(added.added, 'seed')} added", added.is_empty
    if added.bad:
        first = added.bad[0]
        raise InputError(f"seed {first.text!r}", first.why)
    return added.added


class ExportOptions(TypedDict, total=False):
    """Further options of an export."""

    format: str
    since: datetime
    part_rows: int
    spreadsheet: bool
    content: str
    purpose: str
    or_unknown: bool


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
    options  format, since, part_rows, spreadsheet, content, purpose (`--for`) and or_unknown
    """
    _session.check_keywords("export", options, [*(export.__kwdefaults__ or ()), *ExportOptions.__annotations__])
    for option, given in (("columns", columns), ("where", where)):
        _session.check_series(option, given)
    from app.features.export.export import export_rows
    from app.features.export.plan import PART_ROWS, ExportWish

    wish = ExportWish(
        what=what,
        crawl=crawl,
        form=options.get("format"),
        to=str(to),
        columns=tuple(columns),
        where=tuple(where),
        since=_session.moment(options.get("since")),
        part_rows=options.get("part_rows", PART_ROWS),
        spreadsheet=options.get("spreadsheet", False),
        content=options.get("content", "main"),
        purpose=options.get("purpose"),
        or_unknown=options.get("or_unknown", False),
    )
    with _session.database(home) as (settings, engine):
        return export_rows(engine, settings, wish).rows
