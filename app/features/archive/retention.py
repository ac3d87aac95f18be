"""Deletes segments: whole ones, of one crawl each, and the pointers with them.

Before segments go, what pages and revisits that stay still need is copied to a new segment: the last capture of each
page, and the bodies that revisits refer to. Rows change in one transaction, files go after it; what a crash leaves is
deleted later.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.features.archive import segment
from app.features.archive.place import ArchivePlace, remove
from app.features.archive.read import Archive
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.model import Capture, Segment, SegmentState
from app.store import captures, db, segments
from app.store.captures import Moved

_log = structlog.get_logger()
Stays = Callable[..., list[Capture]]
AT_ONCE = 20  # segments in one transaction


class Pruned(NamedTuple):
    """The extent of a pruning.   segments, bytes: that went;   copied: captures that were copied forward before"""

    segments: int
    bytes: int
    copied: int


def prune(engine: Engine, settings: Settings, *, days: int, crawl_id: int | None = None) -> Pruned:
    """Delete closed segments that are older than this and within reach: here, or in the object store.

    Raises ServiceError, ArchiveMissing where a record that must be kept cannot be read: nothing of its lot is deleted
    then.
    """
    place = ArchivePlace(settings.home, settings.archive)
    total = Pruned(0, 0, 0)
    with db.transaction(engine) as tx:
        ids = segments.crawls(tx) if crawl_id is None else [crawl_id]
    for id in ids:
        for lot in _lots(engine, place, id, days):
            pruned = _prune(engine, settings, place, lot)
            total = Pruned(*(sum(pair) for pair in zip(total, pruned, strict=True)))
    sweep(engine, place)
    return total


def erase(engine: Engine, settings: Settings, *, crawl_id: int | None = None) -> Pruned:
    """Rewrite closed segments within reach without the records of pages that their owners withdrew.

    A record whose body another page repeats stays for that one. Raises as `prune` does.
    """
    place = ArchivePlace(settings.home, settings.archive)
    total = Pruned(0, 0, 0)
    with db.transaction(engine) as tx:
        ids = segments.crawls(tx) if crawl_id is None else [crawl_id]
    for id in ids:
        with db.transaction(engine) as tx:
            found = segments.with_withdrawn(tx, id)
        for lot in _near(place, found):
            pruned = _prune(engine, settings, place, lot, captures.not_withdrawn)
            total = Pruned(*(sum(pair) for pair in zip(total, pruned, strict=True)))
    sweep(engine, place)
    return total


def clean(engine: Engine, settings: Settings) -> None:
    """Delete what is older than the settings say, and what is left of segments that are gone.

    Raises as `prune` does.
    """
    if settings.archive_keep_days:
        prune(engine, settings, days=settings.archive_keep_days)
    else:
        sweep(engine, ArchivePlace(settings.home, settings.archive))


def delete_crawl(engine: Engine, settings: Settings, crawl_id: int) -> None:
    """Delete all of a crawl's captures and segments.

    Segments on other nodes' disks are deleted there. Raises ServiceError.
    """
    with db.transaction(engine) as tx:
        segments.mark_crawl_gone(tx, crawl_id)
    while True:
        with db.transaction(engine) as tx:
            if not captures.drop_crawl(tx, crawl_id):
                break
    sweep(engine, ArchivePlace(settings.home, settings.archive))


def sweep(engine: Engine, place: ArchivePlace) -> int:
    """Delete the files here, and the objects, of segments that are gone. Returns how many. Raises ServiceError."""
    found = 0
    for path in sorted(place.folder.rglob(f"*{segment.WARC}")):
        with db.transaction(engine) as tx:
            row = segments.by_name(tx, str(path.relative_to(place.folder)))
        if row is not None and row.state == SegmentState.GONE:
            remove(path)
            found += 1
    return found + _sweep_store(engine, place)


def _sweep_store(engine: Engine, place: ArchivePlace) -> int:
    if place.remote is None:
        return 0
    found = 0
    while True:
        with db.transaction(engine) as tx:
            left = segments.left_over(tx)
        for each in left:
            place.remote.delete(str(segment.index_of(Path(each.name))))
            place.remote.delete(each.name)
            with db.transaction(engine) as tx:
                segments.taken_away(tx, each.id)
            found += 1
        if not left:
            return found


def _lots(engine: Engine, place: ArchivePlace, crawl_id: int, days: int) -> Iterator[list[Segment]]:
    """Segments of a crawl that are old enough, and within reach, a few at a time."""
    with db.transaction(engine) as tx:
        old = segments.expired(tx, crawl_id=crawl_id, days=days)
    return _near(place, old)


def _near(place: ArchivePlace, found: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Those of these segments that are within reach, a few at a time."""
    near = [each for each in found if (place.folder / each.name).exists() or _is_in(place, each)]
    for at in range(0, len(near), AT_ONCE):
        yield near[at : at + AT_ONCE]


def _is_in(place: ArchivePlace, each: Segment) -> bool:
    return each.state == SegmentState.UPLOADED and place.remote is not None


def _prune(
    engine: Engine, settings: Settings, place: ArchivePlace, lot: Sequence[Segment], stays: Stays = captures.live
) -> Pruned:
    """Delete a few segments of one crawl.   stays: the captures of them that are copied forward"""
    ids, crawl_id = [each.id for each in lot], lot[0].crawl_id
    with db.transaction(engine) as tx:
        live = stays(tx, crawl_id=crawl_id, segment_ids=ids)
    moved = _copy(engine, settings, place, live)
    with db.transaction(engine) as tx:
        still = stays(tx, crawl_id=crawl_id, segment_ids=ids) if segments.lock(tx, ids) == ids else None
        if still is None or {each.id for each in still} - {each["id"] for each in moved}:
            return Pruned(0, 0, 0)  # another process was quicker, or a settle came between: next time
        captures.move(tx, moved)
        captures.drop(tx, ids)
        segments.mark_gone(tx, ids)
    _log.info("archive.pruned", segments=[each.name for each in lot], copied=len(moved))
    return Pruned(len(lot), sum(each.bytes or 0 for each in lot), len(moved))


def _copy(engine: Engine, settings: Settings, place: ArchivePlace, live: Sequence[Capture]) -> list[Moved]:
    """Copy records to a new segment, as they are. Returns where each is now."""
    if not live:
        return []
    archive = Archive(engine, settings)
    writer = ArchiveWriter(
        engine,
        place.folder,
        node=place.node,
        worker=f"{place.node}:{os.getpid()}-kept",
        limits=SegmentLimits(settings.archive_segment_bytes, settings.archive_segment_s),
        about={"software": "Tiptoe", "description": "captures of older segments, copied when these were deleted"},
    )
    try:
        moved: list[Moved] = []
        for each in live:
            id, at = writer.copy(each.crawl_id, archive.member(each))
            moved.append({"crawl_id": each.crawl_id, "id": each.id, "segment_id": id, "at_offset": at})
        writer.sync_all()
        return moved
    finally:
        writer.close_all()
