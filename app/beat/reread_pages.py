"""Reread: reads stored pages again from the archive, where another version of the reader found their text.

No request is sent, and nothing counts as a change. Digests are renewed with the text, and what is made of it is due
again: fingerprints, words, items. Documents are read by a process that they may end (`app.sandbox.readers`).

A lot is one transaction. It holds the captures that it reads, which no settle locks, and its hosts for the writing
alone. A page that was fetched meanwhile stays as that visit left it. What a crash undoes is read again.
"""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Literal, NamedTuple

import structlog
from sqlalchemy import Connection, Engine

from app import plugins
from app.config import Settings
from app.crawl.frontier import duplicates
from app.crawl.page.read import read_row
from app.errors import ArchiveMissing, SegmentElsewhere, ServiceError
from app.features.archive.read import Archive
from app.features.near import rows as near
from app.model import Archived, Capture, CaptureKind, Page
from app.model.page import RENDERED_TYPE
from app.parse.html.html import MEDIA_TYPES, READER
from app.policy import directives, media_type, tdm
from app.sandbox.reader import PageOptions
from app.sandbox.readers import ARGV, START_S, Death, Readers
from app.store import db, hosts, reread, server
from app.store.pages import Renewed, Where
from app.store.reread import StalePage

_log = structlog.get_logger()
BYTES_AT_ONCE = 8_000_000  # of their bodies; one page at least
AHEAD = 2  # pages for each reader, which need not wait for the next: their time fits into `reread.IDLE_S`
LOT_S = 1.0  # a lot that has read for so long is written


@dataclass(slots=True, kw_only=True)
class Reread:
    """Pages that were read again, and pages that were not, by the reason why.

    texts       of the pages: with another text
    missing     their document is not in the archive, or on another machine's disk
    withdrawn   their owners want no copy of them;   unreadable: the document ended its reader
    overtaken   they were fetched meanwhile
    """

    pages: int = 0
    texts: int = 0
    missing: int = 0
    withdrawn: int = 0
    unreadable: int = 0
    overtaken: int = 0


class _Begun(NamedTuple):
    """A page that is being read.   answer: of its site"""

    page: StalePage
    capture: Capture
    answer: Archived
    document: Future[Page | Death | Literal["busy", "none"]]


def make_readers(settings: Settings, *, kindly: bool = False) -> Readers:
    """Make the pool that reads pages again.   kindly: with one process, at low priority"""
    pool = partial(Readers, deadline_s=settings.parse_deadline_s, memory_bytes=settings.parse_memory_bytes)
    return pool(most=1, argv=("nice", "-n", "10", *ARGV)) if kindly else pool()


class Rereading:
    """Reads the pages of a crawl again, lot by lot. Not for several threads.

    readers  the processes that read them
    after    host id and key of the last page that was looked at
    found    of all lots so far
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        crawl_id: int,
        readers: Readers,
        after: tuple[int, bytes] = (0, b""),
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._crawl_id = crawl_id
        self._archive = Archive(engine, settings)
        self._readers = readers
        self.after = after
        self.found = Reread()

    def lot(self) -> bool:
        """Read the next pages again. False: there are none."""
        return db.repeat(self._lot)

    def _lot(self) -> bool:
        found = Reread()
        with db.transaction(self._engine) as tx:
            pages = reread.stale(tx, crawl_id=self._crawl_id, after=self.after, reader=READER, n=100)
            if not pages:
                return False
            held = reread.hold(tx, [page for page in pages if not _is_withdrawn(page)])
            rows, after = self._read(pages, held, found, server.now(tx))
            _write(tx, rows, {page.where: page for page in pages}, found)
        self.after = after
        _add(self.found, found)
        if found.pages:
            _log.info("reread.read", crawl=self._crawl_id, pages=found.pages, texts=found.texts)
        return True

    def _read(
        self, pages: Sequence[StalePage], held: Mapping[Where, Capture], found: Reread, now: datetime
    ) -> tuple[list[Renewed], tuple[int, bytes]]:
        """Read as many pages as a lot may have: their rows, and host id and key of the last. While readers read, the
        next document is fetched from the archive."""
        rows: list[Renewed] = []
        begun: deque[_Begun] = deque()
        after, until, octets = self.after, time.monotonic() + LOT_S, 0
        with ThreadPoolExecutor(self._readers.most) as threads:
            for page in pages:
                capture = held.get(page.where)
                octets += capture.body_bytes if capture else 0
                if after != self.after and (octets > BYTES_AT_ONCE or time.monotonic() > until):
                    break
                after = page.host_id, page.key
                if capture is None:
                    found.withdrawn += _is_withdrawn(page)
                    found.missing += not _is_withdrawn(page)
                elif (one := self._begin(page, capture, found, threads)) is not None:
                    begun.append(one)
                if len(begun) >= AHEAD * self._readers.most:
                    rows += self._end(begun.popleft(), found, now)
            while begun:
                rows += self._end(begun.popleft(), found, now)
        return rows, after

    def _begin(self, page: StalePage, capture: Capture, found: Reread, threads: ThreadPoolExecutor) -> "_Begun | None":
        """Have a page read; None where it cannot be."""
        try:
            body, answer = self._document(capture)
        except (ArchiveMissing, SegmentElsewhere) as error:
            _log.info("reread.no_document", url=page.url, error=str(error))
            found.missing += 1
            return None
        options = PageOptions(
            content_type=RENDERED_TYPE if page.is_rendered else answer.header("content-type"),
            content_language=answer.header("content-language"),
            token=self._settings.product_token.lower(),
            max_links=0,
            want_text=True,
            want_language=True,
        )
        essence = media_type.of(options["content_type"], body)
        by = plugins.reader_of(self._settings.plugins, essence)
        if by is None and not media_type.is_wanted(essence, MEDIA_TYPES):
            _log.info("reread.no_reader", url=page.url, type=essence)  # its plugin is not here
            found.missing += 1
            return None
        within_s = self._readers.patience_s + START_S
        document = threads.submit(self._readers.page, body, options, within_s=within_s, by=by)
        return _Begun(page, capture, answer, document)

    def _end(self, begun: "_Begun", found: Reread, now: datetime) -> list[Renewed]:
        """The page's row, read again; none where it could not be."""
        document = begun.document.result()
        if isinstance(document, str):
            raise ServiceError("the process that reads documents", f"did not start within {START_S:g} s; try again")
        if isinstance(document, Death):
            _log.warning("reread.killed_its_reader", url=begun.page.url, cause=document.cause, said=document.said)
            found.unreadable += 1
            return []
        if _wants_no_text(self._settings, now, begun.answer, document):
            found.withdrawn += 1
            return []
        return [_renewed(begun.page, begun.capture, document)]

    def _document(self, capture: Capture) -> tuple[bytes, Archived]:
        """The document's octets, and the answer of the site that has its header, where that can be read here."""
        document = answer = self._archive.read(capture)
        if capture.kind == CaptureKind.RENDERED:
            with suppress(ArchiveMissing, SegmentElsewhere):
                answer = self._archive.plain(capture)[1]
        return document.body, answer


class RereadJanitor:
    """Reads pages of any crawl again, some at a time. One process has one: a run while another lasts does nothing."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._readers = make_readers(settings, kindly=True)  # one that is started serves several runs
        self._marks: dict[int, tuple[int, bytes]] = {}  # how far each crawl is
        self._rests: dict[int, float] = {}  # until when a crawl is left alone, in monotonic seconds
        self._alone = threading.Lock()

    def run(self, *, within_s: float = 1.0) -> bool:  # beat runs it every five seconds
        """Read for so long, one lot at least. Returns whether there may be more that can be read here."""
        if not self._alone.acquire(blocking=False):
            return False
        try:
            until = time.monotonic() + within_s
            with db.transaction(self._engine) as tx:
                ids = reread.crawls(tx, reader=READER)
            return any(self._some(id, until) for id in ids if self._rests.get(id, 0.0) <= time.monotonic())
        finally:
            self._alone.release()

    def _some(self, crawl_id: int, until: float) -> bool:
        """Read pages of a crawl until then. False: all were looked at."""
        mark = self._marks.get(crawl_id, (0, b""))
        reading = Rereading(self._engine, self._settings, crawl_id, self._readers, mark)
        while reading.lot():
            self._marks[crawl_id] = reading.after
            if time.monotonic() > until:
                return True
        self._marks.pop(crawl_id, None)
        # After all that could be read here was: the others' documents are away, or on other machines.
        self._rests[crawl_id] = time.monotonic() + 600.0
        return False


def _is_withdrawn(page: StalePage) -> bool:
    """Its owner wants no copy of it, by what is on record: it gets no text again."""
    reserved = page.honour_opt_outs and any(map(tdm.was_reserved, page.opt_outs))
    return reserved or not {"noindex", "noarchive", "none"}.isdisjoint(page.directives.split(", "))


def _wants_no_text(settings: Settings, now: datetime, answer: Archived, document: Page) -> bool:
    """The document says so, as this version of the reader understands it."""
    said = directives.read(answer.header("x-robots-tag"), document.robots, settings.product_token, now=now)
    return said.noindex or said.noarchive


def _renewed(page: StalePage, capture: Capture, document: Page) -> Renewed:
    return {
        **read_row(page.url, document, sha256(document.main_text.encode()).digest()),
        "host_id": page.host_id,
        "crawl_id": page.crawl_id,
        "key": page.key,
        "url": page.url,
        "body_sha256": page.body_sha256,
        "is_rendered": page.is_rendered,
        "fetched_at": page.fetched_at,
        "reader_before": page.reader,
        "capture_id": capture.id,
    }


def _write(tx: Connection, rows: Sequence[Renewed], before: Mapping[Where, StalePage], found: Reread) -> None:
    """Write what was read, and have renewed what is made of it."""
    if not rows:
        return
    hosts.lock(tx, sorted({row["host_id"] for row in rows}))
    written = reread.renew(tx, rows)
    found.overtaken += len(rows) - len(written)
    rows = [row for row in rows if _where(row) in written]
    others = [row for row in rows if _says_else(row, before[_where(row)])]
    found.pages += len(rows)
    found.texts += sum(row["text_sha256"] != before[_where(row)].text_sha256 for row in rows)
    if not rows:
        return
    reread.compare_with(tx, rows)
    parted = reread.part(tx, written)
    duplicates.note_texts(tx, rows)
    told = parted | {_where(row) for row in others}
    reread.queue(tx, told)
    near.queue(tx, sorted(told))
    reread.handle(tx, others)


def _where(row: Renewed) -> Where:
    return row["host_id"], row["crawl_id"], row["key"]


def _says_else(row: Renewed, before: StalePage) -> bool:
    """Whether anything is another that is searched, compared, or handed to handlers."""
    return (row["text_sha256"], row["title"], row["description"], row["language"], row["language_detected"]) != (
        before.text_sha256,
        before.title,
        before.description,
        before.language,
        before.language_detected,
    )


def _add(total: Reread, lot: Reread) -> None:
    for name in Reread.__slots__:
        setattr(total, name, getattr(total, name) + getattr(lot, name))
