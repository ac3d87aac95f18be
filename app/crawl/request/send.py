"""One request: sent in the slot it was granted, logged, and what it tells of its host and its address."""

from hashlib import sha256

import structlog

from app.crawl.request import line_gate, slots
from app.crawl.request.fetch_log import Sending, log, log_unsent
from app.crawl.request.line_gate import LineGate
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


def send(stay: Stay, slot: Slot, sending: Sending) -> tuple[Reply, Outcome, bytes | None] | None:
    """The reply, its outcome, and the SHA-256 of its body. Its row is in the batch, and the stay has learnt from it.

    None: it was not sent. Its starts had passed, none was to be had soon, or we lack what it takes: the visit is to leave, or to
    wait. Each start that was not used is a row of the log, too.
    """
    sent = _in_turn(stay, slot, sending)
    if sent is None:
        return None
    reply, slot = sent
    digest = sha256(reply.body).digest() if reply.body else None
    stay.address = reply.address or stay.address
    stay.contacted(reply.ended_s, slots.spaced_at(slot, reply.sent_s or reply.started_s))
    outcome = log(stay, slot, sending, reply, body_sha256=digest)
    # A dead port of a host that is there: no trouble of the host's, nor of its address.
    if outcome is not Outcome.UNREACHABLE or not stay.may_be_served_elsewhere(sending.url.origin):
        # robots.txt alone that fails has a back-off of its own, and must not keep its last good copy from being used (R3).
        closes = sending.request.kind is not RequestKind.ROBOTS or outcome is Outcome.UNREACHABLE
        _learn(stay, slot, reply, outcome, closes=closes)
    return reply, outcome, digest


def send_elsewhere(
    stay: Stay, slot: Slot, request: Request, loan: Loan, *, url: Url
) -> tuple[Reply, tuple[float, Rest] | None] | None:
    """One hop of a robots.txt to another host, whose lease was borrowed; and the rest that it asks for: (seconds, why)."""
    sending = Sending(request, url, "robots", loan=loan)
    gate = line_gate.gate(stay.kit, slot, host_id=loan.host_id, ready_at=stay.now())
    try:
        reply = _sent(stay, slot, request, gate)
    except NotSent as error:
        _not_sent(stay, error)
        return None
    if isinstance(reply, Unsent):
        log_unsent(stay, slot, sending, reply, why=_why(gate))
        return None
    if gate is not None:
        slot = line_gate.passed(slot, gate)
    outcome = log(stay, slot, sending, reply)
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


def _in_turn(stay: Stay, slot: Slot, sending: Sending) -> tuple[Reply, Slot] | None:
    """Send it at its start or at one of the next. Returns the slot that it went out in, too; None as in `send`."""
    for _ in range(TRIES):
        gate = line_gate.gate(stay.kit, slot, host_id=stay.host_id, ready_at=stay.ready_at)
        try:
            reply = _sent(stay, slot, sending.request, gate)
        except NotSent as error:
            _not_sent(stay, error)
            return None
        if isinstance(reply, Reply):
            return reply, _used(stay, slot, reply, gate)
        why = _why(gate)
        log_unsent(stay, slot, sending, reply, why=why)
        again = _again(stay, slot, sending, gate)
        if again is None:
            return None
        slot = again
    stay.rest(stay.delay_s, why)
    return None


def _sent(stay: Stay, slot: Slot, request: Request, gate: LineGate | None) -> Reply | Unsent:
    request = request._replace(address=slot.address if slot.drawn else None, not_after=slot.not_after, gate=gate)
    reply = stay.kit.send(request)
    if isinstance(reply, Unsent) or not slot.dns_ms or reply.connect_ms is None:
        return reply
    return reply._replace(dns_ms=slot.dns_ms)


def _used(stay: Stay, slot: Slot, reply: Reply, gate: LineGate | None) -> Slot:
    """The slot of a request that was sent, with the start that its gate opened for."""
    stay.promised = None
    if gate is None:
        return slot
    stay.connect_s = min((reply.connect_ms or 0.0) / 1000, line_gate.CONNECT_AHEAD_S)
    return line_gate.passed(slot, gate)


def _again(stay: Stay, slot: Slot, sending: Sending, gate: LineGate | None) -> Slot | None:
    """The slot of the next try, after a start that was not used; None: the visit is to leave, or to wait."""
    if gate is None:
        return slots.take(stay, sending.url, sending.request.deadline_s)
    if gate.answer is not None:
        slots.told(stay, gate.answer)
        return None
    return slot


def _why(gate: LineGate | None) -> Rest:
    """Why a request was not sent."""
    return gate.why if gate is not None else line_gate.LATE


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
