"""Reads captures back from the archive: by segment, offset and length, from the disk or the object store."""

import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import Engine

from app.config import Settings
from app.errors import ArchiveMissing, SegmentElsewhere, ServiceError
from app.features.archive import record, recording, scan
from app.features.archive.place import ArchivePlace
from app.features.archive.segment import OPEN
from app.model import Archived, Capture, CaptureKind, Segment, SegmentState
from app.net.decode import decoded
from app.net.sockets import REMEDY, is_ours
from app.store import captures, db, segments

_BLANKS = " \t"  # of a header; in latin-1 the last octet of a letter in UTF-8 may be a blank, or a line end, too


class _Message(NamedTuple):
    """A record's HTTP message.   payload: with its content-coding"""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    payload: bytes


class Archive:
    """Reads captures of any segment that is here or in the object store. It keeps what it knows of segments.

    Not for several threads.
    """

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._place = ArchivePlace(settings.home, settings.archive)
        self._segments: OrderedDict[int, Segment] = OrderedDict()

    def read(self, capture: Capture) -> Archived:
        """The answer that a capture points to, its body content-decoded. A revisit has the body of what it refers to.

        Of what a browser made: the document. `plain` reads the answer that it was made from.
        Raises ArchiveMissing, SegmentElsewhere, ServiceError.
        """
        if capture.kind == CaptureKind.RENDERED:
            return recording.archived(capture, *self._split(capture))
        answer = self._answer(capture)
        if capture.refers_to is None:
            holder, held = capture, answer
        else:
            with db.transaction(self._engine) as tx:
                original = captures.by_id(tx, crawl_id=capture.crawl_id, id=capture.refers_to)
            if original is None:
                raise ArchiveMissing(f"capture {capture.id} of {capture.url}", "what it refers to was deleted")
            holder, held = original, self._answer(original)
        coding = ", ".join(value for name, value in held.headers if name.lower() == "content-encoding")
        return Archived(
            status=answer.status,
            reason=answer.reason,
            headers=answer.headers,
            body=decoded(held.payload, coding, most=holder.body_bytes),
            truncated=holder.truncated,
        )

    def plain(self, capture: Capture) -> tuple[Capture, Archived]:
        """The answer that a rendered document was made from, and its capture; of another capture, itself.

        Raises as `read` does.
        """
        if capture.rendered_from is None:
            return capture, self.read(capture)
        with db.transaction(self._engine) as tx:
            source = captures.by_id(tx, crawl_id=capture.crawl_id, id=capture.rendered_from)
        if source is None:
            raise ArchiveMissing(_where(capture), "its answer was deleted")
        return source, self.read(source)

    def record(self, capture: Capture) -> bytes:
        """The WARC record of a capture as it stands in its segment, unpacked.

        Raises ArchiveMissing, SegmentElsewhere, ServiceError."""
        try:
            return zlib.decompress(self.member(capture), record.GZIP)
        except zlib.error as error:
            raise ArchiveMissing(_where(capture), f"its record is damaged ({error})") from error

    def member(self, capture: Capture) -> bytes:
        """The record as the bytes of its segment: one gzip member. Raises as `record` does."""
        segment = self._segment(capture.segment_id, capture)
        octets = self._local(segment, capture)
        if octets is None and segment.state in {SegmentState.OPEN, SegmentState.CLOSED}:
            segment = self._segment(capture.segment_id, capture, anew=True)
            octets = self._local(segment, capture)
        if octets is None:
            octets = self._far(segment, capture)
        if len(octets) < capture.length:
            raise ArchiveMissing(_where(capture), f"segment {segment.name} is shorter than its rows say")
        return octets

    def _split(self, capture: Capture) -> tuple[dict[str, str], bytes]:
        """The fields of a capture's record, and its block."""
        try:
            fields, block = scan.split(self.record(capture))
        except ValueError as error:
            raise ArchiveMissing(_where(capture), str(error)) from error
        if capture.record_id is not None and fields.get("warc-record-id") != record.named_id(capture.record_id):
            raise ArchiveMissing(_where(capture), "its segment has another record in its place")
        return fields, block[: int(fields.get("content-length", len(block)))]

    def _answer(self, capture: Capture) -> _Message:
        _, block = self._split(capture)
        end = scan.http_end(block)
        lines = [line.decode("latin-1") for line in block[:end].splitlines()]  # of octets: text has more line ends
        _, status, reason = [*lines[0].split(None, 2), "", "", ""][:3] if lines else ("", "", "")
        return _Message(int(status) if status.isdigit() else 0, reason, _fields(lines[1:]), block[end:])

    def _segment(self, id: int, capture: Capture, *, anew: bool = False) -> Segment:
        """The row of a segment; one that was known may have moved meanwhile."""
        known = None if anew else self._segments.get(id)
        if known is None:
            with db.transaction(self._engine) as tx:
                known = segments.by_id(tx, id)
            if known is None or known.state == SegmentState.GONE:
                raise ArchiveMissing(_where(capture), "its segment was deleted")
            self._segments[id] = known
            if len(self._segments) > 1_000:
                self._segments.popitem(last=False)
        return known

    def _local(self, segment: Segment, capture: Capture) -> bytes | None:
        """A capture's part of a segment that is on this disk, open or final; None where it is not."""
        for name in (segment.name, f"{segment.name}{OPEN}", segment.name):  # it may be closed between two looks
            try:
                with open(self._place.folder / name, "rb", buffering=0) as file:
                    file.seek(capture.at_offset)
                    return _whole(file.read, capture.length)
            except FileNotFoundError:
                continue
            except OSError as error:
                why = error.strerror or str(error)
                if is_ours(error):
                    raise ServiceError(
                        f"archive at {self._place.folder}", f"cannot be read ({why}); {REMEDY}"
                    ) from error
                raise ArchiveMissing(_where(capture), f"its segment {segment.name} cannot be read ({why})") from error
        return None

    def _far(self, segment: Segment, capture: Capture) -> bytes:
        if segment.state == SegmentState.UPLOADED:
            if self._place.remote is None:
                raise ArchiveMissing(_where(capture), f"it is at {segment.place}; set TIPTOE_ARCHIVE to that store")
            return self._place.remote.read(segment.name, at=capture.at_offset, length=capture.length)
        if segment.node != self._place.node:
            raise SegmentElsewhere(segment.name, segment.node)
        raise ArchiveMissing(_where(capture), f"its segment {segment.name} is not in {self._place.folder}")


def read(engine: Engine, settings: Settings, capture: Capture) -> Archived:
    """Read one capture. For many of them make one `Archive`."""
    return Archive(engine, settings).read(capture)


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    """Header fields as they were received; a folded line continues the value before it."""
    found: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if line[:1] in {" ", "\t"} and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip(_BLANKS)}")
        elif colon:
            found.append((name.strip(_BLANKS), value.strip(_BLANKS)))
    return found


def _whole(read: Callable[[int], bytes | None], length: int) -> bytes:
    """So many bytes, or all there are."""
    octets = b""
    while len(octets) < length and (piece := read(length - len(octets))):
        octets += piece
    return octets


def _where(capture: Capture) -> str:
    return f"capture {capture.id} of {capture.url}"
