"""One request: sent in the slot it was granted, logged, and what it tells of its host and its address."""

from hashlib import sha256

import structlog

from app.crawl.request import line_gate, slots
from app.crawl.request.fetch_log import Sending, log, log_unsent
from app.crawl.request.learn import learn, retry_after_s, tell_address
from app.crawl.request.line_gate import LineGate
from app.crawl.state.host_rest import HostRest
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.picked import Picked
from app.crawl.state.slot import SharedStart, Slot
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import NotSent
from app.model import Origin, Outcome, Reply, Request, RequestKind, Rest, RestReason, Unsent, Url
from app.store.host_rows import Loan

TRIES = 3
NOT_SENT_REST_S = 2.0
_log = structlog.get_logger()


def send(visit: Visit, slot: Slot, sending: Sending) -> tuple[Reply, Outcome, bytes | None] | None:
    """The reply, its outcome, and the SHA-256 of its body. Its row is in the batch, and the visit has learnt from it.

    None: it was not sent. Its starts had passed, none was to be had soon, or we lack what it takes: the visit is to
    leave, or to wait. Each start that was not used is a row of the log, too.
    """
    sent = _in_turn(visit, slot, sending)
    if sent is None:
        return None
    reply, slot = sent
    digest = sha256(reply.body).digest() if reply.body else None
    visit.start.address = reply.address or visit.start.address
    if not visit.batch.fetches:
        visit.batch.started = reply.ended_s
    visit.turn.contacted(visit.worker, reply.ended_s, slots.spaced_at(slot, reply.sent_s or reply.started_s))
    outcome = log(visit, slot, sending, reply, body_sha256=digest)
    # A dead port of a host that is there: no trouble of the host's, nor of its address.
    if outcome is not Outcome.UNREACHABLE or not _may_be_served_elsewhere(
        visit.origins, visit.picked, sending.url.origin
    ):
        # A robots.txt that fails has a back-off of its own, and must not keep its last good copy from use (promise R3).
        closes = sending.request.kind is not RequestKind.ROBOTS or outcome is Outcome.UNREACHABLE
        learn(visit, slot, reply, outcome, closes=closes)
    return reply, outcome, digest


def send_elsewhere(
    visit: Visit, slot: Slot, request: Request, loan: Loan, *, url: Url
) -> tuple[Reply, tuple[float, Rest] | None] | None:
    """One request to another host, whose lease was borrowed; with the rest it asks for: (seconds, why)."""
    reason = "robots" if request.kind is RequestKind.ROBOTS else "new"
    sending = Sending(request, url, reason, loan=loan)
    gate = line_gate.gate(visit.worker, slot, host_id=loan.host_id, ready_at=visit.now())
    try:
        reply = _sent(visit.worker, slot, request, gate)
    except NotSent as error:
        _not_sent(visit.lease, visit.rest, error)
        return None
    if isinstance(reply, Unsent):
        log_unsent(visit.lease, visit.pace, visit.batch, slot, sending, reply, why=_why(gate))
        return None
    if gate is not None:
        slot = line_gate.passed(slot, gate)
    outcome = log(visit, slot, sending, reply)
    tell_address(visit.batch, slot, reply)
    if outcome not in {Outcome.RATE_LIMITED, Outcome.UNAVAILABLE, Outcome.REDIRECT}:
        return reply, None
    asked_s = retry_after_s(visit.worker, visit.lease, reply) or (
        0.0 if outcome is Outcome.REDIRECT else visit.worker.settings.backoff_base_s
    )
    if not asked_s:
        return reply, None
    if visit.turn.logged is not None:
        visit.turn.logged["rest_s"] = asked_s
    reason = RestReason.RETRY_AFTER if outcome is Outcome.REDIRECT else RestReason(outcome.value)
    return reply, (asked_s, Rest(reason))


def _in_turn(visit: Visit, slot: Slot, sending: Sending) -> tuple[Reply, Slot] | None:
    """Send it at its start or at one of the next. Returns the slot that it went out in, too; None as in `send`."""
    for _ in range(TRIES):
        gate = line_gate.gate(visit.worker, slot, host_id=visit.host_id, ready_at=visit.turn.ready_at)
        try:
            reply = _sent(visit.worker, slot, sending.request, gate)
        except NotSent as error:
            _not_sent(visit.lease, visit.rest, error)
            return None
        if isinstance(reply, Reply):
            return reply, _used(visit.start, slot, reply, gate)
        why = _why(gate)
        log_unsent(visit.lease, visit.pace, visit.batch, slot, sending, reply, why=why)
        again = _again(visit, slot, sending, gate)
        if again is None:
            return None
        slot = again
    visit.rest.prolong(visit.now() + visit.pace.delay_s, why)
    return None


def _sent(worker: Worker, slot: Slot, request: Request, gate: LineGate | None) -> Reply | Unsent:
    request = request._replace(address=slot.address if slot.drawn else None, not_after=slot.not_after, gate=gate)
    with worker.stays.seats.left():
        reply = worker.send(request)
    if isinstance(reply, Unsent) or not slot.dns_ms or reply.connect_ms is None:
        return reply
    return reply._replace(dns_ms=slot.dns_ms)


def _used(start: SharedStart, slot: Slot, reply: Reply, gate: LineGate | None) -> Slot:
    """The slot of a request that was sent, with the start that its gate opened for."""
    start.promised = None
    if gate is None:
        return slot
    start.connect_s = min((reply.connect_ms or 0.0) / 1000, line_gate.CONNECT_AHEAD_S)
    return line_gate.passed(slot, gate)


def _again(visit: Visit, slot: Slot, sending: Sending, gate: LineGate | None) -> Slot | None:
    """The slot of the next try, after a start that was not used; None: the visit is to leave, or to wait."""
    if gate is None:
        return slots.take(visit, sending.url, sending.request.deadline_s)
    if gate.answer is not None:
        slots.return_later(visit, gate.answer)
        return None
    return slot


def _why(gate: LineGate | None) -> Rest:
    """Why a request was not sent."""
    return gate.why if gate is not None else line_gate.LATE


def _not_sent(lease: Lease, rest: HostRest, error: NotSent) -> None:
    _log.error("request.not_sent", host=lease.host, error=str(error))
    rest.prolong(lease.now() + NOT_SENT_REST_S, Rest(RestReason.NOT_SENT, error.what))


def _may_be_served_elsewhere(origins: HostOrigins, picked: Picked, origin: Origin) -> bool:
    """Whether another origin of the host answered for its robots.txt, or is asked next.

    Then a refused connection means that this port is closed, and nothing about the host or its address.
    """
    if any(other != origin and file.status is not None for other, file in origins.robots.items()):
        return True
    asked = tuple(f"{each}/" for each in (origin, *origins.robots))
    return any(not due.url.startswith(asked) for due in picked.due)
