"""The archive of a worker process: appends answers to the open segment of their crawl, and syncs before a settle.

    append (an answer's records, one after another) ▶ sync (once a settle) ▶ the settle's rows ▶ committed

A row may point only to what was synced. Records without a row are legal: their visit was fenced. Writing happens in the
visit's own thread, so that a slow disk slows its visits down. `app.features.archive.keeper` closes segments and watches
the disk.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import structlog
from sqlalchemy import Engine

from app.errors import ArchiveStopped, ServiceError
from app.features.archive import record, recording, scan
from app.features.archive.record import Fields, IndexEntry
from app.features.archive.recording import HeldBody, KnownBodies, Recording, RenderedDocument, held
from app.features.archive.segment import WARC, SegmentFile
from app.model import Capture, CaptureKind
from app.store import db, segments

_log = structlog.get_logger()


class SegmentLimits(NamedTuple):
    """When a segment is closed.   segment_bytes: at this size;   segment_s: after this long"""

    segment_bytes: int
    segment_s: float


class ArchiveWriter:
    """Writes a process's segments. Threads share it; make it after the fork.

    folder  of the segments;   node: of this machine;   worker: of this process
    about   what warcinfo says of us
    """

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        *,
        node: str,
        worker: str,
        limits: SegmentLimits,
        about: Mapping[str, str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.engine, self.folder, self.node, self.worker = engine, folder, node, worker
        self._limits, self._about, self._monotonic = limits, about, monotonic
        self._opening = threading.Lock()
        self._open: dict[int, SegmentFile] = {}  # by crawl
        self._files: dict[int, SegmentFile] = {}  # by segment id, until they are closed
        self._lost: dict[int, int] = {}  # segment id → bytes that a failed sync left of it
        self._bodies = KnownBodies()
        self._serial = 0

    def append(self, answer: Recording) -> Capture | None:
        """Write an answer's records.

        Returns its row, to be written once it is synced; None where there is nothing to point to.

        Raises ArchiveStopped, ServiceError: then nothing was written.
        """
        if not answer.keeps_body:
            self._append(answer.crawl_id, [recording.metadata(answer, None)], None)
            return None
        payload_sha256 = self._digest(answer)
        same = self._same(answer, payload_sha256)
        uuid = uuid4()
        id = record.named_id(uuid)
        is_revisit = answer.is_bare or same is not None
        first = recording.revisit(answer, id, same) if is_revisit else recording.response(answer, id, payload_sha256)
        members = [first, recording.request(answer, id), recording.metadata(answer, id)]
        digest = same.payload_sha256 if same is not None else payload_sha256
        segment_id, at = self._append(
            answer.crawl_id,
            members,
            partial(index_line, answer, is_revisit=is_revisit, digest=digest, length=len(first)),
        )
        if answer.is_bare and same is None:
            return None
        return capture(answer, uuid, same, payload_sha256, (segment_id, at, len(first)))

    def append_rendered(self, document: RenderedDocument) -> Capture:
        """Write the records of what a browser made of an answer, which no index lists. Returns its row.

        Raises as `append` does.
        """
        id = uuid4()
        first = recording.conversion(document, id)
        segment_id, at = self._append(document.crawl_id, [first, recording.document_metadata(document, id)], None)
        return recording.row(document, id, (segment_id, at, len(first)))

    def copy(self, crawl_id: int, member: bytes) -> tuple[int, int]:
        """Write a capture's record of another segment as it is. Returns segment id and offset."""
        found = next(scan.records(BytesIO(member)))

        def line(name: str, offset: int) -> bytes:
            return scan.index_line(replace(found, offset=offset), name)

        return self._append(crawl_id, [member], line if found.is_answer else None)

    def sync(self, rows: Iterable[Capture]) -> None:
        """Return when the records of these rows are on the disk. Raises ArchiveStopped."""
        ends: dict[int, int] = {}
        for row in rows:
            ends[row.segment_id] = max(row.at_offset + row.length, ends.get(row.segment_id, 0))
        for id, end in ends.items():
            file = self._files.get(id)
            if file is not None:
                file.sync(end)
            elif end > self._lost.get(id, end):
                raise ArchiveStopped(f"segment {id}", "its end was lost with the disk; what was there is fetched again")

    def sync_all(self) -> None:
        """Return when all that was written is on the disk. Raises ArchiveStopped."""
        for file in list(self._files.values()):
            file.sync(file.size)

    def committed(self, rows: Sequence[Capture], ids: Mapping[tuple[int, int], int]) -> None:
        """Remember bodies whose rows are committed: the next answer with the same one becomes a revisit.

        ids: of the rows, by segment and offset.
        """
        for row in rows:
            id = ids.get((row.segment_id, row.at_offset))
            has_own = row.refers_to is None and row.body_bytes and row.kind != CaptureKind.RENDERED
            digest = row.payload_sha256 or row.body_sha256
            if id is not None and has_own and digest is not None:
                self._bodies.put(row.crawl_id, HeldBody(id, row.url, row.fetched_at, digest))

    def overdue(self) -> list[SegmentFile]:
        """Retire segments that are old enough. Returns all that are to be closed."""
        now = self._monotonic()
        with self._opening:
            for file in [file for file in self._open.values() if now - file.begun >= self._limits.segment_s]:
                self._retire(file)
            return [file for file in self._files.values() if file.is_retired]

    def close(self, file: SegmentFile) -> None:
        """Make a retired segment final. Raises ArchiveStopped, ServiceError: then it is closed later."""
        if not file.is_final:
            written = file.size
            file.close()
            if file.synced < written:
                self._lost[file.id] = file.synced
        with db.transaction(self.engine) as tx:
            segments.close(tx, id=file.id, bytes=file.synced, records=file.records)
        self._files.pop(file.id, None)

    def close_all(self) -> None:
        """Make all segments final, at the end of the process. What cannot be is left to the next start."""
        with self._opening:
            for file in list(self._open.values()):
                self._retire(file)
            files = list(self._files.values())
        for file in files:
            try:
                self.close(file)
            except ServiceError as error:
                _log.error("archive.not_closed", segment=file.name, error=str(error))

    def _append(
        self, crawl_id: int, members: Sequence[bytes], line: Callable[[str, int], bytes] | None
    ) -> tuple[int, int]:
        """Write records to the crawl's open segment. Returns its id, and where they begin."""
        while True:
            file = self._open.get(crawl_id) or self._begin(crawl_id)
            at = file.append(members, line and partial(line, file.filename))
            if at is None or file.size >= self._limits.segment_bytes:
                with self._opening:
                    self._retire(file)
            if at is not None:
                return file.id, at

    def _retire(self, file: SegmentFile) -> None:
        file.is_retired = True
        if self._open.get(file.crawl_id) is file:
            del self._open[file.crawl_id]

    def _begin(self, crawl_id: int) -> SegmentFile:
        """Open a segment: the file first, then its row, so that no row is without a file."""
        with self._opening:
            if (file := self._open.get(crawl_id)) is not None:
                return file
            with db.transaction(self.engine) as tx:
                crawl, now = segments.crawl_of(tx, crawl_id)
            self._serial += 1
            file = SegmentFile(self.folder, self._name(crawl, now), crawl_id=crawl_id, begun=self._monotonic())
            try:
                file.append([self._info(file, crawl, now)], None)
                with db.transaction(self.engine) as tx:
                    file.id = segments.open(
                        tx, crawl_id=crawl_id, node=self.node, worker=self.worker, name=f"{file.name}{WARC}"
                    )
            except BaseException:
                file.abandon()
                raise
            self._open[crawl_id] = self._files[file.id] = file
            return file

    def _name(self, crawl: str, now: datetime) -> str:
        """A name that no other segment has: crawl, time, serial number, machine and process."""
        fit, stamp = _fit(crawl), now.astimezone(UTC).strftime("%Y%m%d%H%M%S%f")[:17]
        return f"{fit}/tiptoe-{fit}-{stamp}-{self._serial:05d}-{_fit(self.worker)}"

    def _info(self, file: SegmentFile, crawl: str, now: datetime) -> bytes:
        said = recording.notes({"isPartOf": crawl, **self._about})
        fields: Fields = [
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", record.new_id()),
            ("WARC-Date", record.date(now)),
            ("WARC-Filename", file.filename),
            ("WARC-Block-Digest", record.labelled(record.digest(said))),
            ("Content-Type", "application/warc-fields"),
        ]
        return record.member(fields, said)

    def _digest(self, answer: Recording) -> bytes:
        payload = answer.payload
        if payload is answer.reply.body and answer.body_sha256 is not None:
            return answer.body_sha256
        return record.digest(payload)

    def _same(self, answer: Recording, payload_sha256: bytes) -> HeldBody | None:
        """The capture whose body this answer repeats, or confirms."""
        original = answer.original
        if original is not None and (
            original.is_document if answer.is_bare else original.payload_sha256 == payload_sha256
        ):
            return held(original)
        return None if answer.is_bare else self._bodies.get(answer.crawl_id, payload_sha256)


def _fit(text: str) -> str:
    """Text as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:60].strip(".-") or "crawl"


# The rows that an answer's record leaves: its line of the index, and its capture. Pure.


def index_line(answer: Recording, name: str, offset: int, *, is_revisit: bool, digest: bytes, length: int) -> bytes:
    """The index line of a response or a revisit."""
    content_type = answer.reply.noted("content-type")
    return record.line(
        IndexEntry(
            url=answer.url,
            moment=answer.fetched_at,
            mime=record.REVISIT if is_revisit else record.media_type(content_type),
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
