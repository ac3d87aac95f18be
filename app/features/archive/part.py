"""Puts answers into the archive, by the hooks: before their results are written.

A process makes its archive from the settings. What a page or a sitemap brought is archived after it was read: only then
is it known what may be kept of it. `noarchive`, and opt-outs in crawls that honour them, leave a note and no body. What
was not read as a page (an error, a redirect, a document that no reader survives) has only its header to say so.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import structlog
from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.page import preferences
from app.crawl.page.attempt import Attempt
from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.part import SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import ArchiveMissing, ServiceError
from app.features.archive import keep, retention
from app.features.archive import read as archived
from app.features.archive.keep import ARCHIVE, CAPTURES, UNSTORED, keeper_of
from app.features.archive.keeper import ArchiveKeeper
from app.features.archive.place import ArchivePlace
from app.features.archive.recording import Recording
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.hooks import Opening, answers
from app.model import CaptureKind, Cause, Header, Outcome, Reply, RequestKind
from app.policy import tdm
from app.store import captures, db
from app.store.fetches import Fetch
from app.store.url_rows import Due, Result

_log = structlog.get_logger()


@answers
def steps() -> Sequence[SettleStep]:
    return [UNSTORED, CAPTURES]


@answers
def resources(opening: Opening) -> Mapping[str, object]:
    """The process's archive, opened; nothing where it keeps none."""
    keeper = make_keeper(opening.settings, engine=opening.engine, worker=opening.name, make_room=opening.make_room)
    if keeper is None:
        return {}
    keeper.start()
    return {ARCHIVE: keeper}


@answers
def check(worker: Worker) -> None:
    """Raises ArchiveStopped while the archive cannot be written."""
    keeper = keeper_of(worker)
    if keeper is not None:
        keeper.check()


@answers
def picked(visits: Sequence[Visit], tx: Connection) -> None:
    keep.find_originals([visit for visit in visits if keeper_of(visit.worker) is not None], tx)


@answers
def before_fetch(visit: Visit, due: Due) -> None:
    keep.check(visit, due)


@answers
def keeps_coded(visit: Visit, due: Due | None) -> bool:
    return keep.holds(visit, due)


@answers
def wants_whole(visit: Visit, due: Due) -> bool:
    return is_missing(visit, due)


@answers
def document_before(visit: Visit, attempt: Attempt) -> Reply | None:
    return kept_before(visit, attempt)


@answers
def answered(visit: Visit, attempt: Attempt) -> None:
    archive_answer(visit, attempt)


@answers
def rules_answered(visit: Visit, reply: Reply, is_known: bool) -> None:
    keep.keep_rules(visit, reply, is_known=is_known)


@answers
def before_settle(visits: Sequence[Visit]) -> None:
    keep.store(visits)


@answers
def settled(batches: Sequence[Batch], settling: Settling) -> None:
    keep.committed(batches, settling)


@answers
def fenced(batch: Batch) -> None:
    keep.forget(batch)


@answers
def closed(worker: Worker) -> None:
    keeper = keeper_of(worker)
    if keeper is not None:
        keeper.close()


def make_keeper(
    settings: Settings, *, engine: Engine, worker: str, make_room: Callable[[], object] = lambda: None
) -> ArchiveKeeper | None:
    """The archive of a worker process; None where the text is not kept either: lean has none.

    make_room: as of `ArchiveKeeper`
    """
    if not settings.keep_text:
        return None
    place = ArchivePlace(settings.home, settings.archive)
    about = {
        "software": f"Tiptoe/{version('tiptoe')}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "robots": "RFC 9309",
        "hostname": place.node,
    }
    if settings.contact is not None:
        about["operator"] = settings.contact
    writer = ArchiveWriter(
        engine,
        place.folder,
        node=place.node,
        worker=worker,
        limits=SegmentLimits(settings.archive_segment_bytes, settings.archive_segment_s),
        about=about,
    )
    return ArchiveKeeper(
        writer,
        place,
        reserve_bytes=settings.archive_reserve_bytes,
        spool_bytes=settings.archive_spool_bytes,
        clean=lambda: retention.clean(engine, settings),
        make_room=make_room,
    )


def is_missing(visit: Visit, due: Due) -> bool:
    """Says whether the archive lacks the body that a 304 would confirm; then the request has no validators."""
    if not keep.holds(visit, due):
        return False
    original = keep.original_of(visit.picked, due)
    if original is not None and original.is_document:
        return False
    return may_be_kept(due, due.directives, due.opt_out)


def archive_answer(visit: Visit, attempt: Attempt) -> None:
    """Archive an attempt that has its result in the batch. Raises ArchiveStopped, ServiceError."""
    due, reply = attempt.due, attempt.reply
    if reply.status is None or attempt.logged is None or not keep.holds(visit, due):
        return
    result = attempt.brought.result
    kind = _kind(attempt)
    is_read = result is not None and kind is CaptureKind.PAGE and result["cause"] != Cause.UNREADABLE
    keeps_body = _is_allowed(visit.worker, visit.lease, visit.origins, attempt, result if is_read else None)
    body = attempt.sink if reply.sunk_bytes else None
    made = partial(
        _recording,
        attempt,
        attempt.logged,
        kind,
        result,
        charset=_charset(attempt) if is_read else None,
        text_sha256=result["text_sha256"] if result and is_read else None,
        keeps_body=keeps_body,
        original=keep.original_of(visit.picked, due),
        to_render=is_read and attempt.brought.awaits,
    )
    keep.keep(visit, made, reply, attempt.logged, body=body)


def _recording(attempt: Attempt, row: Fetch, kind: CaptureKind, result: Result | None, **known: Any) -> Recording:
    """The answer, with what we decided about it.   known: of its fields, what neither the row nor the result says"""
    due, reply = attempt.due, attempt.reply
    return keep.of_request(
        row,
        reply,
        kind,
        due.crawl_id,
        body=attempt.sink if reply.sunk_bytes else None,
        body_sha256=result["body_sha256"] if result and kind is CaptureKind.SITEMAP else attempt.body_sha256,
        notes={**_notes(due, result), "kept": None if known["keeps_body"] else "no: its owner asks for that"},
        **known,
    )


def may_be_kept(due: Due, directives: str | None, opt_out: str | None) -> bool:
    """Whether the owner of a page lets its body be kept, by what is on record for it."""
    reserved = due.honour_opt_outs and tdm.was_reserved(opt_out)
    return not reserved and "noarchive" not in (directives or "").split(", ")


def _kind(attempt: Attempt) -> CaptureKind:
    if attempt.outcome is Outcome.REDIRECT:
        return CaptureKind.REDIRECT
    confirms = attempt.outcome is Outcome.UNCHANGED and attempt.due.outcome != Outcome.UNWANTED
    if attempt.outcome is not Outcome.PAGE and not confirms:
        return CaptureKind.ERROR
    return CaptureKind.SITEMAP if attempt.due.kind == RequestKind.SITEMAP else CaptureKind.PAGE


def _is_allowed(worker: Worker, lease: Lease, origins: HostOrigins, attempt: Attempt, result: Result | None) -> bool:
    """Whether the body may be kept.   result: of a page that was read; None: only the header can say"""
    if result is not None:
        return may_be_kept(attempt.due, result["directives"], result["opt_out"])
    said = preferences.of_header(worker, lease, origins, attempt.due, attempt.url, attempt.reply)
    return not said.noarchive and may_be_kept(attempt.due, None, said.opt_out)


def _charset(attempt: Attempt) -> str | None:
    """The encoding that the page was read in; not known here of a page that is kept out of `pages`."""
    reading = attempt.brought.reading
    return reading.page["charset"] if reading is not None and reading.page is not None else None


def _notes(due: Due, result: Result | None) -> dict[str, object]:
    if result is None:
        return {"hopsFromSeed": due.depth}
    decided = {name: result[name] for name in ("state", "cause", "detail", "directives", "opt_out")}
    return {"hopsFromSeed": due.depth, **decided}


def kept_before(visit: Visit, attempt: Attempt) -> Reply | None:
    """The document that the URL had before, as it was answered; None: the archive does not hold it."""
    due, worker = attempt.due, visit.worker
    try:
        with db.transaction(worker.engine) as tx:
            found = captures.of_url(tx, host_id=due.host_id, crawl_id=due.crawl_id, key=due.key)
        pages = [each for each in found if each.kind == CaptureKind.PAGE and each.body_sha256 == due.known.body_sha256]
        answer = archived.read(worker.engine, worker.settings, pages[0]) if pages else None
    except (ArchiveMissing, ServiceError) as error:
        _log.info("page.not_compared", url=attempt.url.text, error=str(error))
        return None
    if answer is None or not answer.body:
        return None
    headers, now = {Header.CONTENT_TYPE.value: answer.header("content-type") or ""}, visit.now()
    return Reply(status=answer.status, started_s=now, ended_s=now, headers=headers, body=answer.body)
