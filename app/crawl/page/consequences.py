"""The consequences of a fetch for its URL, its host and the visit: one case for each outcome.

Failures, of the URL or the host, are in `app.crawl.page.failures`; what a brought page holds is for `app.crawl.page.read`.
"""

from dataclasses import replace
from typing import assert_never

from app.crawl.frontier import admit
from app.crawl.page import failures, read, sitemaps
from app.crawl.page.attempt import Attempt, Conclusion, conclude, interval_s
from app.crawl.robots import obtain
from app.crawl.state.visit import Stay
from app.model import Cause, Header, Outcome, Refusal, RequestKind, Rest, RestReason, Url, VisitEnding
from app.policy import backoff
from app.policy.lifecycle import UrlEvent
from app.policy.outcome import is_host_trouble

HOPS = 10  # SPEC P9


def act_on_outcome(stay: Stay, attempt: Attempt) -> VisitEnding | None:
    """Put the URL's result into the batch, and note what it tells of the host. Returns how the visit ends, None to go on.

    Raises LeaseLost.
    """
    if attempt.outcome is Outcome.UNCHANGED and attempt.due.outcome == Outcome.UNWANTED:
        attempt = replace(attempt, outcome=Outcome.UNWANTED)  # unchanged, and still no page
    _tally(stay, attempt)
    _note_host(stay, attempt)
    return _by_outcome(stay, attempt)


def _by_outcome(stay: Stay, attempt: Attempt) -> VisitEnding | None:
    match attempt.outcome:
        case Outcome.PAGE:
            return _brought(stay, attempt)
        case Outcome.UNCHANGED:
            _unchanged(stay, attempt)
        case Outcome.REDIRECT:
            return _redirect(stay, attempt)
        case Outcome.NOT_FOUND | Outcome.GONE:
            _missing(stay, attempt)
        case Outcome.UNWANTED | Outcome.UNAUTHORISED | Outcome.FORBIDDEN | Outcome.CLIENT_ERROR:
            _settled(stay, attempt)
        case Outcome.SERVER_ERROR | Outcome.BROKEN | Outcome.SOFT_BLOCKED:
            _failed(stay, attempt)
        case Outcome.CHALLENGED:
            return failures.challenged(stay, attempt)
        case Outcome.RATE_LIMITED | Outcome.UNAVAILABLE | Outcome.UNREACHABLE:
            return failures.of_host(stay, attempt)
        case Outcome.BLOCKED_ADDRESS:
            failures.give_up(stay, Cause.BLOCKED_ADDRESS, attempt.reply.detail)
            return VisitEnding.BLOCKED_ADDRESS
        case Outcome.UNSENT:
            raise AssertionError("a request that was not sent has no reply to judge")
        case never:
            assert_never(never)
    return None


def _tally(stay: Stay, attempt: Attempt) -> None:
    tally = stay.batch.tally(attempt.due.crawl_id)
    if attempt.due.kind != RequestKind.PAGE:
        tally.failed += not attempt.outcome.brought_page and attempt.outcome is not Outcome.NOT_FOUND
    elif attempt.outcome.brought_page:
        tally.pages += 1
        if attempt.due.crawl_id in stay.granted:
            stay.granted[attempt.due.crawl_id] -= 1
    elif attempt.outcome not in {Outcome.REDIRECT, Outcome.UNWANTED}:
        tally.failed += 1


def _note_host(stay: Stay, attempt: Attempt) -> None:
    """Doubt the robots.txt of a site that refuses; forget the host's failures in a row after any answer of its own."""
    outcome, status = attempt.outcome, attempt.reply.status
    if status in {403, 429}:
        obtain.doubt(stay, attempt.url.origin)
    if not is_host_trouble(outcome) and outcome not in {Outcome.BLOCKED_ADDRESS, Outcome.CHALLENGED}:
        stay.failures, stay.answered = 0, stay.answered or status is not None


def _brought(stay: Stay, attempt: Attempt) -> VisitEnding | None:
    """Read a sitemap or a page."""
    if attempt.sink is not None:
        return sitemaps.read(stay, attempt, attempt.sink)
    return read.page(stay, attempt)


def _unchanged(stay: Stay, attempt: Attempt) -> None:
    """304: nothing was sent and nothing is to be read; an alias stays one."""
    due = attempt.due
    seconds = interval_s(stay, due, changed=False)
    sitemaps.score_claim(stay, due, changed=False)
    event = UrlEvent.ALIASED if due.alias_of else UrlEvent.SETTLED
    end = Conclusion(
        event,
        attempt,
        due_s=None if due.alias_of else seconds,
        interval_s=seconds,
        alias_of=due.alias_of,
        wishes=read.headers_alone(stay, attempt) if due.kind == RequestKind.PAGE else None,
    )
    conclude(stay, due, end)


def _redirect(stay: Stay, attempt: Attempt) -> VisitEnding | None:
    """Never followed here: the target is a frontier row of its own, with its own gate and its own host's pace (P9)."""
    due, url = attempt.due, attempt.url
    location = attempt.reply.header(Header.LOCATION) or ""
    target = stay.kit.canon.join(url.text, location)
    if isinstance(target, Url) and target.key == url.key and target.text != url.text:
        _respelt(stay, attempt, target)
        return None
    if isinstance(target, Refusal) or target.key == url.key:
        cause = Cause.REDIRECTS_TO_ITSELF if isinstance(target, Url) else Cause.REDIRECTS_NOWHERE
        detail = location[:200] if isinstance(target, Url) else f"{target}: {location[:200]}"
        conclude(stay, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=cause, detail=detail))
        return None
    if due.hops >= HOPS:
        admit.suppress(
            stay, due.crawl_id, target, Refusal.REDIRECTS, found_on=url.text, detail=f"more than {HOPS} hops"
        )
    else:
        stay.batch.read(None, admit.redirected(stay, due, url, target))
    conclude(stay, due, Conclusion(UrlEvent.ALIASED, attempt, alias_of=target.text))
    asked_s = stay.asked_s(attempt.reply)
    if asked_s:
        stay.block(asked_s, Rest(RestReason.RETRY_AFTER))
        return VisitEnding.RESTS
    return None


def _respelt(stay: Stay, attempt: Attempt, target: Url) -> None:
    """A redirect to another spelling of the same URL: that is sent from now on, after a while and a few times at most."""
    if attempt.attempts >= stay.kit.settings.attempts_max:
        cause, detail = Cause.REDIRECTS_RESPELT, target.text[:200]
        conclude(stay, attempt.due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=cause, detail=detail))
        return
    rest_s = backoff.url_retry_s(attempt.attempts, stay.kit.rng)
    conclude(stay, attempt.due, Conclusion(UrlEvent.FAILED, attempt, due_s=rest_s, sends=target.text))


def _missing(stay: Stay, attempt: Attempt) -> None:
    """404 and 410: the first 404 may be a mistake and is looked at again soon, another one and a 410 rarely."""
    settings, due = stay.kit.settings, attempt.due
    if attempt.outcome is Outcome.NOT_FOUND and due.outcome != Outcome.NOT_FOUND:
        conclude(stay, due, Conclusion(UrlEvent.MISSING, attempt, due_s=settings.recrawl_base_s))
    else:
        conclude(stay, due, Conclusion(UrlEvent.VANISHED, attempt, due_s=settings.recrawl_max_s))


def _settled(stay: Stay, attempt: Attempt) -> None:
    """No page of ours, and that stands: it is looked at again rarely."""
    conclude(stay, attempt.due, Conclusion(UrlEvent.SETTLED, attempt, due_s=stay.kit.settings.recrawl_max_s))


def _failed(stay: Stay, attempt: Attempt) -> None:
    """The URL's own failure; where the content says that we are blocked, the host is asked more slowly, too."""
    if attempt.outcome is Outcome.SOFT_BLOCKED:
        stay.soft_blocked()
    failures.of_url(stay, attempt)
