"""One request: sent in the slot it was granted, logged, and what it tells of its host and its address."""

from datetime import datetime
from hashlib import sha256

import structlog

from app.crawl import turn
from app.crawl.stay import Slot, Stay
from app.errors import NotSent
from app.model import Failure, Header, Outcome, Reply, Request, RequestKind, Unsent, Url
from app.policy import backoff, blocks, pace
from app.policy.outcome import classify
from app.policy.pace import NO_ANSWER
from app.store.budgets import Budget
from app.store.fetches import Fetch
from app.store.hosts import Loan

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
        gate = turn.gate(stay.kit, slot, host_id=stay.host_id, ready_at=stay.ready_at)
        try:
            reply = _sent(stay, slot, request, gate)
        except NotSent as error:
            _not_sent(stay, error)
            return None
        if isinstance(reply, Reply):
            break
        why = gate.why if gate is not None else turn.LATE
        stay.batch.fetches.append(_unsent_row(stay, slot, reply, request, url=url, crawl_id=crawl_id, why=why))
        if gate is not None and gate.answer is not None:
            turn.told(stay, gate.answer)
            return None
        if gate is None:
            again = turn.take(stay, url, request.deadline_s)
            if again is None:
                return None
            slot = again
    else:
        stay.rest(stay.delay_s, why)
        return None
    stay.promised = None
    if gate is not None:
        slot = turn.passed(slot, gate)
        stay.connect_s = min((reply.connect_ms or 0.0) / 1000, turn.CONNECT_AHEAD_S)
    digest = sha256(reply.body).digest() if reply.body else None
    stay.address = reply.address or stay.address
    stay.contacted(reply.ended_s, turn.spaced_at(slot, reply.sent_s or reply.started_s))
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
) -> tuple[Reply, tuple[float, str] | None] | None:
    """One hop of a robots.txt to another host, whose lease was borrowed; and the rest that it asks for: (seconds, why)."""
    gate = turn.gate(stay.kit, slot, host_id=loan.host_id, ready_at=stay.now())
    try:
        reply = _sent(stay, slot, request, gate)
    except NotSent as error:
        _not_sent(stay, error)
        return None
    if isinstance(reply, Unsent):
        why = gate.why if gate is not None else turn.LATE
        stay.batch.fetches.append(_unsent_row(stay, slot, reply, request, url=url, why=why, loan=loan))
        return None
    if gate is not None:
        slot = turn.passed(slot, gate)
    outcome = log(stay, reply, slot=slot, url=url, reason="robots", request=request, loan=loan)
    if outcome not in {Outcome.RATE_LIMITED, Outcome.UNAVAILABLE, Outcome.REDIRECT}:
        return reply, None
    asked_s = stay.asked_s(reply) or (0.0 if outcome is Outcome.REDIRECT else stay.kit.settings.backoff_base_s)
    if not asked_s:
        return reply, None
    stay.batch.fetches[-1]["rest_s"] = asked_s
    return reply, (asked_s, outcome.value)


def trouble(stay: Stay, reply: Reply, because: str) -> float | None:
    """The host rests, longer with each trouble in a row, or as long as it asks for. Returns what it asks for."""
    settings = stay.kit.settings
    stay.failures += 1
    asked_s = stay.asked_s(reply)
    rest_s = backoff.host_rest_s(stay.failures, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
    stay.block(max(asked_s or 0.0, rest_s), because)
    return asked_s


def _sent(stay: Stay, slot: Slot, request: Request, gate: turn.LineGate | None) -> Reply | Unsent:
    request = request._replace(address=slot.address if slot.drawn else None, not_after=slot.not_after, gate=gate)
    reply = stay.kit.send(request)
    if isinstance(reply, Unsent) or not slot.dns_ms or reply.connect_ms is None:
        return reply
    return reply._replace(dns_ms=slot.dns_ms)


def _not_sent(stay: Stay, error: NotSent) -> None:
    _log.error("request.not_sent", host=stay.taken.name, error=str(error))
    stay.rest(NOT_SENT_REST_S, error.what)


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
        stay.block(backoff.host_rest_s(times, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s), "reset")
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


def log(
    stay: Stay,
    reply: Reply,
    *,
    slot: Slot,
    url: Url,
    reason: str,
    request: Request,
    crawl_id: int | None = None,
    attempt: int = 1,
    body_sha256: bytes | None = None,
    loan: Loan | None = None,
) -> Outcome:
    """Put the request into the batch's log; loan: it went to another host. Returns its outcome."""
    conditional = request.etag is not None or request.last_modified is not None
    outcome, evidence = _outcome(reply, request.kind, conditional=conditional)
    row = fetch_row(
        reply,
        outcome,
        evidence,
        url=url.text,
        key=url.key,
        kind=request.kind,
        reason=reason,
        conditional=conditional,
        host_id=loan.host_id if loan else stay.host_id,
        crawl_id=crawl_id,
        visit_id=stay.taken.visit_id,
        taken_at=stay.taken.now,
        anchor=stay.anchor,
        delay_s=loan.delay_s if loan else stay.delay_s,
        budget=slot.address_budget,
        shift_s=_shift_s(stay, slot),
        attempt=attempt,
        body_sha256=body_sha256,
    )
    stay.batch.fetches.append(row)
    return outcome


def _outcome(reply: Reply, kind: RequestKind, *, conditional: bool) -> tuple[Outcome, blocks.Evidence | None]:
    """How the request ended; evidence: that a page met a wall made for bots."""
    evidence = blocks.find(reply) if kind is RequestKind.PAGE else None
    if evidence is None:
        return classify(reply, conditional=conditional), None
    return Outcome.CHALLENGED if evidence.kind is blocks.BlockKind.CHALLENGE else Outcome.SOFT_BLOCKED, evidence


def _unsent_row(
    stay: Stay,
    slot: Slot,
    unsent: Unsent,
    request: Request,
    *,
    url: Url,
    why: str,
    crawl_id: int | None = None,
    loan: Loan | None = None,
) -> Fetch:
    """A request that was not sent as a row of the log: when it waited, why it was not, and the connection that it made."""
    stands_for = Reply(
        status=None,
        started_s=unsent.begun_s,
        ended_s=unsent.ended_s,
        detail=why,
        address=unsent.address,
        connect_ms=unsent.connect_ms,
        total_ms=(unsent.ended_s - unsent.begun_s) * 1000,
        contacted_s=unsent.contacted_s,
    )
    _log.info("request.unsent", host=loan.host_id if loan else stay.taken.name, why=why)
    return fetch_row(
        stands_for,
        Outcome.UNSENT,
        None,
        url=url.text,
        key=url.key,
        kind=request.kind,
        reason="unsent",
        conditional=False,
        host_id=loan.host_id if loan else stay.host_id,
        crawl_id=crawl_id,
        visit_id=stay.taken.visit_id,
        taken_at=stay.taken.now,
        anchor=stay.anchor,
        delay_s=loan.delay_s if loan else stay.delay_s,
        budget=slot.address_budget,
        attempt=0,
    )


def _shift_s(stay: Stay, slot: Slot) -> float:
    """Take-up and grant each tie a moment of ours to the database's, no later than it was: the later of the two is nearer."""
    if slot.granted_at is None:
        return 0.0
    now, received = slot.granted_at
    return max((now - stay.taken.now).total_seconds() - (received - stay.anchor), 0.0)


def fetch_row(
    reply: Reply,
    outcome: Outcome,
    evidence: blocks.Evidence | None,
    *,
    url: str,
    key: bytes,
    kind: RequestKind,
    reason: str,
    conditional: bool,
    host_id: int,
    visit_id: int,
    taken_at: datetime,
    anchor: float,
    delay_s: float,
    crawl_id: int | None = None,
    budget: Budget | None = None,
    shift_s: float = 0.0,
    attempt: int = 1,
    body_sha256: bytes | None = None,
) -> Fetch:
    """A request as a row of the log. taken_at, anchor: the visit's take-up in database time, and its monotonic moment.
    budget: its address's.

    shift_s: what is known to be lost between that moment and the database's.
    """
    start_s = max(reply.started_s - anchor + shift_s, 0.0)
    return {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "visit_id": visit_id,
        "anchor": taken_at,
        "url_key": key,
        "url": url,
        "kind": kind.value,
        "reason": reason,
        "start_s": start_s,
        "end_s": max(reply.ended_s - anchor + shift_s, start_s),
        "contact_s": None if reply.contacted_s is None else max(reply.contacted_s - anchor, 0.0),
        "delay_s": delay_s,
        "address_budget": budget.name if budget else None,
        "address_gap_s": budget.gap_s if budget else None,
        "rest_s": None,
        "address": reply.address,
        "status": reply.status,
        "outcome": outcome.value,
        "failure": reply.failure.value if reply.failure else None,
        "detail": evidence.name if evidence else reply.detail or None,
        "location": reply.header(Header.LOCATION),
        "retry_after": reply.header(Header.RETRY_AFTER),
        "content_type": reply.header(Header.CONTENT_TYPE),
        "wire_bytes": reply.wire_bytes,
        "body_bytes": len(reply.body) + reply.sunk_bytes,
        "truncated": reply.truncated,
        "dns_ms": reply.dns_ms,
        "connect_ms": reply.connect_ms,
        "first_byte_ms": reply.first_byte_ms,
        "total_ms": reply.total_ms,
        "conditional": conditional,
        "etag": reply.header(Header.ETAG),
        "last_modified": reply.header(Header.LAST_MODIFIED),
        "body_sha256": body_sha256,
        "attempt": attempt,
    }
