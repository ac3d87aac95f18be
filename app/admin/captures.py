"""Shows what the archive has of a page: lists its captures, reads one back, compares two. It sends no request.

Names the captures that speak for a page: the site's answer, and the document that a browser made of it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Engine

from app import plugins
from app.admin.crawls import find as find_crawl
from app.admin.robots_report import canonical
from app.config import Settings
from app.errors import ArchiveMissing, InputError, SegmentElsewhere
from app.extras import to_install
from app.features.archive.read import Archive
from app.features.export.rows import can_make_markdown
from app.features.rights import rows as rights
from app.model import Archived, Capture, CaptureKind, Page, Url
from app.parse import charset
from app.parse.html.html import full_text
from app.policy import text_diff
from app.policy.document import document_of, documents, plain_of
from app.policy.moment import moment
from app.policy.text_diff import PassageChange
from app.sandbox.reader import MarkdownOptions, PageOptions
from app.sandbox.readers import START_S, Death, Readers
from app.store import board, captures, crawls, db, hosts, page_list, server
from app.store.board import Row
from app.store.crawls import Crawl
from app.store.page_list import ListedPage

LIMIT_MOST = 10_000
CAPTURES_MOST = 1_000  # of a URL, the latest


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedUrl:
    """A URL in a crawl's archive.   captures: the latest first, at most CAPTURES_MOST"""

    crawl: str
    url: str
    captures: Sequence[Capture]

    @property
    def has_earlier(self) -> bool:
        """Whether there is an earlier document to compare the latest one with."""
        return bool(self.captures and documents(self.captures, _latest(self.captures, plain=False)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePage:
    """A capture that was read back.

    captures  all of its URL, the latest first
    answer    what it holds;   plain: of a rendered document: the answer that it was made from, where it can be read
    """

    crawl: str
    capture: Capture
    captures: Sequence[Capture]
    answer: Archived
    plain: Archived | None = None

    @property
    def reply(self) -> Archived:
        """The answer of the site."""
        return self.answer if self.plain is None else self.plain


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureDiff:
    """Two captures of a URL, and the passages in which their texts differ."""

    crawl: str
    url: str
    old: Capture
    new: Capture
    changes: Sequence[PassageChange]


def listed(
    engine: Engine,
    settings: Settings,
    name: str,
    *,
    pattern: str | None = None,
    since: str | None = None,
    after: str | None = None,
    limit: int = 100,
) -> list[ListedPage]:
    """The pages of a crawl that are in the archive, by host and key.

    pattern  * stands for any characters; without one, URLs that contain it
    since    as `app.policy.moment` reads it: pages fetched since then
    after    URL of the last page that was seen
    Raises InputError.
    """
    crawl = find_crawl(engine, name)
    if not 1 <= limit <= LIMIT_MOST:
        raise InputError(f"--limit {limit}", f"is out of range; use 1 to {LIMIT_MOST:,}")
    with db.transaction(engine) as tx:
        return page_list.listed(
            tx,
            crawl_id=crawl.id,
            after=_place(tx, canonical(settings, after)) if after else (0, b""),
            url_like=page_list.like(pattern) if pattern else None,
            since=moment(since, server.now(tx), option="--since") if since else None,
            n=limit,
        )


def captured(engine: Engine, settings: Settings, text: str, crawl: str | None) -> CapturedUrl:
    """The captures of a URL in this crawl, or in the one that captured it last.

    Raises InputError where there are none.
    """
    url = canonical(settings, text, engine=engine)
    wanted = find_crawl(engine, crawl) if crawl is not None else None
    with db.transaction(engine) as tx:
        host_id, key = _place(tx, url)
        found = [
            CapturedUrl(crawl=each.name, url=url.text, captures=rows)
            for each in ([wanted] if wanted else crawls.every(tx))
            if (rows := captures.of_url(tx, host_id=host_id, crawl_id=each.id, key=key, n=CAPTURES_MOST))
        ]
        gone = rights.withdrawn(tx, host_id=host_id, key=key)
    if not found:
        if gone := [each for each in gone if crawl in {None, each.crawl}]:
            when = f"{gone[0].withdrawn_at:%Y-%m-%d %H:%M} UTC"
            raise InputError(url.text, f"was withdrawn by its owner ({gone[0].words}), {when}: nothing of it is shown")
        where = f"crawl {crawl} has no" if crawl else "no crawl has a"
        raise InputError(url.text, f"{where} capture of it in the archive; tiptoe url why {url.text} says why")
    return max(found, key=lambda each: each.captures[0].fetched_at)


def stored(engine: Engine, settings: Settings, text: str, crawl: str) -> Row | None:
    """Read what is stored of a page of a crawl, its text too; None: nothing is. Raises InputError."""
    url, crawl_id = canonical(settings, text, engine=engine), find_crawl(engine, crawl).id
    with db.transaction(engine) as tx:
        host_id, key = _place(tx, url)
        return board.page(tx, host_id=host_id, crawl_id=crawl_id, key=key)


def columns(engine: Engine, settings: Settings, found: CapturePage) -> list[tuple[str, object]]:
    """Columns of plugins, with their values, of a capture's page as it is stored now."""
    if not settings.plugins:
        return []
    row = stored(engine, settings, found.capture.url, found.crawl)
    return plugins.columns_of(settings.plugins, row and row["data"])


def show(
    engine: Engine,
    settings: Settings,
    text: str,
    *,
    crawl: str | None = None,
    at: str | None = None,
    plain: bool = False,
) -> CapturePage:
    """Read a capture of a URL back: the latest document, or as of `at`.

    Raises InputError, ArchiveMissing, SegmentElsewhere.

    at     the number of a capture, or a moment: the page as it was then
    plain  the site's answer, even where a browser made a document of it
    """
    found = captured(engine, settings, text, crawl)
    capture = _chosen(engine, found, at, "--at", plain) if at else _latest(found.captures, plain)
    archive = Archive(engine, settings)
    answer, asked = archive.read(capture), None
    if capture.rendered_from is not None:
        with suppress(ArchiveMissing, SegmentElsewhere):
            asked = archive.plain(capture)[1]
    return CapturePage(crawl=found.crawl, capture=capture, captures=found.captures, answer=answer, plain=asked)


def warc_of(engine: Engine, settings: Settings, capture: Capture) -> tuple[bytes, bytes]:
    """The WARC record of a capture: unpacked, and as it stands in its segment, one gzip member."""
    archive = Archive(engine, settings)
    return archive.record(capture), archive.member(capture)


def compare(
    engine: Engine,
    settings: Settings,
    text: str,
    *,
    crawl: str | None = None,
    old: str | None = None,
    new: str | None = None,
    plain: bool = False,
) -> CaptureDiff:
    """Compare two captures of a page: those given, or the latest and the last one that says something else.

    old, new: as `at` of `show`;   plain: as there. Raises InputError, ArchiveMissing, SegmentElsewhere.
    """
    found = captured(engine, settings, text, crawl)
    latest = _chosen(engine, found, new, "--new", plain) if new else _latest(found.captures, plain)
    earlier = _chosen(engine, found, old, "--old", plain) if old else _other(found, latest, plain)
    archive = Archive(engine, settings)
    before, after = (text_of(each, archive.read(each), settings) for each in (earlier, latest))
    changes = text_diff.compare(before, after)
    return CaptureDiff(crawl=found.crawl, url=found.url, old=earlier, new=latest, changes=changes)


def text_of(capture: Capture, answer: Archived, settings: Settings, *, whole: bool = False) -> str:
    """The main text of a capture, as crawling finds it.   whole: all that a reader of the page sees

    Raises InputError where it cannot be read.
    """
    if whole:
        return full_text(answer.body, _content_type(capture, answer))
    with reading(settings) as readers:
        return text_by(readers, capture, answer, settings)


@contextmanager
def reading(settings: Settings) -> Iterator[Readers]:
    """Processes that read documents, within the time and memory that one has in isolation.

    So none ends the dashboard, or holds it.
    """
    readers = Readers(deadline_s=settings.parse_deadline_s, memory_bytes=settings.parse_memory_bytes)
    try:
        yield readers
    finally:
        readers.close()


def text_by(readers: Readers, capture: Capture, answer: Archived, settings: Settings) -> str:
    """The main text of a capture, by readers that several may share. Raises InputError where it cannot be read."""
    options = PageOptions(
        content_type=_content_type(capture, answer),
        content_language=None,
        token=settings.product_token.lower(),
        max_links=0,
        want_text=True,
        want_language=False,
    )
    found = readers.page(answer.body, options, within_s=readers.patience_s + START_S)
    if isinstance(found, Page):
        return found.main_text
    raise _unread(capture, found)


def markdown_apart(capture: Capture, answer: Archived, settings: Settings) -> str:
    """Markdown as `markdown_of`, made by a process of its own, as `text_of` reads the text. Raises InputError."""
    if not can_make_markdown():
        raise InputError("Markdown", f"needs html-to-markdown; {to_install('text')}")
    options = MarkdownOptions(content_type=_content_type(capture, answer), base_url=answer.at or capture.url)
    with reading(settings) as readers:
        found = readers.markdown(answer.body, options, within_s=readers.patience_s + START_S)
    if isinstance(found, Death) or found in {"busy", "none"}:
        raise _unread(capture, found)
    return found


def _unread(capture: Capture, found: object) -> InputError:
    why = found.cause if isinstance(found, Death) else "no process could be started to read it"
    return InputError(
        "this capture", f"number {capture.id} of {capture.url}: {why}; tiptoe page show --html shows it as it came"
    )


def best_text_of(capture: Capture, answer: Archived) -> str:
    """The main text as trafilatura finds it. Raises InputError where that is not installed."""
    from app.parse import text_best

    return text_best.best(answer.body, answer.at or capture.url, _content_type(capture, answer))


def markdown_of(capture: Capture, answer: Archived, *, whole: bool = False) -> str:
    """The content as Markdown, its links absolute. Raises InputError where the library for it is not installed.

    whole  all that a reader of the page sees
    """
    from app.parse import markdown

    return markdown.of(answer.body, answer.at or capture.url, _content_type(capture, answer), whole=whole)


def html_of(capture: Capture, answer: Archived) -> str:
    """The body as text, in its own encoding."""
    return charset.decode(answer.body, _content_type(capture, answer))[0]


def _content_type(capture: Capture, answer: Archived) -> str | None:
    """The type that the body was read as; a 304 need not repeat it."""
    found = answer.header("content-type") or capture.content_type
    return found or (f"text/html; charset={capture.charset}" if capture.charset else None)


def _place(tx: Connection, url: Url) -> tuple[int, bytes]:
    """(host id, key) of a URL. Raises InputError where no crawl knows its host."""
    host_id = hosts.ids(tx, [url.host]).get(url.host)
    if host_id is None:
        raise InputError(url.text, f"no crawl knows the host {url.host}; tiptoe host list shows those that are known")
    return host_id, url.key


def _latest(found: Sequence[Capture], plain: bool) -> Capture:
    """The document; an answer of any kind where there is no page.   plain: the answer that was read as a page"""
    return (plain_of(found) if plain else document_of(found)) or found[0]


def _chosen(engine: Engine, found: CapturedUrl, at: str, option: str, plain: bool) -> Capture:
    """The capture of this number, or the latest one at a moment. Raises InputError.

    plain: of a rendered document the answer that it was made from
    """
    if at.isascii() and at.isdecimal() and len(at) < 19:  # digits: within a bigint
        chosen = next((each for each in found.captures if each.id == int(at)), None)
        if chosen is not None and plain and chosen.rendered_from is not None:
            chosen = next((each for each in found.captures if each.id == chosen.rendered_from), None)
        remedy = "is not a capture of this URL; tiptoe page show lists their numbers"
    else:
        with db.transaction(engine) as tx:
            until = moment(at, server.now(tx), option=option)
        chosen = _at(found.captures, until, plain)
        remedy = f"is before the first capture, of {_first(found.captures):%Y-%m-%d %H:%M}"
    if chosen is None:
        raise InputError(f"{option} {at}", remedy)
    return chosen


def _at(found: Sequence[Capture], until: datetime, plain: bool) -> Capture | None:
    """The latest answer at a moment; the document then, if that was a page."""
    past = [each for each in found if each.fetched_at <= until]
    is_page = bool(past) and past[0].kind in {CaptureKind.PAGE, CaptureKind.RENDERED}
    return _latest(past, plain) if is_page else next(iter(past), None)


def _first(found: Sequence[Capture]) -> datetime:
    return found[-1].fetched_at


def _other(found: CapturedUrl, latest: Capture, plain: bool) -> Capture:
    """The last page before `latest` whose text differs; else the one just before it. Raises InputError for none."""
    pages = documents(found.captures, latest)
    if plain:
        pages = [each for each in found.captures if each.kind == CaptureKind.PAGE and each.id < latest.id]
    if not pages:
        remedy = "crawl it again, or name another crawl with --crawl"
        raise InputError(found.url, f"has one capture of a page in {found.crawl}; {remedy}")
    return next((each for each in pages if each.text_sha256 != latest.text_sha256), pages[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedCapture:
    """A capture of a page.

    capture  its number, as `page show --at` takes it
    record   of its WARC record; None: it was captured before this was noted
    made_of  the capture that a browser opened; None: it is the site's answer
    """

    capture: int
    fetched_at: datetime
    record: UUID | None
    made_of: int | None

    @property
    def line(self) -> str:
        """It in words, for a person."""
        what = "the site's answer" if self.made_of is None else f"what a browser made of {self.made_of}"
        record = f", record urn:uuid:{self.record}" if self.record else ""
        return f"capture {self.capture}: {what}{record}"


def of_url(tx: Connection, *, host_id: int, crawl_id: int, key: bytes) -> list[ArchivedCapture]:
    """The rendered document that stands, and the answer that it was made of; without one, the latest answer."""
    found = captures.of_url(tx, host_id=host_id, crawl_id=crawl_id, key=key)
    document = document_of(found)
    if document is None:
        return []
    if document.rendered_from is None:
        return [_named(document)]
    source = next((each for each in found if each.id == document.rendered_from), None)
    return [_named(each) for each in (source, document) if each is not None]


def no_archive(crawl: Crawl) -> str | None:
    """Why a crawl has nothing in the archive, and what would change it; None where it keeps one."""
    if crawl.archive:
        return None
    edit, again = f"tiptoe crawl edit {crawl.name} --archive", f"tiptoe crawl start {crawl.name} --again"
    return f"crawl {crawl.name} keeps no archive; run: {edit}, then {again}"


def _named(capture: Capture) -> ArchivedCapture:
    return ArchivedCapture(
        capture=capture.id,
        fetched_at=capture.fetched_at,
        record=capture.record_id,
        made_of=capture.rendered_from,
    )
