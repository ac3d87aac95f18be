"""Names the captures that speak for a page: the site's answer, and the document that a browser made of it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from app.model import Capture
from app.policy.document import document_of
from app.store import captures
from app.store.crawls import Crawl


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
