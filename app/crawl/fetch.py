"""One URL of a visit, from the gate to its result, as one record through named steps.

    gate (scope, robots.txt) ▶ turn (the host's pace) ▶ count (in isolation) ▶ send ▶ conclude ▶ result in the batch

`fetch` returns None when the visit may go on, else why it is to leave. What becomes of the URL is in `app.policy.lifecycle`.
"""

from collections import deque
from dataclasses import replace
from hashlib import sha256
from typing import assert_never

from app.crawl import admit, pacing, read, robots
from app.crawl.attempt import Attempt, conclude, interval_s
from app.crawl.stay import GivingUp, Reading, RobotsFile, Stay
from app.errors import LeaseLost
from app.model import Failure, Header, Outcome, Refusal, Request, RequestKind, Url
from app.policy import backoff
from app.policy.lifecycle import UrlEvent, UrlState
from app.policy.outcome import is_host_trouble
from app.policy.scope import judge
from app.store import db, hosts, urls
from app.store.urls import Due

WANTED_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
HOPS = 10  # SPEC P9


def fetch(stay: Stay, due: Due) -> str | None:
    """Take one URL as far as it goes. Returns why the visit is to leave, or None to go on. Raises LeaseLost."""
    url = _gate(stay, due)
    if not isinstance(url, Url):
        return url
    if not pacing.turn(stay, stay.kit.settings.request_deadline_s):
        return "delay"
    attempts = _count(stay, due)
    if attempts is None:
        return None
    attempt = _send(stay, due, url, attempts)
    return _judge(stay, attempt)


def _gate(stay: Stay, due: Due) -> Url | str | None:
    """The URL if it may be fetched now; None if it is dealt with; else why the visit is to leave."""
    url = stay.kit.canon.canonicalise(due.url)
    scope = stay.scopes.get(due.crawl_id)
    if isinstance(url, Refusal) or scope is None:
        conclude(
            stay,
            due,
            UrlEvent.EXHAUSTED,
            cause=f"no URL of ours any more: {url if isinstance(url, Refusal) else 'no scope'}",
        )
        return None
    refusal = judge(scope, url, due.depth)
    if refusal is not None:
        conclude(stay, due, UrlEvent.EXHAUSTED, cause=f"out of the crawl's scope since it was admitted: {refusal}")
        return None
    found = robots.of(stay, url.origin)
    if found == "wait":
        return "delay"
    if found == "unreachable":
        _without_robots(stay, url)
        return None
    assert isinstance(found, RobotsFile)
    assert found.rules is not None
    decision = found.rules.decide(url.target) if not found.rules.allowed(url.target) else None
    if decision is not None:
        conclude(stay, due, UrlEvent.DISALLOWED, cause=f"robots.txt line {decision.line}: {decision.rule}")
        return None
    return url


def _without_robots(stay: Stay, url: Url) -> None:
    """Complete disallow for the origin: its URLs stay queued, and are not picked until its robots.txt is tried again.

    An origin that stays out of reach is given up, so that a crawl ends.
    """
    settings, file = stay.kit.settings, stay.robots[url.origin]
    most = settings.host_failures_max if stay.answered else settings.new_host_failures_max
    if file.failures >= most:
        stay.batch.give_up = GivingUp(
            state=UrlState.REFUSED,
            cause=f"robots.txt out of reach, {file.failures} times in a row: complete disallow (RFC 9309)",
            prefix=f"{url.origin}/",
        )
    stay.due = deque(other for other in stay.due if not other.url.startswith(f"{url.origin}/"))


def _count(stay: Stay, due: Due) -> int | None:
    """Attempts with this one. In isolation it is spent before the fetch, so that a page that kills us is counted.

    None: not to be fetched. Either somebody took it out of the queue, or it has killed its last visit.
    """
    if stay.isolate <= 0:
        return due.attempts + 1
    if due.attempts >= stay.kit.settings.attempts_max:
        conclude(
            stay,
            due,
            UrlEvent.EXHAUSTED,
            cause=f"poison: {due.attempts} visits died while fetching or reading it",
        )
        return None
    stay.isolate -= 1
    with db.transaction(stay.kit.engine) as tx:
        if hosts.lock_leased(tx, host_id=stay.host_id, token=stay.token) is None:
            raise LeaseLost(stay.taken.name)
        return urls.count_attempt(tx, host_id=stay.host_id, crawl_id=due.crawl_id, key=due.key)


def _send(stay: Stay, due: Due, url: Url, attempts: int) -> Attempt:
    settings = stay.kit.settings
    request = Request(
        url=url.text,
        etag=due.etag,
        last_modified=due.last_modified,
        wanted_types=WANTED_TYPES,
        max_body_bytes=settings.max_body_bytes,
        deadline_s=settings.request_deadline_s,
    )
    reply = stay.kit.send(request)
    digest = sha256(reply.body).digest() if reply.body else None
    outcome = pacing.log(
        stay,
        reply,
        url=url.text,
        key=due.key,
        kind=RequestKind.PAGE,
        reason="retry" if due.attempts else "recrawl" if due.fetched_at else "new",
        request=request,
        crawl_id=due.crawl_id,
        attempt=attempts,
        body_sha256=digest,
    )
    stay.contacted(reply.ended_s)
    stay.address = reply.address or stay.address
    tally = stay.batch.tally(due.crawl_id)
    tally.fetches += 1
    tally.bytes += reply.wire_bytes
    return Attempt(
        due=due, url=url, attempts=attempts, request=request, reply=reply, outcome=outcome, body_sha256=digest
    )


def _judge(stay: Stay, attempt: Attempt) -> str | None:
    """What becomes of the URL, and of the host."""
    if attempt.outcome is Outcome.UNCHANGED and attempt.due.outcome == Outcome.UNWANTED:
        attempt = replace(attempt, outcome=Outcome.UNWANTED)  # unchanged, and still no page
    due, outcome = attempt.due, attempt.outcome
    _tally(stay, attempt)
    if not is_host_trouble(outcome) and outcome is not Outcome.BLOCKED_ADDRESS:
        stay.failures, stay.answered = 0, stay.answered or attempt.reply.status is not None
    match outcome:
        case Outcome.PAGE:
            read.page(stay, attempt)
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
        case Outcome.BROKEN if attempt.reply.failure is Failure.RESET and attempt.reply.connect_ms is None:
            # A kept-alive connection that was closed under the request: nobody's failure, next time it is a fresh one.
            conclude(stay, due, UrlEvent.DEFERRED, attempt=attempt)
        case Outcome.SERVER_ERROR | Outcome.BROKEN:
            _failed(stay, attempt)
        case Outcome.RATE_LIMITED | Outcome.UNAVAILABLE | Outcome.UNREACHABLE:
            return _host_trouble(stay, attempt)
        case Outcome.BLOCKED_ADDRESS:
            stay.batch.give_up = GivingUp(state=UrlState.QUARANTINED, cause=attempt.reply.detail)
            return "blocked address"
        case _:
            assert_never(outcome)
    return None


def _tally(stay: Stay, attempt: Attempt) -> None:
    tally = stay.batch.tally(attempt.due.crawl_id)
    if attempt.outcome.brought_page:
        tally.pages += 1
        if attempt.due.crawl_id in stay.granted:
            stay.granted[attempt.due.crawl_id] -= 1
    elif attempt.outcome not in {Outcome.REDIRECT, Outcome.UNWANTED}:
        tally.failed += 1


def _unchanged(stay: Stay, attempt: Attempt) -> None:
    """304: nothing was sent and nothing is to be read; an alias stays one."""
    due = attempt.due
    seconds = interval_s(stay, due, changed=False)
    event = UrlEvent.ALIASED if due.alias_of else UrlEvent.SETTLED
    conclude(
        stay,
        due,
        event,
        attempt=attempt,
        due_s=None if due.alias_of else seconds,
        interval_s=seconds,
        alias_of=due.alias_of,
    )


def _redirect(stay: Stay, attempt: Attempt) -> str | None:
    """Never followed here: the target is a frontier row of its own, with its own gate and its own host's pace (P9)."""
    due, url = attempt.due, attempt.url
    location = attempt.reply.header(Header.LOCATION) or ""
    target = stay.kit.canon.join(url.text, location)
    if isinstance(target, Refusal) or target.key == url.key:
        why = "to itself" if isinstance(target, Url) else f"to no URL of ours ({target})"
        conclude(stay, due, UrlEvent.EXHAUSTED, attempt=attempt, cause=f"redirects {why}: {location[:200]}")
        return None
    if due.hops >= HOPS:
        admit.suppress(
            stay, due.crawl_id, target, Refusal.REDIRECTS, found_on=url.text, detail=f"more than {HOPS} hops"
        )
    else:
        links = admit.admissions(stay, due, [target], found_on=url.text, depth=due.depth, hops=due.hops + 1)
        stay.batch.readings.append(Reading(page=None, links=links))
    conclude(stay, due, UrlEvent.ALIASED, attempt=attempt, alias_of=target.text)
    asked_s = stay.asked_s(attempt.reply)
    if asked_s:
        stay.rest(asked_s, "Retry-After on a redirect")
        return "Retry-After on a redirect"
    return None


def _failed(stay: Stay, attempt: Attempt) -> None:
    """The URL's own failure: tried again after a while, a few times."""
    due = attempt.due
    if attempt.attempts >= stay.kit.settings.attempts_max:
        what = attempt.reply.failure or attempt.reply.status
        conclude(
            stay,
            due,
            UrlEvent.EXHAUSTED,
            attempt=attempt,
            cause=f"{attempt.outcome} ({what}) {attempt.attempts} times",
        )
    else:
        conclude(
            stay,
            due,
            UrlEvent.FAILED,
            attempt=attempt,
            due_s=backoff.url_retry_s(attempt.attempts, stay.kit.rng),
        )


def _host_trouble(stay: Stay, attempt: Attempt) -> str:
    """429, 503, no connection: the host rests. The URL's attempts are spent only by a 503 that names no time."""
    settings, due = stay.kit.settings, attempt.due
    stay.failures += 1
    stay.answered = stay.answered or attempt.reply.status is not None
    asked_s = stay.asked_s(attempt.reply)
    rest_s = backoff.host_rest_s(stay.failures, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
    stay.rest(max(asked_s or 0.0, rest_s), attempt.outcome.value)
    most = settings.host_failures_max if stay.answered else settings.new_host_failures_max
    if attempt.outcome is Outcome.UNREACHABLE and stay.failures >= most:
        why = f"host out of reach {stay.failures} times in a row: {attempt.reply.detail}"
        stay.batch.give_up = GivingUp(state=UrlState.QUARANTINED, cause=why[:300])
    elif attempt.outcome is Outcome.UNAVAILABLE and asked_s is None:
        _failed(stay, attempt)
    else:
        # Still queued, but behind the others: one URL that is always refused must not hold up its host.
        conclude(stay, due, UrlEvent.DEFERRED, attempt=attempt, score=due.score / 2)
    return attempt.outcome.value


def _rarely(stay: Stay) -> float:
    return stay.kit.settings.recrawl_max_s
