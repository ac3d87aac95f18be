"""Puts answers into the archive: writes their records in the visit's thread; their rows wait in the batch.

    keep (after an answer was read) ▶ store (before a settle: all records, and a sync) ▶ the settle's rows

Small answers wait in the batch: to write one after another takes two thirds of the CPU that it takes between fetches,
which leave the caches cold. A large one is written at once, with those before it.

While the archive is stopped nothing is fetched. An answer that could not be written stays in the batch, and nothing of
the batch is settled before it is.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import structlog

from app.archive.keeper import ArchiveKeeper
from app.archive.record import Payload
from app.archive.recording import Recording, payload_of
from app.crawl.state.batch import Batch
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import ArchiveStopped, TiptoeError
from app.model import CaptureKind, Reply, VisitEnding
from app.store import captures, db
from app.store.captures import Original
from app.store.fetches import Fetch
from app.store.url_rows import Due

_log = structlog.get_logger()
LARGEST_WAITING_BYTES = 64 * 1024  # of an answer's body; a batch of 50 holds 3 MiB at most, and as much as received


def holds(worker: Worker, due: Due | None) -> bool:
    """Whether answers of the crawl that this URL is of are kept."""
    return due is not None and due.archive and worker.archive is not None


def check(visit: Visit, due: Due) -> None:
    """Raises ArchiveStopped where the answer could not be kept."""
    archive = visit.worker.archive
    if archive is None or not due.archive:
        return
    try:
        archive.check()
    except ArchiveStopped:
        visit.leaving = VisitEnding.ARCHIVE_STOPPED
        raise


def keep(visit: Visit, made: Callable[[], Recording], reply: Reply, row: Fetch, *, body: Payload | None = None) -> None:
    """Archive the answer to a request, a small one before the settle. Raises ArchiveStopped, ServiceError: then it is
    stored later.

    made: the answer, with others of the batch: that is cheaper than between two fetches, too
    row: of the log;   body: decoded, where it is not the reply's
    """
    archive = visit.worker.archive
    assert archive is not None, "the caller asks first"
    visit.batch.unstored.append((made, row))
    if not _may_wait(reply, body):
        _store(archive, visit)


def store(visits: Sequence[Visit]) -> None:
    """Make sure that what the batches point to is on the disk. Raises ArchiveStopped, ServiceError."""
    archive = visits[0].worker.archive
    if archive is None:
        return
    for visit in visits:
        _store(archive, visit)
    rows = [row for visit in visits for row in visit.batch.captures]
    if rows:
        with visits[0].worker.seats.left():
            archive.sync(rows)


def committed(worker: Worker, batches: Sequence[Batch], capture_ids: Mapping[tuple[int, int], int]) -> None:
    """Remember the bodies whose rows are committed.   capture_ids: by segment and offset"""
    if worker.archive is not None:
        worker.archive.committed([row for batch in batches for row in batch.captures], capture_ids)


def forget(batch: Batch) -> None:
    """Drop the pointers of a batch that the fence refuses: what was written of it is records without a row."""
    batch.unstored.clear()
    batch.captures.clear()
    for row in batch.fetches:
        row["segment_id"] = row["at_offset"] = row["length"] = None


def of_request(row: Fetch, reply: Reply, kind: CaptureKind, crawl_id: int, **known: Any) -> Recording:
    """The answer to the request of this row.   known: of its fields, what the row does not say; of its notes, further
    ones
    """
    said = {"outcome": row["outcome"], "fetchTimeMs": round(reply.total_ms), **known.pop("notes", {})}
    return Recording(
        host_id=row["host_id"],
        crawl_id=crawl_id,
        key=row["url_key"],
        url=row["url"],
        kind=kind,
        fetched_at=row["anchor"] + timedelta(seconds=row["start_s"]),
        reply=reply,
        notes=said,
        **{"body_sha256": row["body_sha256"], **known},
    )


def keep_rules(visit: Visit, reply: Reply, *, is_known: bool) -> None:
    """Archive an answer for a site's rules (robots.txt, tdmrep.json) with the crawl whose page they were asked for.

    is_known: it has been asked for before, and may be in the archive.
    """
    due = visit.picked.current
    if due is None or not holds(visit.worker, due) or reply.status is None:
        return
    row = visit.batch.fetches[-1]
    original = _original(visit.worker, row, due.crawl_id) if is_known else None
    keep(visit, partial(of_request, row, reply, CaptureKind.ROBOTS, due.crawl_id, original=original), reply, row)


def _original(worker: Worker, row: Fetch, crawl_id: int) -> Original | None:
    place = row["host_id"], crawl_id, row["url_key"]
    with db.transaction(worker.engine) as tx:
        return captures.originals(tx, [place]).get(place)


def _may_wait(reply: Reply, body: Payload | None) -> bool:
    """Whether an answer is small enough to be held until the settle."""
    payload = payload_of(reply, body)
    return isinstance(payload, bytes) and max(len(payload), len(reply.body)) <= LARGEST_WAITING_BYTES


def _store(archive: ArchiveKeeper, visit: Visit) -> None:
    batch = visit.batch
    while batch.unstored:
        made, fetch = batch.unstored[0]
        try:
            row = archive.append(made())
        except ArchiveStopped:
            visit.leaving = VisitEnding.ARCHIVE_STOPPED
            raise
        except (TiptoeError, OSError, MemoryError):
            raise
        except Exception:  # noqa: BLE001  # no record can be made of it: all others of the batch would wait for ever
            _log.exception("archive.left_out", url=fetch["url"])
            row = None
        del batch.unstored[0]
        if row is not None:
            batch.captures.append(row)
            fetch["segment_id"], fetch["at_offset"], fetch["length"] = (
                row.segment_id,
                row.at_offset,
                row.length,
            )
