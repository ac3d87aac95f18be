"""Pages and their duplicates. One query of pages.sql each."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, NotRequired, TypedDict

from sqlalchemy import Connection

from app.model.render import ShellSign
from app.store import db
from app.store.url_rows import Where as Where
from app.store.url_rows import places

_sql = db.queries("pages")


class ReadRow(TypedDict):
    """The columns of a page that its document decides; times are ISO 8601.   reader: version of what read it"""

    charset: str
    language: str | None
    language_detected: str | None
    title: str | None
    headline: str | None
    author: str | None
    data: Mapping[str, Any] | None
    description: str | None
    published_at: str | None
    published_from: str | None
    published_on: str | None
    modified_at: str | None
    modified_from: str | None
    modified_on: str | None
    main_text: str | None
    text_sha256: bytes
    reader: int


class PageRow(ReadRow):
    """A row of pages without the times of ours.

    rendered  a browser made the document
    awaits    a browser is to make it: what it made before stands until then
    changed   it says something else than before, though the stored text cannot be compared
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    status: int
    content_type: str | None
    body_sha256: bytes
    body_bytes: int
    needs_script: Mapping[ShellSign, str] | None
    truncated: bool
    links: int
    canonical_url: str | None
    directives: str | None
    opt_out: str | None
    depth: int
    links_cut: NotRequired[bool]
    rendered: NotRequired[bool]
    awaits: NotRequired[bool]
    changed: NotRequired[bool]


class Renewed(ReadRow):
    """A page that was read again.   fetched_at, reader_before: as they were when it was begun"""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    body_sha256: bytes
    is_rendered: bool
    fetched_at: datetime
    reader_before: int | None
    capture_id: int


class CopiedPage(NamedTuple):
    """The page that a duplicate repeats, in the same crawl."""

    url: str
    host_id: int
    key: bytes


class KeptPage(NamedTuple):
    """A page that was stored, and whose text is new, or is not to be compared with the one before.

    at          when it was fetched
    is_first    it is new
    is_changed  it is new, or says something else than before
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    text_sha256: bytes
    at: datetime
    is_first: bool
    is_changed: bool


class DroppedPage(NamedTuple):
    """A page that was there, and was deleted."""

    host_id: int
    crawl_id: int
    key: bytes
    url: str


class Revision(TypedDict):
    """The changes that a 304 brings to a page. noarchive: its text is dropped."""

    host_id: int
    crawl_id: int
    key: bytes
    directives: str | None
    opt_out: str | None
    noarchive: bool


def keep(tx: Connection, rows: Sequence[PageRow]) -> list[KeptPage]:
    """Store pages. Returns those whose text is new, or is not to be compared with the one before."""
    if not rows:
        return []
    found = db.run(tx, _sql["keep"], {"rows": db.rows_param(rows)}).all()
    if changed := [(row["host_id"], row["crawl_id"], row["key"]) for row in rows if row.get("changed")]:
        found += db.run(tx, _sql["changed"], {"rows": places(changed)}).all()
    return _kept(rows, found) if found else []


def _kept(rows: Sequence[PageRow], found: Iterable[Any]) -> list[KeptPage]:
    """The pages that the queries returned, each once."""
    given = {(row["host_id"], row["crawl_id"], row["key"]): row for row in rows}
    kept: dict[Where, KeptPage] = {}
    for each in found:
        place = (each.host_id, each.crawl_id, each.key)
        row = given[place]
        kept[place] = KeptPage(
            *place,
            row["url"],
            row["text_sha256"],
            each.fetched_at,
            is_first=each.first_fetched_at == each.fetched_at,
            is_changed=each.is_changed,
        )
    return [*kept.values()]


def drop(tx: Connection, pages: Collection[Where]) -> list[DroppedPage]:
    """Delete pages that must not be kept, with their notes as duplicates. Returns those that were there."""
    if not pages:
        return []
    dropped = db.run(tx, _sql["drop"], {"rows": places(pages)}).of(DroppedPage)
    forget_duplicates(tx, pages)
    return dropped


def revise(tx: Connection, rows: Sequence[Revision]) -> None:
    if rows:
        db.run(tx, _sql["revise"], {"rows": db.rows_param(rows)})


def originals(
    tx: Connection, rows: Sequence[PageRow] | Sequence[Renewed]
) -> tuple[dict[Where, CopiedPage], dict[Where, CopiedPage]]:
    """The pages with the same bytes, and those with the same main text."""
    digests = [
        {name: row[name] for name in ("host_id", "crawl_id", "key", "body_sha256", "text_sha256", "reader")}
        for row in rows
    ]
    found = db.run(tx, _sql["originals"], {"rows": db.rows_param(digests)}).all()
    keyed = [((row.host_id, row.crawl_id, bytes.fromhex(row.key)), row) for row in found]
    return (
        {at: CopiedPage(row.same_body, row.body_host, row.body_key) for at, row in keyed if row.same_body is not None},
        {at: CopiedPage(row.same_text, row.text_host, row.text_key) for at, row in keyed if row.same_text is not None},
    )


def said(
    tx: Connection, *, host_id: int, crawl_id: int, worker: str, since: datetime | None, part: int, n: int
) -> list[tuple[str, str]]:
    """URLs and texts of the n pages that others than this worker fetched last, and after `since`.

    since: None: of all pages, its own included;   part: characters of each of the two parts of a long text
    """
    where = {"host_id": host_id, "crawl_id": crawl_id, "worker": worker, "since": since, "part": part, "n": n}
    return [(row.url, row.text) for row in tx.execute(_sql["said"], where)]


def note_duplicates(tx: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Note exact copies. rows: host_id, crawl_id, key, url, kind, of_url, of_host_id, of_key."""
    if rows:
        db.run(tx, _sql["note_duplicates"], {"rows": db.rows_param(rows)})


def noted_duplicates(tx: Connection, pages: Iterable[Where]) -> set[Where]:
    """The pages among these that are noted as exact copies."""
    found = db.run(tx, _sql["noted_duplicates"], {"rows": places(pages)})
    return {(row.host_id, row.crawl_id, row.key) for row in found}


def forget_duplicates(tx: Connection, pages: Collection[Where]) -> None:
    """Delete the notes of pages that were fetched again and are no duplicates any more."""
    if pages:
        db.run(tx, _sql["forget_duplicates"], {"rows": places(pages)})


def of_url(tx: Connection, *, host_id: int, key: bytes) -> dict[int, dict[str, Any]]:
    """The rows of a URL by crawl id."""
    return {
        row["crawl_id"]: dict(row) for row in tx.execute(_sql["of_url"], {"host_id": host_id, "key": key}).mappings()
    }


def with_links_cut(tx: Connection, *, host_id: int, crawl_id: int) -> list[str]:
    """Pages of a host of which not all links were read: three at most."""
    return [row.url for row in tx.execute(_sql["with_links_cut"], {"host_id": host_id, "crawl_id": crawl_id})]


def duplicates_of_url(tx: Connection, *, host_id: int, key: bytes) -> dict[int, dict[str, Any]]:
    """The page that a URL repeats, by crawl id: kind, of_url, found_at."""
    found = tx.execute(_sql["duplicates_of_url"], {"host_id": host_id, "key": key})
    return {row["crawl_id"]: dict(row) for row in found.mappings()}


def duplicate_kinds(tx: Connection, crawl_id: int) -> dict[str, int]:
    return {row.kind: row.pages for row in tx.execute(_sql["duplicate_kinds"], {"crawl_id": crawl_id})}


def shells(tx: Connection, *, most: int) -> Sequence[Mapping[str, Any]]:
    """Crawls with pages that are empty without JavaScript: crawl, pages (counted to `most`), is_least: maybe more."""
    return [dict(row) for row in tx.execute(_sql["shells"], {"most": most}).mappings()]


def needing_script(tx: Connection, crawl_id: int) -> Sequence[Mapping[str, Any]]:
    """Hosts whose pages are empty without JavaScript: host, pages, with_data, with_routes, example.

    with_data: the prose is there as JSON;   with_routes: their documents have links behind a "#"
    """
    return [dict(row) for row in tx.execute(_sql["needing_script"], {"crawl_id": crawl_id}).mappings()]
