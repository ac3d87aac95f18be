"""The rows that an answer's record leaves: its line of the index, and its capture. Pure."""

from uuid import UUID

from app.archive import cdxj, record
from app.archive.bodies import HeldBody
from app.archive.cdxj import IndexEntry
from app.archive.recording import Recording
from app.model import Capture


def index_line(answer: Recording, name: str, offset: int, *, is_revisit: bool, digest: bytes, length: int) -> bytes:
    """The index line of a response or a revisit."""
    content_type = answer.reply.noted("content-type")
    return cdxj.line(
        IndexEntry(
            url=answer.url,
            moment=answer.fetched_at,
            mime=cdxj.REVISIT if is_revisit else cdxj.media_type(content_type),
            status=answer.reply.status or 0,
            digest=record.labelled(digest),
            length=length,
            offset=offset,
            name=name,
        )
    )


def capture(
    answer: Recording, id: UUID, same: HeldBody | None, payload_sha256: bytes, at: tuple[int, int, int]
) -> Capture:
    """The row of an answer. A 304 has no body of its own: it has what it confirms.

    at: segment, offset and length of its record
    """
    confirmed = answer.original if answer.is_bare and same else None
    content_type = answer.reply.noted("content-type")
    body_sha256 = confirmed.body_sha256 if confirmed else answer.body_sha256
    return Capture(
        id=0,
        host_id=answer.host_id,
        crawl_id=answer.crawl_id,
        key=answer.key,
        url=answer.url,
        fetched_at=answer.fetched_at,
        kind=answer.kind.value,
        status=answer.reply.status or 0,
        content_type=confirmed.content_type if confirmed else content_type,
        charset=confirmed.charset if confirmed else answer.charset,
        body_sha256=body_sha256,
        text_sha256=confirmed.text_sha256 if confirmed else answer.text_sha256,
        payload_sha256=None if same or payload_sha256 == body_sha256 else payload_sha256,
        body_bytes=confirmed.body_bytes if confirmed else len(answer.reply.body) + answer.reply.sunk_bytes,
        truncated=confirmed.truncated if confirmed else answer.truncated is not None,
        segment_id=at[0],
        at_offset=at[1],
        length=at[2],
        refers_to=same.id if same else None,
        record_id=id,
        to_render=answer.to_render,
    )
