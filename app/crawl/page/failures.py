"""Failed fetches: whether the URL or its host is to blame, when each is tried again, and when it is given up.

A crawl comes to an end: whatever fails again and again is quarantined at last, with its cause.
"""

from http import HTTPStatus

from app.crawl.frontier.give_up import quarantine
from app.crawl.page.attempt import Attempt, Conclusion, conclude
from app.crawl.request.learn import block, trouble
from app.crawl.state.batch import Batch
from app.crawl.state.picked import Picked
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import DETAIL_CHARS
from app.model import Cause, Failure, Header, Outcome, Reply, Rest, RestReason, VisitEnding
from app.policy import backoff
from app.policy.header_fields import price as price_of
from app.policy.lifecycle import UrlEvent
from app.policy.pace import is_error
from app.store.host_rows import HostPace

PRICED_IN_A_ROW = 5  # answers of a host; fewer may be a part of its site


def of_url(
    worker: Worker, pace: HostPace, batch: Batch, picked: Picked, attempt: Attempt, *, most: int | None = None
) -> None:
    """Retry a URL that failed by itself, after a while, and a few times for each class (network, server).

    An answer that is malformed, or beyond the bounds, is asked for once. The last try has no validators: some servers
    fail on these alone.   most: tries in all; None: attempts_max
    """
    due, times = attempt.due, attempt.failures_of_its_class
    most = most or worker.settings.attempts_max
    hopeless = _hopeless(worker, pace.trips, attempt)
    if hopeless is not None:
        conclude(batch, picked, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.HOST_FAILS, detail=hopeless))
        quarantine(batch, Cause.HOST_FAILS, hopeless)
    elif (malformed := _malformed(attempt.reply)) is not None:  # it would be the same again
        detail = f"{attempt.outcome} {malformed}"[:DETAIL_CHARS]
        conclude(batch, picked, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.FAILED, detail=detail))
    elif times >= most:
        detail = f"{attempt.outcome} ({attempt.reply.failure or attempt.reply.status}) {times} times"
        conclude(batch, picked, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.FAILED, detail=detail))
    else:
        rest_s = backoff.url_retry_s(attempt.attempts, worker.rng)
        is_last = times + 1 >= most
        conclude(batch, picked, due, Conclusion(UrlEvent.FAILED, attempt, due_s=rest_s, whole=is_last))


def _malformed(reply: Reply) -> str | None:
    """Describe the fault in the form of an answer, which would have it again; None without one."""
    if reply.failure is Failure.PROTOCOL:
        return f"(protocol): {reply.detail}"
    if reply.failure is None and reply.is_part:
        said = reply.header(Header.CONTENT_RANGE)
        return f"({reply.status}): a part that nobody asked for, {f'Content-Range {said!r}' if said else 'of no range'}"
    return None


def of_host(visit: Visit, attempt: Attempt) -> VisitEnding:
    """429, 503, no connection: the host rests. The URL's attempts are spent only by a 503 that names no time."""
    due, reply, pace = attempt.due, attempt.reply, visit.pace
    pace.answer(reply.status)
    asked_s = trouble(visit, reply, RestReason(attempt.outcome.value))
    if pace.failures >= visit.worker.settings.failures_most(answered=pace.answered):
        why = reply.detail or f"status {reply.status}"
        quarantine(visit.batch, Cause.HOST_OUT_OF_REACH, f"{pace.failures} times in a row: {why}")
    elif attempt.outcome is Outcome.UNAVAILABLE and asked_s is None:
        _unavailable(visit.worker, pace, visit.batch, visit.picked, attempt)
    else:
        # Still queued, but behind the others: one URL that is always refused must not hold up its host.
        conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.REQUEUED, attempt, score=due.score / 2))
    return VisitEnding.RESTS


def blocked_address(visit: Visit, attempt: Attempt) -> VisitEnding:
    """The name leads to an address that we do not contact: the host rests, as one that does not resolve.

    It may be so for a while only: some name servers answer every name with their own address until somebody logs in.
    """
    due, reply, pace = attempt.due, attempt.reply, visit.pace
    trouble(visit, reply, RestReason.UNREACHABLE)
    if pace.failures >= visit.worker.settings.failures_most(answered=pace.answered):
        quarantine(visit.batch, Cause.BLOCKED_ADDRESS, reply.detail)
    else:
        conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.REQUEUED, attempt, score=due.score / 2))
    return VisitEnding.BLOCKED_ADDRESS


def challenged(visit: Visit, attempt: Attempt) -> VisitEnding:
    """The URL waits until its host has rested."""
    rest_challenged(visit)
    due = attempt.due
    conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.REQUEUED, attempt, score=due.score / 2))
    return VisitEnding.RESTS


def rest_challenged(visit: Visit) -> None:
    """Rest a host that answered with a challenge or CAPTCHA, which is never solved; give it up after a few in a row."""
    pace, settings = visit.pace, visit.worker.settings
    pace.fail()
    block(visit, settings.challenge_rest_s, Rest(RestReason.CHALLENGED))
    if pace.failures >= settings.failures_most(answered=pace.answered):
        quarantine(visit.batch, Cause.CHALLENGED, f"{pace.failures} times in a row")


def priced(visit: Visit, attempt: Attempt) -> VisitEnding | None:
    """402: nothing is paid, and the URL is asked again as seldom as one that is gone. A host that answers nothing else
    rests, and is given up after a few such rests in a row."""
    settings, pace, price = visit.worker.settings, visit.pace, price_of(attempt.reply)
    if visit.turn.logged is not None:
        visit.turn.logged["detail"] = price
    end = Conclusion(UrlEvent.SETTLED, attempt, due_s=settings.recrawl_max_s, cause=Cause.PAYMENT, detail=price)
    conclude(visit.batch, visit.picked, attempt.due, end)
    latest = pace.history.statuses[-PRICED_IN_A_ROW:]
    if len(latest) < PRICED_IN_A_ROW or set(latest) != {HTTPStatus.PAYMENT_REQUIRED}:
        return None
    pace.fail()
    block(visit, settings.challenge_rest_s, Rest(RestReason.PAYMENT, price))
    if pace.failures >= settings.failures_most(answered=pace.answered):
        quarantine(visit.batch, Cause.PAYMENT, price or "it names no price")
    return VisitEnding.RESTS


def _unavailable(worker: Worker, pace: HostPace, batch: Batch, picked: Picked, attempt: Attempt) -> None:
    """Treat a 503 without Retry-After as the host's failure if its answer before was an error, else as the URL's."""
    before = pace.history.statuses[-2:-1]
    if before and is_error(before[0]):
        conclude(batch, picked, attempt.due, Conclusion(UrlEvent.REQUEUED, attempt, score=attempt.due.score / 2))
    else:
        of_url(worker, pace, batch, picked, attempt, most=worker.settings.host_failures_max)


def _hopeless(worker: Worker, trips: int, attempt: Attempt) -> str | None:
    """Why a host that the circuit breaker closes again and again is given up at last, so that a crawl ends."""
    times = worker.rules.breaker.failures + trips - 1
    if not trips or times < worker.settings.host_failures_max:
        return None
    what = attempt.reply.failure or attempt.reply.status
    return f"{times} server errors or missing answers in a row, the last: {attempt.outcome} ({what})"
