"""One URL of a visit, from the gate to its result, as one record through named steps.

    gate (scope, robots.txt) ▶ turn (the host's pace) ▶ count (in isolation) ▶ send ▶ conclude ▶ result in the batch

`fetch` returns None when the visit may go on, else how it ends. What becomes of the URL is in `app.policy.lifecycle`.
"""

from collections import deque
from dataclasses import replace
from enum import Enum
from typing import assert_never

from app.crawl.frontier import admit
from app.crawl.page import isolation, preferences, read, sitemaps
from app.crawl.page.attempt import Attempt, conclude, interval_s
from app.crawl.request import send, slots
from app.crawl.robots import obtain, tdmrep
from app.crawl.state.batch import GivingUp
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Stay
from app.model import Cause, Header, Outcome, Refusal, Request, RequestKind, Rest, RestReason, Url, VisitEnding
from app.parse.html.html import MEDIA_TYPES
from app.policy import backoff, pace
from app.policy.lifecycle import UrlEvent, UrlState
from app.policy.outcome import is_host_trouble
from app.policy.scope import judge
from app.store.urls import Due

HOPS = 10  # SPEC P9


class _Shut(Enum):
    """What the gate says of a URL that is not fetched now."""

    DONE = "it is dealt with"
    AWAY = "the visit is to leave, and the URL stays queued"


def fetch(stay: Stay, due: Due) -> VisitEnding | None:
    """Take one URL as far as it goes. Returns how the visit ends, or None to go on. Raises LeaseLost."""
    match _gate(stay, due):
        case Url() as url:
            return _fetch(stay, due, url)
        case _Shut.DONE:
            return None
        case _Shut.AWAY:
            return stay.why_away
        case never:
            assert_never(never)


def _fetch(stay: Stay, due: Due, url: Url) -> VisitEnding | None:
    slot = slots.take(stay, url, stay.kit.settings.request_deadline_s)
    if slot is None:
        return stay.why_away
    isolated = isolation.holds(stay, due)
    attempts = isolation.count(stay, due) if isolated else due.attempts + 1
    if attempts is None:
        return None
    attempt = _send(stay, slot, due, url, attempts, isolated=isolated)
    if attempt is None:
        isolation.owe(stay)
        isolation.pay(stay.kit)
        return stay.why_away
    return _judge(stay, attempt)


def _gate(stay: Stay, due: Due) -> Url | _Shut:
    """The URL, if it may be fetched now."""
    url = stay.kit.canon.of_row(due.url, due.key, due.linked)
    scope = stay.scopes.get(due.crawl_id)
    if isinstance(url, Refusal) or scope is None:
        why = url if isinstance(url, Refusal) else "no scope"
        conclude(stay, due, UrlEvent.EXHAUSTED, cause=Cause.NO_URL, detail=why)
        return _Shut.DONE
    refusal = judge(scope, url, due.depth) if due.kind == RequestKind.PAGE else None
    if refusal is not None:
        conclude(stay, due, UrlEvent.EXHAUSTED, cause=Cause.OUT_OF_SCOPE, detail=refusal)
        return _Shut.DONE
    rules = obtain.of(stay, url.origin)
    if rules == "wait":
        return _Shut.AWAY
    if rules == "shut":
        _without_robots(stay, url)
        return _Shut.DONE
    sitemaps.discover(stay, due, url.origin)
    decision = rules.judge(url) if not rules.permits(url) else None
    if decision is not None:
        stay.kit.known.forget(due.crawl_id, due.key)  # another form of it may be allowed
        line = f"line {decision.line}: {decision.rule}"
        conclude(stay, due, UrlEvent.DISALLOWED, cause=Cause.ROBOTS, detail=line)
        return _Shut.DONE
    if due.honour_opt_outs and due.kind == RequestKind.PAGE and not tdmrep.is_settled(stay, url, rules):
        return _Shut.AWAY
    return url


def _without_robots(stay: Stay, url: Url) -> None:
    """No page of the origin for now: its URLs stay queued, and are not picked until it may be tried again.

    An origin whose robots.txt stays out of reach is given up, so that a crawl ends. Not so in crawls that keep fresh, which
    have no end, nor before its last good copy comes into force: that is worth waiting for.
    """
    file = stay.robots[url.origin]
    if file.rules is None and file.failures >= _failures_most(stay) and not obtain.awaits_copy(stay, file):
        stay.batch.give_up.append(
            GivingUp(
                state=UrlState.REFUSED,
                cause=Cause.ROBOTS_OUT_OF_REACH,
                detail=f"{file.failures} times in a row: complete disallow (RFC 9309)",
                prefix=f"{url.origin}/",
                spares_fresh=True,
            )
        )
    stay.due = deque(other for other in stay.due if not other.url.startswith(f"{url.origin}/"))


def _send(stay: Stay, slot: Slot, due: Due, url: Url, attempts: int, *, isolated: bool) -> Attempt | None:
    settings, is_page = stay.kit.settings, due.kind == RequestKind.PAGE
    whole = preferences.is_wanted_whole(stay, due, url)
    sink = None if is_page else sitemaps.sink()
    request = Request(
        url=url.text,
        kind=RequestKind(due.kind),
        etag=None if whole else due.etag,
        last_modified=None if whole else due.last_modified,
        wanted_types=MEDIA_TYPES if is_page else None,
        max_body_bytes=settings.max_body_bytes if is_page else sitemaps.MAX_BYTES,
        deadline_s=settings.request_deadline_s,
        sink=sink,
        fresh=due.network_failures > 0,
    )
    reason = "retry" if due.attempts else "recrawl" if due.fetched_at else "new"
    sent = send.send(stay, slot, request, url=url, reason=reason, crawl_id=due.crawl_id, attempt=attempts)
    if sent is None:
        return None
    reply, outcome, digest = sent
    tally = stay.batch.tally(due.crawl_id)
    tally.fetches += 1
    tally.bytes += reply.wire_bytes
    return Attempt(
        due=due,
        url=url,
        attempts=attempts,
        request=request,
        reply=reply,
        outcome=outcome,
        body_sha256=digest,
        sink=sink,
        isolated=isolated,
    )


def _judge(stay: Stay, attempt: Attempt) -> VisitEnding | None:
    """What becomes of the URL, and of the host."""
    if attempt.outcome is Outcome.UNCHANGED and attempt.due.outcome == Outcome.UNWANTED:
        attempt = replace(attempt, outcome=Outcome.UNWANTED)  # unchanged, and still no page
    due, outcome = attempt.due, attempt.outcome
    _tally(stay, attempt)
    if attempt.reply.status in {403, 429}:
        obtain.doubt(stay, attempt.url.origin)
    if not is_host_trouble(outcome) and outcome not in {Outcome.BLOCKED_ADDRESS, Outcome.CHALLENGED}:
        stay.failures, stay.answered = 0, stay.answered or attempt.reply.status is not None
    match outcome:
        case Outcome.PAGE if attempt.sink is not None:
            return sitemaps.read(stay, attempt, attempt.sink)
        case Outcome.PAGE:
            return read.page(stay, attempt)
        case Outcome.UNCHANGED:
            _unchanged(stay, attempt)
        case Outcome.REDIRECT:
            return _redirect(stay, attempt)
        case Outcome.NOT_FOUND if due.outcome == Outcome.NOT_FOUND:
            conclude(stay, due, UrlEvent.VANISHED, attempt=attempt, due_s=_rarely(stay))
        case Outcome.NOT_FOUND:
            conclude(stay, due, UrlEvent.MISSING, attempt=attempt, due_s=stay.kit.settings.recrawl_base_s)
        case Outcome.GONE:
            conclude(stay, due, UrlEvent.VANISHED, attempt=attempt, due_s=_rarely(stay))
        case Outcome.UNWANTED | Outcome.UNAUTHORISED | Outcome.FORBIDDEN | Outcome.CLIENT_ERROR:
            conclude(stay, due, UrlEvent.SETTLED, attempt=attempt, due_s=_rarely(stay))
        case Outcome.SOFT_BLOCKED:
            stay.soft_blocked()
            _failed(stay, attempt)
        case Outcome.SERVER_ERROR | Outcome.BROKEN:
            _failed(stay, attempt)
        case Outcome.CHALLENGED:
            return _challenged(stay, attempt)
        case Outcome.RATE_LIMITED | Outcome.UNAVAILABLE | Outcome.UNREACHABLE:
            return _host_trouble(stay, attempt)
        case Outcome.BLOCKED_ADDRESS:
            _give_up(stay, Cause.BLOCKED_ADDRESS, attempt.reply.detail)
            return VisitEnding.BLOCKED_ADDRESS
        case Outcome.UNSENT:
            raise AssertionError("a request that was not sent has no reply to judge")
        case _:
            assert_never(outcome)
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


def _unchanged(stay: Stay, attempt: Attempt) -> None:
    """304: nothing was sent and nothing is to be read; an alias stays one."""
    due = attempt.due
    seconds = interval_s(stay, due, changed=False)
    sitemaps.score_claim(stay, due, changed=False)
    event = UrlEvent.ALIASED if due.alias_of else UrlEvent.SETTLED
    conclude(
        stay,
        due,
        event,
        attempt=attempt,
        due_s=None if due.alias_of else seconds,
        interval_s=seconds,
        alias_of=due.alias_of,
        wishes=read.headers_alone(stay, attempt) if due.kind == RequestKind.PAGE else None,
    )


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
        conclude(stay, due, UrlEvent.EXHAUSTED, attempt=attempt, cause=cause, detail=detail)
        return None
    if due.hops >= HOPS:
        admit.suppress(
            stay, due.crawl_id, target, Refusal.REDIRECTS, found_on=url.text, detail=f"more than {HOPS} hops"
        )
    else:
        stay.batch.read(None, admit.redirected(stay, due, url, target))
    conclude(stay, due, UrlEvent.ALIASED, attempt=attempt, alias_of=target.text)
    asked_s = stay.asked_s(attempt.reply)
    if asked_s:
        stay.block(asked_s, Rest(RestReason.RETRY_AFTER))
        return VisitEnding.RESTS
    return None


def _respelt(stay: Stay, attempt: Attempt, target: Url) -> None:
    """A redirect to another spelling of the same URL: that is sent from now on, after a while and a few times at most."""
    if attempt.attempts >= stay.kit.settings.attempts_max:
        cause, detail = Cause.REDIRECTS_RESPELT, target.text[:200]
        conclude(stay, attempt.due, UrlEvent.EXHAUSTED, attempt=attempt, cause=cause, detail=detail)
        return
    rest_s = backoff.url_retry_s(attempt.attempts, stay.kit.rng)
    conclude(stay, attempt.due, UrlEvent.FAILED, attempt=attempt, due_s=rest_s, sends=target.text)


def _failed(stay: Stay, attempt: Attempt, *, most: int | None = None) -> None:
    """The URL's own failure: tried again after a while, a few times of each class (network, server).   most: D: attempts_max."""
    due, times = attempt.due, attempt.failures_of_its_class
    hopeless = _hopeless(stay, attempt)
    if hopeless is not None:
        conclude(stay, due, UrlEvent.EXHAUSTED, attempt=attempt, cause=Cause.HOST_FAILS, detail=hopeless)
        _give_up(stay, Cause.HOST_FAILS, hopeless)
    elif times >= (most or stay.kit.settings.attempts_max):
        detail = f"{attempt.outcome} ({attempt.reply.failure or attempt.reply.status}) {times} times"
        conclude(stay, due, UrlEvent.EXHAUSTED, attempt=attempt, cause=Cause.FAILED, detail=detail)
    else:
        conclude(
            stay,
            due,
            UrlEvent.FAILED,
            attempt=attempt,
            due_s=backoff.url_retry_s(attempt.attempts, stay.kit.rng),
        )


def _host_trouble(stay: Stay, attempt: Attempt) -> VisitEnding:
    """429, 503, no connection: the host rests. The URL's attempts are spent only by a 503 that names no time."""
    due, reply = attempt.due, attempt.reply
    stay.answered = stay.answered or reply.status is not None
    asked_s = send.trouble(stay, reply, RestReason(attempt.outcome.value))
    if stay.failures >= _failures_most(stay):
        why = reply.detail or f"status {reply.status}"
        _give_up(stay, Cause.HOST_OUT_OF_REACH, f"{stay.failures} times in a row: {why}")
    elif attempt.outcome is Outcome.UNAVAILABLE and asked_s is None:
        _unavailable(stay, attempt)
    else:
        # Still queued, but behind the others: one URL that is always refused must not hold up its host.
        conclude(stay, due, UrlEvent.DEFERRED, attempt=attempt, score=due.score / 2)
    return VisitEnding.RESTS


def _unavailable(stay: Stay, attempt: Attempt) -> None:
    """A 503 that names no time: the URL's, when the host answered well before it, and then a patient one; else the host's."""
    before = stay.history.statuses[-2:-1]
    if before and pace.is_error(before[0]):
        conclude(stay, attempt.due, UrlEvent.DEFERRED, attempt=attempt, score=attempt.due.score / 2)
    else:
        _failed(stay, attempt, most=stay.kit.settings.host_failures_max)


def _challenged(stay: Stay, attempt: Attempt) -> VisitEnding:
    """A challenge or CAPTCHA is a no to machines: never solved, the host rests; it is given up as one out of reach is."""
    stay.failures += 1
    stay.block(stay.kit.settings.challenge_rest_s, Rest(RestReason.CHALLENGED))
    conclude(stay, attempt.due, UrlEvent.DEFERRED, attempt=attempt, score=attempt.due.score / 2)
    if stay.failures >= _failures_most(stay):
        _give_up(stay, Cause.CHALLENGED, f"{stay.failures} times in a row")
    return VisitEnding.RESTS


def _hopeless(stay: Stay, attempt: Attempt) -> str | None:
    """Why a host that the circuit breaker closes again and again is given up at last, so that a crawl ends."""
    times = stay.kit.breaker_rules.failures + stay.trips - 1
    if not stay.trips or times < stay.kit.settings.host_failures_max:
        return None
    what = attempt.reply.failure or attempt.reply.status
    return f"{times} server errors or missing answers in a row, the last: {attempt.outcome} ({what})"


def _give_up(stay: Stay, cause: Cause, detail: str) -> None:
    stay.batch.give_up.append(GivingUp(state=UrlState.QUARANTINED, cause=cause, detail=detail[:300]))


def _failures_most(stay: Stay) -> int:
    settings = stay.kit.settings
    return settings.host_failures_max if stay.answered else settings.new_host_failures_max


def _rarely(stay: Stay) -> float:
    return stay.kit.settings.recrawl_max_s
