"""Isolation: what may have killed a worker is counted before it is fetched, and read by a process that may die of it.

A host comes into it when a taken lease ran out, for thrice the URLs that the visit can have had in hand (50 at most, 9
at 1 s delay); a URL when it has ended a reader before. So a document that crashes, hangs or fills its parser costs one
worker at most. How its reader ended is its cause. Where only the document can be to blame, it is quarantined at once.
Where a busy or full machine may be, it is tried again in isolation: `attempts_max` times with the visit that was lost.
What kills the worker all the same (in the sender, say, or where no process can be started) is quarantined after as many
more visits. A visit that ended because Postgres did is no death: what it counted is refunded.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import BinaryIO, Literal

import structlog

from app import plugins
from app.config import Settings
from app.config.settings import LEASE_MARGIN_S
from app.crawl.page.attempt import Attempt, Conclusion, conclude
from app.crawl.state.batch import Batch, most_in_hand
from app.crawl.state.lease import Lease
from app.crawl.state.picked import Picked
from app.crawl.state.visit import Visit, outlast
from app.crawl.state.worker import Worker
from app.errors import LeaseLost, ServiceError, is_ours, raised
from app.model import Cause, Header, Outcome, Page, RequestKind, VisitEnding
from app.parse.html.html import read as read_html
from app.parse.sitemap.sitemap import SitemapReading
from app.policy import backoff, media_type
from app.policy.lifecycle import UrlEvent
from app.sandbox.reader import Listing, PageOptions
from app.sandbox.readers import Death
from app.store import db, hosts, urls
from app.store.host_rows import HostPace
from app.store.url_rows import Due, Result
from app.words import counted

_log = structlog.get_logger()
Unread = Death | Literal["busy"]


def longest(settings: Settings, delay_s: float) -> int:
    """For how many URLs a host is in isolation. Those of the lost visit are drawn again soon, but not always first."""
    return min(3 * most_in_hand(settings, delay_s), settings.settle_urls)


def holds(pace: HostPace, due: Due) -> bool:
    """Whether the URL is fetched in isolation."""
    return pace.isolate > 0 or due.failures.parse > 0


def count(visit: Visit, due: Due) -> int | None:
    """Attempts with this one, which is spent now. Raises LeaseLost.

    None: not to be fetched. Either somebody took it out of the queue, or it has killed its last visit.
    """
    if due.failures.parse >= visit.worker.settings.attempts_max:
        detail = f"{counted(due.failures.parse, 'visit')} died while fetching or reading it"
        conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.EXHAUSTED, cause=Cause.POISON, detail=detail))
        return None
    visit.pace.isolated_one()
    with db.transaction(visit.worker.engine) as tx:
        if hosts.lock_leased(tx, host_id=visit.host_id, token=visit.lease.token) is None:
            raise LeaseLost(visit.lease.host)
        attempts = urls.count_attempt(tx, host_id=visit.host_id, crawl_id=due.crawl_id, key=due.key)
    visit.batch.counted = due
    return attempts


def refund_later(worker: Worker, host_id: int, batch: Batch) -> None:
    """Note an attempt to refund, now or when Postgres serves again: the visit ends, and no document is to blame.

    The request could not be sent, or Postgres is away.
    """
    due, batch.counted = batch.counted, None
    if due is not None:
        worker.reading.refunds.append((host_id, due.crawl_id, due.key))


def cancel_refund(worker: Worker, results: Iterable[Result]) -> None:
    """These were written after all, attempts and failures with them: nothing is refunded for their URLs."""
    for result in results:
        with suppress(ValueError):
            worker.reading.refunds.remove((result["host_id"], result["crawl_id"], result["key"]))


def refund(worker: Worker) -> None:
    """Refund what is due. It needs no lease: one attempt less, of a URL that nobody has settled since."""
    while worker.reading.refunds:
        host_id, crawl_id, key = attempt = worker.reading.refunds.popleft()
        try:
            with db.transaction(worker.engine) as tx:
                urls.uncount_attempt(tx, host_id=host_id, crawl_id=crawl_id, key=key)
        except ServiceError:
            worker.reading.refunds.append(attempt)
            return


def page(worker: Worker, lease: Lease, attempt: Attempt) -> Page | Unread:
    """The document, read here, or apart by a reader. Raises LeaseLost.

    Apart: in isolation, by a plugin, or where it is too large for the room here; that one is read here all the same
    where the machine has no reader for it in time.
    """
    settings, reply = worker.settings, attempt.reply
    options = PageOptions(
        content_type=reply.header(Header.CONTENT_TYPE),
        content_language=reply.header("content-language"),
        token=settings.product_token.lower(),
        max_links=settings.max_links,
        want_text=settings.keep_text,
        want_language=False,  # `read.detect_languages`
    )
    by = _plugin_of(worker, attempt)
    if attempt.isolated or by is not None:
        found = _apart(worker, lease, reply.body, options, by)
        if found != "none":
            return found
        if by is not None:  # it is read nowhere else
            return "busy"
    gate = worker.reading.memory_gate
    may_wait = partial(may_wait_for_room, worker, lease, worker.monotonic() + gate.patience_s)
    with gate.reading(reply.body, may_wait=may_wait, waits=worker.stays.seats.left) as has_room:
        if not has_room:
            found = _apart(worker, lease, reply.body, options)
            if isinstance(found, Page) or (isinstance(found, Death) and found.is_proof):
                return found
        return read_html(reply.body, **options)


def _apart(
    worker: Worker, lease: Lease, body: bytes, options: PageOptions, by: tuple[str, str] | None = None
) -> Page | Unread | Literal["none"]:
    """The document, read by a reader. Raises LeaseLost.   by: a plugin and what of it reads it"""
    within_s = _within_s(worker, lease)
    with worker.stays.seats.left():
        return "busy" if within_s is None else worker.reading.readers.page(body, options, within_s=within_s, by=by)


def _plugin_of(worker: Worker, attempt: Attempt) -> tuple[str, str] | None:
    """The plugin, and its reader, for documents of this type; None: we read them."""
    names, reply = worker.settings.plugins, attempt.reply
    if not names:
        return None
    return plugins.reader_of(names, media_type.of(reply.header(Header.CONTENT_TYPE), reply.body))


def may_wait_for_room(worker: Worker, lease: Lease, until: float) -> bool:
    """Whether a document may wait for room in memory. Its lease is extended meanwhile, so that it can still be read and
    written then.

    False: it has waited until that monotonic second, Postgres is away, or the lease is lost: its settle finds that.
    """
    try:
        outlast(worker, lease, 2 * worker.reading.memory_gate.look_s)
    except LeaseLost:
        return False
    except ServiceError as error:
        _log.warning("page.not_waiting", host=lease.host, error=str(error))
        return False
    return worker.monotonic() < until


def sitemap(worker: Worker, lease: Lease, attempt: Attempt, body: BinaryIO) -> SitemapReading | Listing | Unread:
    """A sitemap that was read."""
    if attempt.isolated:
        within_s = _within_s(worker, lease)
        with worker.stays.seats.left():
            found = "busy" if within_s is None else worker.reading.readers.sitemap(body, within_s=within_s)
        if found != "none":
            return found
        body.seek(0)
    return SitemapReading(body)


def unread(worker: Worker, batch: Batch, picked: Picked, attempt: Attempt, why: Unread) -> VisitEnding | None:
    """Deal with a document that was fetched and not read. Returns how the visit ends, None to go on."""
    due, settings, attempt = attempt.due, worker.settings, replace(attempt, is_unread=True)
    _uncount(batch, picked, attempt, is_failure=why != "busy")
    if why == "busy":
        conclude(batch, picked, due, Conclusion(UrlEvent.REQUEUED, attempt))
        return VisitEnding.READERS_BUSY
    times = due.failures.parse + 1
    _log.warning("page.killed_its_reader", url=attempt.url.text, cause=why.cause, said=why.said)
    if why.is_proof:
        conclude(batch, picked, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.UNREADABLE, detail=why.cause))
    elif times >= max(settings.attempts_max - 1, 1):  # the visit that was lost was the first try
        detail = f"{why.cause}, {times} times"
        conclude(batch, picked, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.UNREADABLE, detail=detail))
    else:
        rest_s = backoff.url_retry_s(times, worker.rng)
        end = Conclusion(UrlEvent.FAILED, attempt, due_s=rest_s, cause=Cause.UNREADABLE, detail=why.cause)
        conclude(batch, picked, due, end)
    return None


def guarded(
    batch: Batch, picked: Picked, attempt: Attempt, act: Callable[[], VisitEnding | None]
) -> VisitEnding | None:
    """Act on an answer. An exception ends its URL, with the cause; what it had put into the batch is taken out again.

    Returns how the visit ends, None to go on. Errors of ours are raised, and blame no URL (app.errors.is_ours).
    """
    mark, unfetched = batch.mark(), picked.unfetched
    try:
        return act()
    except Exception as error:
        if is_ours(error):
            raise
        _log.exception("page.crashed", url=attempt.url.text)
        batch.back_to(mark)
        picked.unfetched = unfetched
        _take_back(batch, picked, attempt)
        _uncount(batch, picked, attempt, is_failure=True)
        end = Conclusion(
            UrlEvent.EXHAUSTED,
            replace(attempt, is_unread=True),
            cause=Cause.UNREADABLE,
            detail=raised("reading it", error),
        )
        conclude(batch, picked, attempt.due, end)
        return None


def guarded_whole(batch: Batch, picked: Picked, due: Due, act: Callable[[], VisitEnding | None]) -> VisitEnding | None:
    """Take a URL through its visit, as `guarded` acts on its answer: from the gate on, whether it was asked for or not.

    Its requests stay in the batch's log. They were made.
    """
    mark, unfetched = batch.mark(), picked.unfetched
    try:
        return act()
    except Exception as error:
        if is_ours(error):
            raise
        _log.exception("page.crashed", url=due.url)
        batch.back_to(mark)
        picked.unfetched = unfetched
        batch.tally(due.crawl_id).failed += 1
        end = Conclusion(UrlEvent.EXHAUSTED, cause=Cause.UNREADABLE, detail=raised("visiting it", error))
        conclude(batch, picked, due, end)
        return None


def _take_back(batch: Batch, picked: Picked, attempt: Attempt) -> None:
    """Take back the result of a URL that was read, and could not be archived."""
    brought = attempt.brought
    others = [row for row in batch.results if row is not brought.result]
    if len(others) == len(batch.results):
        return
    batch.results, brought.result = others, None
    if brought.reading is not None:
        brought.reading.page = None
    if attempt.due.fetched_at is None:
        batch.tallies.left -= 1
        picked.unfetched += 1


def _uncount(batch: Batch, picked: Picked, attempt: Attempt, *, is_failure: bool) -> None:
    """Count an answer that was not read as a failure; a page was counted as one that was brought."""
    tally = batch.tally(attempt.due.crawl_id)
    was_no_failure = attempt.outcome.brought_page or attempt.outcome in {Outcome.REDIRECT, Outcome.UNWANTED}
    tally.failed += is_failure and was_no_failure
    if attempt.due.kind == RequestKind.PAGE and attempt.outcome.brought_page:
        tally.pages -= 1
        picked.use_page(attempt.due.crawl_id, -1)


def _within_s(worker: Worker, lease: Lease) -> float | None:
    """Seconds that a reader may take, so that the visit can still write what came of it. Raises LeaseLost.

    None: Postgres is away. The answer is counted already, and has to come to an end that takes it back: it is unread.
    """
    try:
        outlast(worker, lease, worker.reading.readers.patience_s)
    except ServiceError as error:
        _log.warning("page.unread", host=lease.host, error=str(error))
        return None
    return lease.left_s() - LEASE_MARGIN_S
