"""Puts answers into the archive: writes their records in the visit's thread; their rows wait in the batch.

    keep (after an answer was read) ▶ store (before a settle: all records, and a sync) ▶ the settle's rows

Small answers wait in the batch: to write one after another takes two thirds of the CPU that it takes between fetches,
which leave the caches cold. A large one is written at once, with those before it.

While the archive is stopped nothing is fetched. An answer that could not be written stays in the batch, and nothing of
the batch is settled before it is.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection

from app.crawl.state.batch import Batch
from app.crawl.state.part import SettlePart
from app.crawl.state.picked import Picked
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import ArchiveStopped, TiptoeError
from app.features.archive.keeper import ArchiveKeeper
from app.features.archive.record import Payload
from app.features.archive.recording import Recording, payload_of
from app.model import Capture, CaptureKind, Reply, VisitEnding
from app.store import captures, db
from app.store.captures import Original
from app.store.fetches import Fetch
from app.store.url_rows import Due

_log = structlog.get_logger()
_Unstored = tuple[Callable[[], Recording], Fetch]
LARGEST_WAITING_BYTES = 64 * 1024  # of an answer's body; a batch of 50 holds 3 MiB at most, and as much as received
ARCHIVE = "archive"  # the worker's resource, and the visit's notes
_Originals = dict[tuple[int, bytes], Original]  # by crawl and URL key: the capture that holds the last body


def _none_is_left(settling: Settling) -> None:
    assert not settling.rows(UNSTORED), "nothing is settled before its answers are in the archive"


UNSTORED: SettlePart[_Unstored] = SettlePart(
    name="unstored", rank=0, write=_none_is_left, words=lambda row: row[1]["url"], stays=True
)  # answers that are to be archived
CAPTURES: SettlePart[Capture] = SettlePart(
    name="captures",
    rank=80,
    write=lambda settling: captures.add(settling.tx, settling.rows(CAPTURES)),
    words=lambda row: row.url,
    stays=True,
)  # brings: their ids, by segment and offset


def keeper_of(worker: Worker) -> ArchiveKeeper | None:
    """The process's archive; None: it keeps nothing, as in lean."""
    keeper: ArchiveKeeper | None = worker.resources.get(ARCHIVE)
    return keeper


def holds(visit: Visit, due: Due | None) -> bool:
    """Whether answers of the crawl that this URL is of are kept."""
    return due is not None and visit.picked.crawls[due.crawl_id].archive and keeper_of(visit.worker) is not None


def find_originals(visits: Sequence[Visit], tx: Connection) -> None:
    """Find the last bodies of URLs that were fetched before: what does not change becomes a revisit of them."""
    found = captures.originals(
        tx,
        [
            (visit.host_id, due.crawl_id, due.key)
            for visit in visits
            for due in visit.picked.due
            if visit.picked.crawls[due.crawl_id].archive and due.fetched_at is not None
        ],
    )
    for visit in visits:
        visit.picked.notes[ARCHIVE] = {
            (crawl_id, key): each for (host_id, crawl_id, key), each in found.items() if host_id == visit.host_id
        }


def original_of(picked: Picked, due: Due) -> Original | None:
    """The capture that holds the last body of a picked URL."""
    found: _Originals = picked.notes.get(ARCHIVE, {})
    return found.get((due.crawl_id, due.key))


def check(visit: Visit, due: Due) -> None:
    """Raises ArchiveStopped where the answer could not be kept."""
    archive = keeper_of(visit.worker)
    if archive is None or not visit.picked.crawls[due.crawl_id].archive:
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
    archive = keeper_of(visit.worker)
    assert archive is not None, "the caller asks first"
    visit.batch.add(UNSTORED, (made, row))
    if not _may_wait(reply, body):
        _store(archive, visit)


def store(visits: Sequence[Visit]) -> None:
    """Make sure that what the batches point to is on the disk. Raises ArchiveStopped, ServiceError."""
    archive = keeper_of(visits[0].worker)
    if archive is None:
        return
    for visit in visits:
        _store(archive, visit)
    rows = [row for visit in visits for row in visit.batch.rows(CAPTURES)]
    if rows:
        with visits[0].worker.stays.seats.left():
            archive.sync(rows)


def committed(batches: Sequence[Batch], settling: Settling) -> None:
    """Remember the bodies whose rows are committed."""
    archive = keeper_of(settling.visits[0].worker)
    if archive is not None:
        rows = [row for batch in batches for row in batch.rows(CAPTURES)]
        archive.committed(rows, settling.brought.get(CAPTURES, {}))


def forget(batch: Batch) -> None:
    """Drop the pointers of a batch that the fence refuses: what was written of it is records without a row."""
    batch.parts.pop(UNSTORED, None)
    batch.parts.pop(CAPTURES, None)
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
    if due is None or not holds(visit, due) or reply.status is None:
        return
    row = visit.turn.logged
    assert row is not None, "an answer has its row"
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
    unstored = visit.batch.rows(UNSTORED)
    while unstored:
        made, fetch = unstored[0]
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
        del unstored[0]
        if row is not None:
            visit.batch.add(CAPTURES, row)
            fetch["segment_id"], fetch["at_offset"], fetch["length"] = (
                row.segment_id,
                row.at_offset,
                row.length,
            )
