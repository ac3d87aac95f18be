"""Verifies the archive: every record's digests, and pointers both ways, between the rows and the records.

A record without a row is legal: its visit was fenced. A row without a record is a flaw, and so is a digest that is
wrong.
"""

import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import UUID

from sqlalchemy import Engine

from app.config import Settings
from app.errors import ArchiveMissing
from app.features.archive import record, recording, scan
from app.features.archive.place import ArchivePlace
from app.features.archive.scan import BrokenRecord, FoundRecord
from app.features.archive.segment import OPEN
from app.model import Capture, CaptureKind, Segment, SegmentState
from app.store import captures, db, segments


class Flaw(NamedTuple):
    """Something that is wrong.   segment: its name;   what: a phrase"""

    segment: str
    what: str


@dataclass(slots=True, kw_only=True)
class Verification:
    """The findings of a verification.

    segments, records, captures   that were looked at
    without_row  responses, revisits and rendered documents that no row points to
    elsewhere    names of segments that are on other nodes' disks
    """

    segments: int = 0
    records: int = 0
    captures: int = 0
    without_row: int = 0
    elsewhere: list[str] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)


def verify(engine: Engine, settings: Settings, crawl_id: int | None) -> Verification:
    """Verify the segments of a crawl, or of all, that are here or in the object store. Raises ServiceError."""
    place, verdict = ArchivePlace(settings.home, settings.archive), Verification()
    for each in _segments(engine, crawl_id):
        if each.state != SegmentState.GONE:
            _verify(engine, place, each, verdict)
    with db.transaction(engine) as tx:
        for id in segments.crawls(tx) if crawl_id is None else [crawl_id]:
            lost = captures.dangling(tx, crawl_id=id)
            verdict.flaws += [Flaw(f"capture {each.id}", "what it refers to has no row") for each in lost]
    return verdict


def _segments(engine: Engine, crawl_id: int | None) -> Iterator[Segment]:
    after = 0
    while True:
        with db.transaction(engine) as tx:
            found = segments.of_crawl(tx, crawl_id, after=after)
        if not found:
            return
        after = found[-1].id
        yield from found


def _verify(engine: Engine, place: ArchivePlace, each: Segment, verdict: Verification) -> None:
    """One segment."""
    with tempfile.TemporaryDirectory(prefix="tiptoe-verify-") as folder:
        try:
            file = _file(place, each, Path(folder))
        except ArchiveMissing as error:
            verdict.flaws.append(Flaw(each.name, str(error).removeprefix(f"{each.name}: ")))
            return
        except OSError as error:
            verdict.flaws.append(_unread(each, error))
            return
        if file is None:
            verdict.elsewhere.append(each.name)
            return
        with file:
            _compare(engine, each, file, verdict)


def _file(place: ArchivePlace, each: Segment, folder: Path) -> BinaryIO | None:
    """The segment's file, here or fetched; None where it is on another node. Raises ArchiveMissing, ServiceError."""
    for name in (each.name, f"{each.name}{OPEN}", each.name):
        try:
            return open(place.folder / name, "rb")  # the caller closes it
        except FileNotFoundError:
            continue
    if each.state == SegmentState.UPLOADED:
        if place.remote is None:
            return None
        place.remote.fetch(each.name, folder / "segment")
        return open(folder / "segment", "rb")
    if each.node != place.node:
        return None
    raise ArchiveMissing(each.name, f"is not in {place.folder}")


def _compare(engine: Engine, each: Segment, file: BinaryIO, verdict: Verification) -> None:
    """The rows of a segment, which are read first: an open one grows meanwhile, and its end may not be whole yet."""
    rows = _rows(engine, each.id)
    with db.transaction(engine) as tx:
        logged, sources = segments.pointed_at(tx, each.id), captures.sources(tx, each.id)
    verdict.segments += 1
    verdict.captures += len(rows)
    records = _records(each, file, sorted({row.at_offset for row in rows} | {at for at, _ in logged}), verdict)
    for row in rows:
        if (wrong := _wrong(row, records.get(row.at_offset), sources)) is not None:
            verdict.flaws.append(Flaw(each.name, f"capture {row.id} of {row.url} {wrong}"))
    for at, length in sorted(logged):
        answer = records.get(at)
        if answer is None or not answer.is_answer or answer.length != length:
            verdict.flaws.append(Flaw(each.name, f"a request of the log points to byte {at}, where no answer is"))
    verdict.without_row += len(records.keys() - {row.at_offset for row in rows})


def _records(each: Segment, file: BinaryIO, starts: Sequence[int], verdict: Verification) -> dict[int, FoundRecord]:
    """The records that rows may point to, by their offsets.

    Behind one that is not whole it goes on where a row says that another begins.
    """
    records: dict[int, FoundRecord] = {}
    begun = 0
    while True:
        try:
            for found in scan.records(file, hashes=True):
                verdict.records += 1
                if found.is_answer or found.is_rendered:
                    records[found.offset] = found
                if (damage := found.damage()) is not None:
                    verdict.flaws.append(Flaw(each.name, f"byte {found.offset}: {damage}"))
            return records
        except OSError as error:
            verdict.flaws.append(_unread(each, error))
            return records
        except BrokenRecord as error:
            if each.state == SegmentState.OPEN:
                return records
            if error.at != begun or begun == 0:
                verdict.flaws.append(Flaw(each.name, str(error)))
            following = bisect_right(starts, error.at)
            if following == len(starts):
                return records
            file.seek(begun := starts[following])


def _unread(each: Segment, error: OSError) -> Flaw:
    return Flaw(each.name, f"cannot be read ({error.strerror or error})")


def _wrong(row: Capture, found: FoundRecord | None, sources: Mapping[int, UUID | None]) -> str | None:
    """How a row differs from the record that it points to; None: it does not."""
    is_rendered = row.kind == CaptureKind.RENDERED
    if found is None or found.is_rendered != is_rendered or found.length != row.length:
        return "points to no record of it"
    if found.fields.get("warc-target-uri") != recording.uri_of(row):
        return "points to no record of it"
    if row.record_id is not None and found.fields.get("warc-record-id") != record.named_id(row.record_id):
        return "points to another record than its own"
    source = sources.get(row.id)
    if source is not None and found.fields.get("warc-refers-to") != record.named_id(source):
        return "was not made from the answer that its record names"
    return None


def _rows(engine: Engine, segment_id: int) -> list[Capture]:
    rows: list[Capture] = []
    while True:
        with db.transaction(engine) as tx:
            at = rows[-1].at_offset + 1 if rows else 0
            found = captures.of_segment(tx, segment_id=segment_id, at=at, n=10_000)
        if not found:
            return rows
        rows += found
