"""One request: sent in the slot it was granted, logged, and what it tells of its host and its address."""

from hashlib import sha256

import structlog

from app.crawl.request import slots
from app.crawl.request.fetch_log import log, unsent
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Stay
from app.errors import NotSent
from app.model import Failure, Outcome, Reply, Request, RequestKind, Rest, RestReason, Unsent, Url
from app.policy import backoff, pace
from app.policy.pace import NO_ANSWER
from app.store.host_rows import Loan

TRIES = 3
NOT_SENT_REST_S = 2.0
_SLOW_DOWN = {429, 503}
_log = structlog.get_logger()


def send(
    stay: Stay,
    slot: Slot,
    request: Request,
    *,
    url: Url,
    reason: str,
    crawl_id: int | None = None,
    attempt: int = 1,
) -> tuple[Reply, Outcome, bytes | None] | None:
    """The reply, its outcome, and the SHA-256 of its body. Its row is in the batch, and the stay has learnt from it.

    None: it was not sent. Its starts had passed, none was to be had soon, or we lack what it takes: the visit is to leave, or to
    wait. Each start that was not used is a row of the log, too.
    """
    for _ in range(TRIES):
        gate = slots.gate(stay.kit, slot, host_id=stay.host_id, ready_at=stay.ready_at)
        try:
            reply = _sent(stay, slot, request, gate)
        except NotSent as error:
            _not_sent(stay, error)
            return None
        if isinstance(reply, Reply):
            break
        why = gate.why if gate is not None else slots.LATE
        stay.batch.fetches.append(unsent(stay, slot, reply, request, url=url, crawl_id=crawl_id, why=why))
        if gate is not None and gate.answer is not None:
            slots.told(stay, gate.answer)
            return None
        if gate is None:
            again = slots.take(stay, url, request.deadline_s)
            if again is None:
                return None
            slot = again
    else:
        stay.rest(stay.delay_s, why)
        return None
    stay.promised = None
    if gate is not None:
        slot = slots.passed(slot, gate)
        stay.connect_s = min((reply.connect_ms or 0.0) / 1000, slots.CONNECT_AHEAD_S)
    digest = sha256(reply.body).digest() if reply.body else None
    stay.address = reply.address or stay.address
    stay.contacted(reply.ended_s, slots.spaced_at(slot, reply.sent_s or reply.started_s))
    outcome = log(
        stay,
        reply,
        slot=slot,
        url=url,
        reason=reason,
        request=request,
        crawl_id=crawl_id,
        attempt=attempt,
        body_sha256=digest,
    )
    # robots.txt alone that fails has a back-off of its own, and must not keep its last good copy from being used (R3).
    if outcome is Outcome.UNREACHABLE and stay.may_be_served_elsewhere(url.origin):
        return (
            reply,
            outcome,
            digest,
        )  # a dead port of a host that is there: no trouble of the host's, nor of its address
    _learn(stay, slot, reply, outcome, closes=request.kind is not RequestKind.ROBOTS or outcome is Outcome.UNREACHABLE)
    return reply, outcome, digest


def send_elsewhere(
    stay: Stay, slot: Slot, request: Request, loan: Loan, *, url: Url
) -> tuple[Reply, tuple[float, Rest] | None] | None:
    """One hop of a robots.txt to another host, whose lease was borrowed; and the rest that it asks for: (seconds, why)."""
    gate = slots.gate(stay.kit, slot, host_id=loan.host_id, ready_at=stay.now())
    try:
        reply = _sent(stay, slot, request, gate)
    except NotSent as error:
        _not_sent(stay, error)
        return None
    if isinstance(reply, Unsent):
        why = gate.why if gate is not None else slots.LATE
        stay.batch.fetches.append(unsent(stay, slot, reply, request, url=url, why=why, loan=loan))
        return None
    if gate is not None:
        slot = slots.passed(slot, gate)
    outcome = log(stay, reply, slot=slot, url=url, reason="robots", request=request, loan=loan)
    if outcome not in {Outcome.RATE_LIMITED, Outcome.UNAVAILABLE, Outcome.REDIRECT}:
        return reply, None
    asked_s = stay.asked_s(reply) or (0.0 if outcome is Outcome.REDIRECT else stay.kit.settings.backoff_base_s)
    if not asked_s:
        return reply, None
    stay.batch.fetches[-1]["rest_s"] = asked_s
    reason = RestReason.RETRY_AFTER if outcome is Outcome.REDIRECT else RestReason(outcome.value)
    return reply, (asked_s, Rest(reason))


def trouble(stay: Stay, reply: Reply, reason: RestReason) -> float | None:
    """The host rests, longer with each trouble in a row, or as long as it asks for. Returns what it asks for."""
    settings = stay.kit.settings
    stay.failures += 1
    asked_s = stay.asked_s(reply)
    rest_s = backoff.host_rest_s(stay.failures, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
    stay.block(max(asked_s or 0.0, rest_s), Rest(reason))
    return asked_s


def _sent(stay: Stay, slot: Slot, request: Request, gate: slots.LineGate | None) -> Reply | Unsent:
    request = request._replace(address=slot.address if slot.drawn else None, not_after=slot.not_after, gate=gate)
    reply = stay.kit.send(request)
    if isinstance(reply, Unsent) or not slot.dns_ms or reply.connect_ms is None:
        return reply
    return reply._replace(dns_ms=slot.dns_ms)


def _not_sent(stay: Stay, error: NotSent) -> None:
    _log.error("request.not_sent", host=stay.taken.name, error=str(error))
    stay.rest(NOT_SENT_REST_S, Rest(RestReason.NOT_SENT, error.what))


def _learn(stay: Stay, slot: Slot, reply: Reply, outcome: Outcome, *, closes: bool) -> None:
    """The host's delay adapts. A name whose connection is reset rests; an address that refuses connections rests as a whole, and
    so does one that resets those of two names."""
    if outcome is Outcome.BLOCKED_ADDRESS or _is_stale_connection(reply):
        return
    whole = reply.failure is None or reply.status in _SLOW_DOWN
    stay.learn(reply.status if reply.status and whole else NO_ANSWER, _latency_ms(reply, slot), closes=closes)
    failure = reply.failure
    resets = failure is Failure.RESET and reply.status is None
    refuses = failure in {Failure.REFUSED, Failure.CONNECT_TIMEOUT}
    if resets and closes:
        settings, times = stay.kit.settings, max(pace.silent_in_a_row(stay.history), 1)
        rest_s = backoff.host_rest_s(times, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
        stay.block(rest_s, Rest(RestReason.RESET))
    budget = slot.address_budget
    if budget is None:
        return
    if failure is not None and (resets or refuses):
        stay.batch.refused = (budget, failure)
        stay.is_blocked = stay.is_blocked or refuses
    elif slot.probes:
        stay.batch.answered = budget


def _is_stale_connection(reply: Reply) -> bool:
    """A kept-alive connection that was closed under the request: not the host's failure. The URL's next try goes over a
    fresh one, so that it is not the URL's either, unless it is."""
    return reply.failure is Failure.RESET and reply.connect_ms is None


def _latency_ms(reply: Reply, slot: Slot) -> int | None:
    """From asking to the first byte, without finding the address; None when none came. A slot's address was found before that."""
    if reply.first_byte_ms is None or reply.status is None:
        return None
    found_ms = 0.0 if slot.drawn else reply.dns_ms or 0.0
    return max(round(reply.first_byte_ms - found_ms), 0)
