"""Failed fetches: whether the URL or its host is to blame, when each is tried again, and when it is given up.

A crawl comes to an end: whatever fails again and again is quarantined at last, with its cause.
"""

from app.crawl.page.attempt import Attempt, Conclusion, conclude
from app.crawl.request import send
from app.crawl.state.batch import GivingUp
from app.crawl.state.visit import Stay
from app.model import Cause, Outcome, Rest, RestReason, VisitEnding
from app.policy import backoff, pace
from app.policy.lifecycle import UrlEvent, UrlState


def of_url(stay: Stay, attempt: Attempt, *, most: int | None = None) -> None:
    """The URL's own failure: tried again after a while, a few times of each class (network, server).   most: D: attempts_max."""
    due, times = attempt.due, attempt.failures_of_its_class
    hopeless = _hopeless(stay, attempt)
    if hopeless is not None:
        conclude(stay, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.HOST_FAILS, detail=hopeless))
        give_up(stay, Cause.HOST_FAILS, hopeless)
    elif times >= (most or stay.kit.settings.attempts_max):
        detail = f"{attempt.outcome} ({attempt.reply.failure or attempt.reply.status}) {times} times"
        conclude(stay, due, Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.FAILED, detail=detail))
    else:
        rest_s = backoff.url_retry_s(attempt.attempts, stay.kit.rng)
        conclude(stay, due, Conclusion(UrlEvent.FAILED, attempt, due_s=rest_s))


def of_host(stay: Stay, attempt: Attempt) -> VisitEnding:
    """429, 503, no connection: the host rests. The URL's attempts are spent only by a 503 that names no time."""
    due, reply = attempt.due, attempt.reply
    stay.answered = stay.answered or reply.status is not None
    asked_s = send.trouble(stay, reply, RestReason(attempt.outcome.value))
    if stay.failures >= most_in_a_row(stay):
        why = reply.detail or f"status {reply.status}"
        give_up(stay, Cause.HOST_OUT_OF_REACH, f"{stay.failures} times in a row: {why}")
    elif attempt.outcome is Outcome.UNAVAILABLE and asked_s is None:
        _unavailable(stay, attempt)
    else:
        # Still queued, but behind the others: one URL that is always refused must not hold up its host.
        conclude(stay, due, Conclusion(UrlEvent.DEFERRED, attempt, score=due.score / 2))
    return VisitEnding.RESTS


def challenged(stay: Stay, attempt: Attempt) -> VisitEnding:
    """A challenge or CAPTCHA is a no to machines: never solved, the host rests; it is given up as one out of reach is."""
    stay.failures += 1
    stay.block(stay.kit.settings.challenge_rest_s, Rest(RestReason.CHALLENGED))
    conclude(stay, attempt.due, Conclusion(UrlEvent.DEFERRED, attempt, score=attempt.due.score / 2))
    if stay.failures >= most_in_a_row(stay):
        give_up(stay, Cause.CHALLENGED, f"{stay.failures} times in a row")
    return VisitEnding.RESTS


def give_up(stay: Stay, cause: Cause, detail: str) -> None:
    """Quarantine the URLs of the host that are still queued."""
    stay.batch.give_up.append(GivingUp(state=UrlState.QUARANTINED, cause=cause, detail=detail[:300]))


def most_in_a_row(stay: Stay) -> int:
    """Failures in a row after which a host, or the robots.txt of an origin, is given up."""
    settings = stay.kit.settings
    return settings.host_failures_max if stay.answered else settings.new_host_failures_max


def _unavailable(stay: Stay, attempt: Attempt) -> None:
    """A 503 that names no time: the URL's, when the host answered well before it, and then a patient one; else the host's."""
    before = stay.history.statuses[-2:-1]
    if before and pace.is_error(before[0]):
        conclude(stay, attempt.due, Conclusion(UrlEvent.DEFERRED, attempt, score=attempt.due.score / 2))
    else:
        of_url(stay, attempt, most=stay.kit.settings.host_failures_max)


def _hopeless(stay: Stay, attempt: Attempt) -> str | None:
    """Why a host that the circuit breaker closes again and again is given up at last, so that a crawl ends."""
    times = stay.kit.breaker_rules.failures + stay.trips - 1
    if not stay.trips or times < stay.kit.settings.host_failures_max:
        return None
    what = attempt.reply.failure or attempt.reply.status
    return f"{times} server errors or missing answers in a row, the last: {attempt.outcome} ({what})"
