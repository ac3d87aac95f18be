"""A capture: an answer that is kept in the archive, where its record is, and what is read back from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID


class CaptureKind(StrEnum):
    """The kind of an answer: `captures.kind`."""

    PAGE = "page"  # 2xx that was read as a page, or a 304 that confirms one
    RENDERED = "rendered"  # what a browser made of a page: a document, no answer
    ROBOTS = "robots"  # any answer for robots.txt
    SITEMAP = "sitemap"  # 2xx that was read as a sitemap, or a 304 that confirms one
    REDIRECT = "redirect"
    ERROR = "error"  # any other answer: 4xx, 5xx, a type whose body is not read


class Capture(NamedTuple):
    """A row of `captures`.

    id             given when it is written; 0 before that
    key            SHA-256 of the canonical URL;   url: as it was sent
    fetched_at     when the request ended, by the database's clock
    content_type   as the answer says;   charset: the encoding that the page was read in
    body_sha256    of the decoded body;   body_bytes: how many of its bytes were read
    text_sha256    of the main text; None for what is no page
    payload_sha256 of the body as received, where that differs from the decoded one
    truncated      the body is not all that the site would have sent
    segment_id, at_offset, length   where its record is: one gzip member of so many bytes
    refers_to      the capture whose body this revisit repeats; None: its record holds its own body
    record_id      of its WARC record; None: it was captured before this was noted
    rendered_from  of a rendered document: the capture of the answer that the browser opened
    to_render      a browser is to open it: a rendered document from before stands until then
    """

    id: int
    host_id: int
    crawl_id: int
    key: bytes
    url: str
    fetched_at: datetime
    kind: str
    status: int
    content_type: str | None
    charset: str | None
    body_sha256: bytes | None
    text_sha256: bytes | None
    payload_sha256: bytes | None
    body_bytes: int
    truncated: bool
    segment_id: int
    at_offset: int
    length: int
    refers_to: int | None
    record_id: UUID | None = None
    rendered_from: int | None = None
    to_render: bool = False


class SegmentState(StrEnum):
    """The state of a segment: `segments.state`."""

    OPEN = "open"  # a worker of its node writes to it
    CLOSED = "closed"  # final, on its node's disk
    UPLOADED = "uploaded"  # final, in the object store, and no longer on the disk
    GONE = "gone"  # deleted by retention, or with its crawl


class Segment(NamedTuple):
    """A row of `segments`: one WARC file, of one crawl, written by one process.

    node    name of the machine that wrote it;   name: of the file, without the folder
    place   of an uploaded one: its URL;   bytes, records: None while it is open
    """

    id: int
    crawl_id: int
    node: str
    name: str
    state: str
    place: str | None
    bytes: int | None
    records: int | None
    opened_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """An answer as it is read back from the archive.

    headers    fields in the order they came, names as written; a revisit has those of its own answer
    body       content-decoded; of the capture that a revisit refers to
    truncated  the body is not all that the site would have sent
    at         of a rendered document: its URL at the end, which its scripts may have changed
    """

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    truncated: bool
    at: str | None = None

    def header(self, name: str) -> str | None:
        """The values of a field, joined by ", "; None without it."""
        found = [value for field, value in self.headers if field.lower() == name.lower()]
        return ", ".join(found) if found else None
