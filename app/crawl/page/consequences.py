"""The consequences of a fetch for its URL, its host and the visit: one case for each outcome.

Failures of the URL or the host are in `app.crawl.page.failures`; `app.crawl.page.read` reads a page that came.
"""

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import assert_never

from app.config import Settings
from app.crawl.frontier import admit
from app.crawl.page import failures, isolation, read, recrawls, sitemaps
from app.crawl.page.attempt import Attempt, Conclusion, conclude
from app.crawl.request.learn import block, retry_after_s, soft_blocked
from app.crawl.robots import obtain
from app.crawl.state.batch import Batch
from app.crawl.state.picked import Picked
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.model import Cause, Header, Outcome, Refusal, RequestKind, Rest, RestReason, Url, VisitEnding
from app.model.page import NO_BYTES
from app.model.url import on_host
from app.policy import backoff
from app.policy.lifecycle import UrlEvent
from app.policy.outcome import TRANSIENT, is_empty, is_host_trouble, is_no_news, why_unwanted
from app.policy.url import file_ending

HOPS = 10  # promise P9


def act_on_outcome(visit: Visit, attempt: Attempt) -> VisitEnding | None:
    """Put the URL's result into the batch, and note what it says of the host.

    Returns how the visit ends, None to go on. Raises LeaseLost.
    """
    if attempt.outcome is Outcome.UNCHANGED and attempt.due.outcome == Outcome.UNWANTED:
        attempt = replace(attempt, outcome=Outcome.UNWANTED)  # unchanged, and still no page
    note(visit, attempt)
    if _is_asked_again(attempt):
        rest_s = backoff.url_retry_s(attempt.attempts, visit.worker.rng)
        conclude(visit.batch, visit.picked, attempt.due, Conclusion(UrlEvent.FAILED, attempt, due_s=rest_s, whole=True))
        return None
    return isolation.guarded(visit.batch, visit.picked, attempt, partial(_by_outcome, visit, attempt))


def note(visit: Visit, attempt: Attempt) -> None:
    """Count the URL, and note what its answer tells of the host: what holds however the document reads."""
    _tally(visit.batch, visit.picked, attempt)
    _note_ending(visit.picked, attempt)
    _note_host(visit, attempt)


def _is_asked_again(attempt: Attempt) -> bool:
    """Whether its answer says nothing of the document, and a second request may.

    That one has no validators where these were not understood; after a 408, 421 or 425 its connection is new.
    """
    if attempt.is_conditional and is_no_news(attempt.reply, attempt.outcome):
        return True
    return attempt.reply.status in TRANSIENT and not attempt.due.failures.network


def _by_outcome(visit: Visit, attempt: Attempt) -> VisitEnding | None:
    match attempt.outcome:
        case Outcome.PAGE:
            return _brought(visit, attempt)
        case Outcome.UNCHANGED:
            _unchanged(visit, attempt)
        case Outcome.REDIRECT:
            return _redirect(visit, attempt)
        case Outcome.NOT_FOUND | Outcome.GONE:
            _missing(visit.worker.settings, visit.batch, visit.picked, attempt)
        case Outcome.UNWANTED | Outcome.UNAUTHORISED | Outcome.FORBIDDEN | Outcome.CLIENT_ERROR:
            _settled(visit, attempt)
        case Outcome.SERVER_ERROR | Outcome.BROKEN | Outcome.SOFT_BLOCKED:
            _failed(visit, attempt)
        case Outcome.CHALLENGED:
            return failures.challenged(visit, attempt)
        case Outcome.PAYMENT_REQUIRED:
            return failures.priced(visit, attempt)
        case Outcome.RATE_LIMITED | Outcome.UNAVAILABLE | Outcome.UNREACHABLE:
            return failures.of_host(visit, attempt)
        case Outcome.BLOCKED_ADDRESS:
            return failures.blocked_address(visit, attempt)
        case Outcome.UNSENT:
            raise AssertionError("a request that was not sent has no reply to judge")
        case never:
            assert_never(never)
    return None


def _tally(batch: Batch, picked: Picked, attempt: Attempt) -> None:
    tally = batch.tally(attempt.due.crawl_id)
    if attempt.due.kind != RequestKind.PAGE:
        tally.failed += not attempt.outcome.brought_page and attempt.outcome is not Outcome.NOT_FOUND
    elif attempt.outcome.brought_page:
        tally.pages += 1
        picked.use_page(attempt.due.crawl_id, 1)
    elif attempt.outcome not in {Outcome.REDIRECT, Outcome.UNWANTED}:
        tally.failed += 1


def _note_ending(picked: Picked, attempt: Attempt) -> None:
    """Count a first request for a URL that ends like a file. A redirect to another scheme or host says nothing."""
    due, ending = attempt.due, file_ending(attempt.url.target)
    if ending is None or due.kind != RequestKind.PAGE or due.depth == 0 or due.fetched_at is not None:
        return
    location = attempt.reply.header(Header.LOCATION) if attempt.outcome is Outcome.REDIRECT else None
    if location is None or not location.endswith(attempt.url.target):
        picked.worth[due.crawl_id].asked_for(ending, is_page=attempt.outcome is Outcome.PAGE)


def _note_host(visit: Visit, attempt: Attempt) -> None:
    """Doubt the robots.txt of a site that refuses; forget the host's failures in a row after any answer of its own."""
    outcome, status = attempt.outcome, attempt.reply.status
    if status in {403, 429}:
        obtain.doubt(visit.worker, visit.origins, visit.batch, attempt.url.origin)
    if outcome is Outcome.PAYMENT_REQUIRED:
        visit.pace.answer(status)
    elif not is_host_trouble(outcome) and outcome not in {Outcome.BLOCKED_ADDRESS, Outcome.CHALLENGED}:
        visit.pace.serve(status)


def _brought(visit: Visit, attempt: Attempt) -> VisitEnding | None:
    """Read a sitemap or a page."""
    if attempt.sink is not None:
        return sitemaps.read(visit, attempt, attempt.sink)
    return read.page(visit, attempt)


def _unchanged(visit: Visit, attempt: Attempt) -> None:
    """304: nothing was sent and nothing is to be read; an alias stays one, unless it was one by a redirect, which has
    ended. It is due again like a page: its canonical may be wrong, and mended later."""
    due = attempt.due
    alias_of = None if due.outcome == Outcome.REDIRECT else due.alias_of
    following = recrawls.after(visit, attempt, changed=False)
    sitemaps.score_claim(visit.batch, due, changed=False)
    event = UrlEvent.ALIASED if alias_of else UrlEvent.SETTLED
    end = Conclusion(
        event,
        attempt,
        due_s=following.due_s,
        interval_s=following.interval_s,
        belief=following.belief,
        alias_of=alias_of,
        wishes=read.headers_alone(visit, attempt) if due.kind == RequestKind.PAGE else None,
    )
    conclude(visit.batch, visit.picked, due, end)


def _redirect(visit: Visit, attempt: Attempt) -> VisitEnding | None:
    """Never followed here: the target is a frontier row of its own, with its own gate and its own host's pace (P9)."""
    due, url = attempt.due, attempt.url
    location = attempt.reply.header(Header.LOCATION) or ""
    target = visit.worker.canon.redirected(url.text, location)
    if isinstance(target, Url) and target.key == url.key and target.text != url.text:
        _respelt(visit.worker, visit.batch, visit.picked, attempt, target)
        return None
    if isinstance(target, Refusal) or target.key == url.key:
        cause = Cause.REDIRECTS_TO_ITSELF if isinstance(target, Url) else Cause.REDIRECTS_NOWHERE
        detail = location[:200] if isinstance(target, Url) else f"{target}: {location[:200]}"
        conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=cause, detail=detail))
        return None
    if due.hops >= HOPS:
        admit.suppress(
            visit.worker.caches.known,
            visit.batch,
            due.crawl_id,
            target,
            Refusal.REDIRECTS,
            found_on=url.text,
            detail=f"more than {HOPS} hops",
        )
    else:
        visit.batch.found.read(None, admit.redirected(visit, due, url, target))
        if due.kind == RequestKind.PAGE and due.fetched_at is None:
            by = on_host(due.found_on, url) if due.hops else None
            visit.picked.worth[due.crawl_id].redirected(url, target, redirected_by=by)
    conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.ALIASED, attempt, alias_of=target.text))
    asked_s = retry_after_s(visit.worker, visit.lease, attempt.reply)
    if asked_s:
        block(visit, asked_s, Rest(RestReason.RETRY_AFTER))
        return VisitEnding.RESTS
    return None


def _respelt(worker: Worker, batch: Batch, picked: Picked, attempt: Attempt, target: Url) -> None:
    """Requeue a URL that redirects to another spelling of itself: that one is sent next, attempts_max times at most."""
    if attempt.attempts >= worker.settings.attempts_max:
        cause, detail = Cause.REDIRECTS_RESPELT, target.text[:200]
        conclude(batch, picked, attempt.due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=cause, detail=detail))
        return
    rest_s = backoff.url_retry_s(attempt.attempts, worker.rng)
    conclude(batch, picked, attempt.due, Conclusion(UrlEvent.FAILED, attempt, due_s=rest_s, sends=target.text))


def _missing(settings: Settings, batch: Batch, picked: Picked, attempt: Attempt) -> None:
    """404 and 410: the first 404 may be a mistake and is looked at again soon, another one and a 410 rarely."""
    due = attempt.due
    if due.outcome is None:
        picked.worth[due.crawl_id].brought_nothing(attempt.url)
    if attempt.outcome is Outcome.NOT_FOUND and due.outcome != Outcome.NOT_FOUND:
        conclude(batch, picked, due, Conclusion(UrlEvent.MISSING, attempt, due_s=settings.recrawl_base_s))
    else:
        conclude(batch, picked, due, Conclusion(UrlEvent.VANISHED, attempt, due_s=settings.recrawl_max_s))


def _settled(visit: Visit, attempt: Attempt) -> None:
    """No page of ours, and that stands: it is looked at again rarely."""
    due, settings = attempt.due, visit.worker.settings
    is_file = file_ending(attempt.url.target) is not None  # which says nothing of pages beside it
    if attempt.outcome is Outcome.UNWANTED and due.fetched_at is None and not is_file:
        visit.picked.worth[due.crawl_id].brought_nothing(attempt.url)
    end = Conclusion(UrlEvent.SETTLED, attempt, due_s=settings.recrawl_max_s, detail=_why_unwanted(attempt))
    if due.kind == RequestKind.PAGE and due.known.text_sha256 not in {None, NO_BYTES} and is_empty(attempt.reply):
        end = _emptied(visit, end)
    conclude(visit.batch, visit.picked, due, end)


def _emptied(visit: Visit, end: Conclusion) -> Conclusion:
    """Keep the text of a page that has no body, though it was asked for whole, until it has none in another round.

    The digest of its last body says which of the two this is.
    """
    assert end.attempt is not None
    due, end = end.attempt.due, end._replace(whole=True)
    if due.known.body_sha256 != NO_BYTES:
        soon_s = visit.worker.settings.recrawl_base_s
        return end._replace(
            due_s=soon_s,
            body_sha256=NO_BYTES,
            detail="it has no body; the text that it had is kept until it has none in another round",
        )
    visit.batch.add(read.KEPT_OUT, (visit.host_id, due.crawl_id, due.key))
    detail = "in two rounds, asked for whole"
    return end._replace(text_sha256=NO_BYTES, body_sha256=NO_BYTES, changed=True, cause=Cause.EMPTY, detail=detail)


def _why_unwanted(attempt: Attempt) -> str | None:
    """The reason; after a 304 it is as before."""
    if attempt.outcome is not Outcome.UNWANTED:
        return None
    return attempt.due.detail if attempt.reply.status == HTTPStatus.NOT_MODIFIED else why_unwanted(attempt.reply)


def _failed(visit: Visit, attempt: Attempt) -> None:
    """The URL's own failure; where the content says that we are blocked, the host is asked more slowly, too."""
    if attempt.outcome is Outcome.SOFT_BLOCKED:
        soft_blocked(visit.worker, visit.turn, visit.origins.crawl_delay_s())
    failures.of_url(visit.worker, visit.pace, visit.batch, visit.picked, attempt)
