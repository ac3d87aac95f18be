"""Lists what happened to a crawl's pages since a moment: new, changed, gone; of changed ones the passages, on demand.

`pages` says when a page was first there and when its main text changed last, `urls` since when it is gone. A page that
was new and has changed since then has a change of each. Passages are read from the archive; no request is sent.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from sqlalchemy import Engine

from app.admin.captures import CAPTURES_MOST, reading, text_by
from app.admin.crawls import find as find_crawl
from app.config import Settings
from app.errors import ArchiveMissing, InputError, SegmentElsewhere, TookTooLong
from app.features.archive.read import Archive
from app.model import Capture
from app.policy import text_diff
from app.policy.document import document_of, documents
from app.policy.moment import moment
from app.policy.text_diff import PassageChange
from app.runtime.reader_pool import Readers
from app.store import captures, db, page_list, server
from app.store.crawls import Crawl
from app.store.deadline import within
from app.store.page_list import PageTimes

AT_ONCE: Final = 1_000
USUAL: Final = "7d"
COMPARED_S: Final = 60.0  # of a page, which a site wrote


class PageChangeKind(StrEnum):
    """Kinds of changes: a page came, its main text is another, or its site says that it is gone."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


class PageChange(NamedTuple):
    """A change of a page.

    passages  of a changed page, where they are asked for: what its text lost and gained; None: they are not known
    why_not   why the passages that were asked for are not known
    """

    change: PageChangeKind
    at: datetime
    url: str
    host: str
    title: str | None
    passages: Sequence[PassageChange] | None = None
    why_not: str | None = None


class Changes(NamedTuple):
    """The changes of a crawl since a moment, host by host; those of one page in the order of time."""

    crawl: str
    since: datetime
    found: Iterator[PageChange]


def changes(
    engine: Engine,
    settings: Settings,
    name: str,
    *,
    since: datetime | str = USUAL,
    passages: bool = False,
    compared_s: float = COMPARED_S,
) -> Changes:
    """Find what is new, changed and gone since then, in bounded memory. Raises InputError.

    since       a text is read by `app.policy.moment`
    compared_s  that a page's passages may take; one that takes longer is listed without, and says so
    """
    crawl = find_crawl(engine, name)
    with db.transaction(engine) as tx:
        begins = moment(since, server.now(tx), option="--since") if isinstance(since, str) else since
    return Changes(crawl.name, begins, _found(engine, settings, crawl, begins, compared_s if passages else None))


def _found(
    engine: Engine, settings: Settings, crawl: Crawl, since: datetime, compared_s: float | None
) -> Iterator[PageChange]:
    """The changes.   compared_s: as in `changes`; None: passages are not asked for"""
    after = (0, b"")
    with reading(settings) if compared_s is not None else nullcontext() as readers:
        compared = None
        if readers is not None and compared_s is not None:
            compared = _PassageReader(engine, settings, crawl, since, readers, compared_s)
        while True:
            with db.transaction(engine) as tx:
                pages = page_list.changes(tx, crawl_id=crawl.id, after=after, since=since, n=AT_ONCE)
            for page in pages:
                for each in _of_page(page, since):
                    if compared is not None and each.change is PageChangeKind.CHANGED:
                        yield compared.with_passages(page, each)
                    else:
                        yield each
            if len(pages) < AT_ONCE:
                return
            after = (pages[-1].host_id, pages[-1].key)


def _of_page(page: PageTimes, since: datetime) -> Iterator[PageChange]:
    changed_at = page.changed_at if page.changed_at > page.first_fetched_at else None
    times = {
        PageChangeKind.NEW: page.first_fetched_at,
        PageChangeKind.CHANGED: changed_at,
        PageChangeKind.GONE: page.gone_at,
    }
    for kind, at in times.items():
        if at is not None and at >= since:
            yield PageChange(kind, at, page.url, page.host, page.title)


class _PassageReader(NamedTuple):
    """Compares the document of a page with what it was before."""

    engine: Engine
    settings: Settings
    crawl: Crawl
    since: datetime
    readers: Readers
    compared_s: float

    def with_passages(self, page: PageTimes, change: PageChange) -> PageChange:
        """The change with its passages, or with why there are none."""
        remedy = f"try it alone: tiptoe page diff {page.url}"
        try:
            with within(self.compared_s, what="comparing its texts", remedy=remedy):
                return self._with_passages(page, change)
        except TookTooLong as error:
            return change._replace(why_not=str(error))

    def _with_passages(self, page: PageTimes, change: PageChange) -> PageChange:
        with db.transaction(self.engine) as tx:
            known = captures.of_url(
                tx, host_id=page.host_id, crawl_id=self.crawl.id, key=bytes(page.key), n=CAPTURES_MOST
            )
        latest = document_of(known)
        before = self._before(known, latest) if latest else None
        if latest is None or before is None:
            return change._replace(why_not="the archive has no earlier capture of it")
        archive = Archive(self.engine, self.settings)
        try:
            old, new = (text_by(self.readers, each, archive.read(each), self.settings) for each in (before, latest))
        except (InputError, ArchiveMissing, SegmentElsewhere) as error:
            return change._replace(why_not=str(error))
        return change._replace(passages=text_diff.compare(old, new))

    def _before(self, known: Sequence[Capture], latest: Capture) -> Capture | None:
        """The document as it stood at `since`; of a page that is newer, the last one with another text."""
        earlier = documents(known, latest)
        stood = next((each for each in earlier if each.fetched_at < self.since), None)
        return stood or next((each for each in earlier if each.text_sha256 != latest.text_sha256), None)
