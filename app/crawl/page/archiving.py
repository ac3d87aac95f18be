"""Archives what a page or a sitemap brought, after it was read: only then is it known what may be kept of it.

`noarchive`, and opt-outs in crawls that honour them, leave a note and no body. What was not read as a page (an error, a
redirect, a document that no reader survives) has only its header to say so.
"""

from functools import partial
from typing import Any

from app.archive.recording import Recording
from app.crawl.page import preferences
from app.crawl.page.attempt import Attempt
from app.crawl.request import archive
from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.picked import Picked
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.model import CaptureKind, Cause, Outcome, RequestKind
from app.policy import tdm
from app.store.fetches import Fetch
from app.store.url_rows import Due, Result


def is_missing(worker: Worker, picked: Picked, due: Due) -> bool:
    """Says whether the archive lacks the body that a 304 would confirm; then the request has no validators."""
    if not archive.holds(worker, due):
        return False
    original = picked.originals.get((due.crawl_id, due.key))
    if original is not None and original.is_document:
        return False
    return may_be_kept(due, due.directives, due.opt_out)


def archive_answer(visit: Visit, attempt: Attempt) -> None:
    """Archive an attempt that has its result in the batch. Raises ArchiveStopped, ServiceError."""
    due, reply = attempt.due, attempt.reply
    if reply.status is None or attempt.logged is None or not archive.holds(visit.worker, due):
        return
    result = _result(visit.batch, due)
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
        charset=_charset(visit.batch, due) if is_read else None,
        text_sha256=result["text_sha256"] if result and is_read else None,
        keeps_body=keeps_body,
        original=visit.picked.originals.get((due.crawl_id, due.key)),
        to_render=is_read and _is_to_render(visit.batch, due),
    )
    archive.keep(visit, made, reply, attempt.logged, body=body)


def _recording(attempt: Attempt, row: Fetch, kind: CaptureKind, result: Result | None, **known: Any) -> Recording:
    """The answer, with what we decided about it.   known: of its fields, what neither the row nor the result says"""
    due, reply = attempt.due, attempt.reply
    return archive.of_request(
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


def _is_to_render(batch: Batch, due: Due) -> bool:
    """Whether the page was put up for a browser just now."""
    row = batch.renders[-1] if batch.renders else None
    return row is not None and (row["crawl_id"], row["key"]) == (due.crawl_id, due.key)


def _result(batch: Batch, due: Due) -> Result | None:
    """The result of this URL, which is the last one; a host that was given up has none."""
    results = batch.results
    if results and (results[-1]["crawl_id"], results[-1]["key"]) == (due.crawl_id, due.key):
        return results[-1]
    return None


def _charset(batch: Batch, due: Due) -> str | None:
    """The encoding that the page was read in; not known here of a page that is kept out of `pages`."""
    page = batch.readings[-1].page if batch.readings else None
    return page["charset"] if page is not None and (page["crawl_id"], page["key"]) == (due.crawl_id, due.key) else None


def _notes(due: Due, result: Result | None) -> dict[str, object]:
    if result is None:
        return {"hopsFromSeed": due.depth}
    decided = {name: result[name] for name in ("state", "cause", "detail", "directives", "opt_out")}
    return {"hopsFromSeed": due.depth, **decided}
