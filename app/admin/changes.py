"""Lists what happened to a crawl's pages, and writes it into files: new, changed, gone, withdrawn, returned.

Events are handed out once, in the order of commits; a cursor says where a reader is. Passages are read from the
archive, on demand; no request is sent.

Files are one of all that is asked for, or a folder that gets increments. A row of a page that is gone or withdrawn is
its tombstone: it has no text. A folder remembers its cursor; each run writes what came since the last one, into a part
of its own. A run that was killed leaves no part without its cursor but one, which the next run writes anew.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

import orjson
from sqlalchemy import Engine

from app.admin.captures import CAPTURES_MOST, reading, text_by
from app.admin.crawls import find as find_crawl
from app.config import Settings
from app.errors import ArchiveMissing, InputError, SegmentElsewhere, TookTooLong
from app.features.archive.read import Archive
from app.features.changes import rows
from app.features.changes import rows as cursors
from app.features.changes.feed import Feed
from app.features.changes.rows import Cursor, Filters, PageEvent
from app.features.changes.rows import PageChangeKind as PageChangeKind
from app.features.export import formats, target
from app.features.export.columns import ColumnType, ExportColumn
from app.features.export.formats import ExportFormat
from app.features.export.rows import Row
from app.features.export.target import ExportPlace
from app.model import Capture
from app.policy import text_diff
from app.policy.document import document_of, documents
from app.policy.moment import moment
from app.policy.text_diff import PassageChange
from app.sandbox.readers import Readers
from app.store import captures, db, server
from app.store.crawls import Crawl
from app.store.deadline import within
from app.store.page_list import like

USUAL: Final = "7d"
START: Final = "start"
MOST_WORDS: Final = 16
STATE: Final = "changes.json"
_COLUMNS: Final = (
    ExportColumn("cursor", ColumnType.TEXT),
    ExportColumn("change", ColumnType.TEXT),
    ExportColumn("at", ColumnType.TIME),
    ExportColumn("url", ColumnType.TEXT),
    ExportColumn("host", ColumnType.TEXT),
    ExportColumn("title", ColumnType.TEXT),
    ExportColumn("why", ColumnType.TEXT),
    ExportColumn("text_sha256", ColumnType.TEXT),
    ExportColumn("text", ColumnType.TEXT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesWish:
    """The changes that are asked for.

    since     a moment, or a cursor, as a person writes them; None: from the start
    kinds     none: all;   pattern: of URLs, with *;   words: that the page has, all of them
    passages  of changed pages what their text lost and gained;   with_text: the texts of pages
    compared_s  that a page's passages may take; one that takes longer is listed without, and says so
    """

    since: datetime | str | None = USUAL
    kinds: Sequence[str] = ()
    pattern: str | None = None
    words: str | None = None
    passages: bool = False
    with_text: bool = False
    compared_s: float = 60.0  # of a page, which a site wrote


class PageChange(NamedTuple):
    """A change of a page.

    passages  of a changed page, where they are asked for: what its text lost and gained; None: they are not known
    why_not   why the passages that were asked for are not known
    why       of a page that is gone or withdrawn
    cursor    behind it
    text_sha256  of its text at that time; None: it is not there any more
    text      of the page by now, where it is asked for
    """

    change: PageChangeKind
    at: datetime
    url: str
    host: str
    title: str | None
    passages: Sequence[PassageChange] | None = None
    why_not: str | None = None
    why: str | None = None
    cursor: str = ""
    text_sha256: bytes | None = None
    text: str | None = None


@dataclass(slots=True, kw_only=True)
class Changes:
    """The changes of a crawl, in the order of commits.   since: a moment; None: another start"""

    crawl: str
    since: datetime | None
    feed: Feed
    _comparing: "_PassageReader | None" = field(default=None)

    @property
    def cursor(self) -> str:
        """The place behind what was handed out; at the end of `found`, behind all there was."""
        return str(self.feed.cursor)

    @property
    def found(self) -> Iterator[PageChange]:
        """The changes up to now."""
        with self._readers() as readers:
            yield from self._ready(readers)

    def followed(self, wait: Callable[[float], object] = time.sleep) -> Iterator[PageChange]:
        """The changes up to now, and those that come, without end.   wait: between two looks"""
        with self._readers() as readers:
            while True:
                yield from self._ready(readers)
                wait(1.0)

    def _readers(self) -> AbstractContextManager[Readers | None]:
        return nullcontext() if self._comparing is None else reading(self._comparing.settings)

    def _ready(self, readers: Readers | None) -> Iterator[PageChange]:
        for event in self.feed.ready():
            change = _change(event, self.feed.at(event))
            if self._comparing is not None and readers is not None and event.kind is PageChangeKind.CHANGED:
                change = self._comparing.with_passages(readers, event, change)
            yield change


def changes(engine: Engine, settings: Settings, name: str, wish: ChangesWish | None = None) -> Changes:
    """Find the changes of a crawl, in bounded memory. Raises InputError."""
    crawl, wish = find_crawl(engine, name), wish or ChangesWish()
    after, begins = None, None
    if isinstance(wish.since, str) and cursors.is_cursor(wish.since):
        after = cursors.parse(wish.since)
    elif isinstance(wish.since, str):
        with db.transaction(engine) as tx:
            begins = moment(wish.since, server.now(tx), option="--since")
    else:
        begins = wish.since
    feed = Feed(engine, crawl.id, after=after, filters=filters_of(wish, begins))
    comparing = _PassageReader(engine, settings, crawl, wish.compared_s) if wish.passages else None
    return Changes(crawl=crawl.name, since=begins, feed=feed, _comparing=comparing)


def latest(engine: Engine, name: str, wish: ChangesWish, *, n: int) -> tuple[list[PageChange], str]:
    """The last n changes of a crawl, the newest first, and the cursor behind them.   wish: its kinds and its pattern

    Raises InputError.
    """
    crawl, filters, now = find_crawl(engine, name), filters_of(wish), rows.horizon(engine)
    with db.transaction(engine) as tx:
        found = rows.latest(tx, crawl_id=crawl.id, until=now.newest, filters=filters, n=n)
    return [_change(event, Cursor(now.lineage, event.place)) for event in found], str(Cursor(now.lineage, now.newest))


def _change(event: PageEvent, cursor: Cursor) -> PageChange:
    return PageChange(
        event.kind,
        event.at,
        event.url,
        event.host,
        event.title,
        why=event.why,
        cursor=str(cursor),
        text_sha256=event.text_sha256,
        text=event.text,
    )


def filters_of(wish: ChangesWish, since: datetime | None = None) -> Filters:
    """The filters that a wish names. Raises InputError."""
    for kind in wish.kinds:
        if kind not in set(PageChangeKind):
            raise InputError(f"--kind {kind}", f"is no kind of changes; there are {', '.join(PageChangeKind)}")
    words = None if wish.words is None else wish.words.lower().split()
    if words is not None and not 0 < len(words) <= MOST_WORDS:
        raise InputError("--words", f"has {len(words)} words; give 1 to {MOST_WORDS}")
    return Filters(
        since=since,
        kinds=[*wish.kinds] or None,
        url_like=like(wish.pattern) if wish.pattern else None,
        words=words,
        with_text=wish.with_text,
    )


class _PassageReader(NamedTuple):
    """Compares the document of a page with what it was before."""

    engine: Engine
    settings: Settings
    crawl: Crawl
    compared_s: float

    def with_passages(self, readers: Readers, event: PageEvent, change: PageChange) -> PageChange:
        """The change with its passages, or with why there are none."""
        remedy = f"try it alone: tiptoe page diff {event.url}"
        try:
            with within(self.compared_s, what="comparing its texts", remedy=remedy):
                return self._with_passages(readers, event, change)
        except TookTooLong as error:
            return change._replace(why_not=str(error))

    def _with_passages(self, readers: Readers, event: PageEvent, change: PageChange) -> PageChange:
        with db.transaction(self.engine) as tx:
            known = captures.of_url(
                tx, host_id=event.host_id, crawl_id=self.crawl.id, key=bytes(event.key), n=CAPTURES_MOST
            )
        then = [each for each in known if each.fetched_at <= event.at]  # its answer came before it was written
        latest = document_of(then)
        before = self._before(then, latest) if latest else None
        if latest is None or before is None:
            return change._replace(why_not="the archive has no earlier capture of it")
        archive = Archive(self.engine, self.settings)
        try:
            old, new = (text_by(readers, each, archive.read(each), self.settings) for each in (before, latest))
        except (InputError, ArchiveMissing, SegmentElsewhere) as error:
            return change._replace(why_not=str(error))
        return change._replace(passages=text_diff.compare(old, new))

    @staticmethod
    def _before(known: Sequence[Capture], latest: Capture) -> Capture | None:
        """The last document from before with another text."""
        return next((each for each in documents(known, latest) if each.text_sha256 != latest.text_sha256), None)


class WrittenChanges(NamedTuple):
    """file: its name; None: there was nothing to be written into the folder.   cursor: behind the last row"""

    place: str
    file: str | None
    rows: int
    cursor: str


def write(
    engine: Engine, settings: Settings, name: str, wish: ChangesWish, *, to: str, form: str | None
) -> WrittenChanges:
    """Write changes as `wish` says; into a folder the next part, from where the last one ended. Raises InputError."""
    chosen = formats.format_of(form, to)
    if chosen is ExportFormat.MARKDOWN:
        raise InputError(f"--format {chosen}", "is for pages; write changes as jsonl, csv or parquet")
    formats.writer(chosen)
    wish = replace(wish, with_text=True)
    with target.opened(to, endings=formats.endings(chosen, is_chosen=form is not None)) as (place, file):
        if file is not None:
            found = changes(engine, settings, name, wish)
            rows = _write(place, file, chosen, found)
            return WrittenChanges(to, file, rows, found.cursor)
        return _write_part(engine, settings, name, wish, place=place, to=to, form=chosen)


def _write_part(
    engine: Engine, settings: Settings, name: str, wish: ChangesWish, *, place: ExportPlace, to: str, form: ExportFormat
) -> WrittenChanges:
    """Write the next part of a folder; none where nothing came."""
    held = place.get(STATE)
    state = _state(held, to, name) if held is not None else {"crawl": name, "parts": 0, "cursor": None}
    if state["cursor"] is not None:
        wish = replace(wish, since=str(state["cursor"]))
    found, number = changes(engine, settings, name, wish), int(str(state["parts"])) + 1
    file = f"changes-{number:05}.{form}"
    rows = _write(place, file, form, found, may_be_empty=False)
    kept = {**state, "parts": number if rows else number - 1, "cursor": found.cursor}
    with target.writing(place):
        target.put(place, STATE, orjson.dumps(kept).decode())
    return WrittenChanges(to, file if rows else None, rows, found.cursor)


def _state(held: bytes, to: str, name: str) -> dict[str, object]:
    try:
        state = orjson.loads(held)
        if state["crawl"] == name and state["parts"] >= 0:
            return {"crawl": name, "parts": state["parts"], "cursor": state["cursor"]}
        raise InputError(f"--to {to}", f"holds the changes of {state['crawl']}; name another folder")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"--to {to}", f"holds a {STATE} that cannot be read; name another folder") from error


def _write(place: ExportPlace, file: str, form: ExportFormat, found: Changes, *, may_be_empty: bool = True) -> int:
    """Write one file, whole. Returns how many rows."""
    counted = [0]
    draft = place.draft(file)
    with target.writing(place):
        try:
            formats.writer(form)(draft, _COLUMNS, _batches(found.found, counted))
            if counted[0] or may_be_empty:
                place.keep(file, draft)
        finally:
            draft.unlink(missing_ok=True)
    return counted[0]


def _batches(found: Iterator[PageChange], counted: list[int]) -> Iterator[list[Row]]:
    lot: list[Row] = []
    for each in found:
        digest = None if each.text_sha256 is None else each.text_sha256.hex()
        lot.append(
            (each.cursor, str(each.change), each.at, each.url, each.host, each.title, each.why, digest, each.text)
        )
        counted[0] += 1
        if len(lot) == 100:
            yield lot
            lot = []
    if lot:
        yield lot
