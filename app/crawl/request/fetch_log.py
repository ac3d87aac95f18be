"""A request as a row of the log."""

from typing import NamedTuple

import structlog

from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Visit
from app.model import Header, Outcome, Reply, Request, RequestKind, Rest, Unsent, Url
from app.policy import blocks
from app.policy.outcome import classify
from app.store.fetches import Fetch
from app.store.host_rows import HostPace, Loan

_log = structlog.get_logger()
_JUDGED = {RequestKind.PAGE, RequestKind.SUBREQUEST}


class Sending(NamedTuple):
    """A request, and what it is sent for.

    reason    of the log: "new", "retry", "recrawl" or "robots"
    crawl_id  None: for the host, not for one crawl
    attempt   of the URL, with this one
    loan      the lease that was borrowed, of another host that it goes to
    """

    request: Request
    url: Url
    reason: str
    crawl_id: int | None = None
    attempt: int = 1
    loan: Loan | None = None


class _Ended(NamedTuple):
    """The end of a request.

    evidence  that a page met a wall made for bots
    """

    outcome: Outcome
    evidence: blocks.Evidence | None = None
    conditional: bool = False
    body_sha256: bytes | None = None


def log(visit: Visit, slot: Slot, sending: Sending, reply: Reply, *, body_sha256: bytes | None = None) -> Outcome:
    """Put the request into the batch's log, whatever its answer does to us. Returns its outcome."""
    request = sending.request
    conditional = request.etag is not None or request.last_modified is not None
    outcome, evidence = Outcome.BROKEN, None
    try:
        outcome, evidence = _outcome(reply, request.kind, conditional=conditional)
    finally:
        ended = _Ended(outcome, evidence, conditional, body_sha256)
        visit.lease.tie(visit.worker.starts.clock_tie.latest(visit.lease.taken_at))
        visit.turn.logged = _row(visit.lease, visit.pace.delay_s, slot, sending, reply, ended)
        visit.batch.fetches.append(visit.turn.logged)
    return outcome


def log_unsent(
    lease: Lease, pace: HostPace, batch: Batch, slot: Slot, sending: Sending, unsent: Unsent, *, why: Rest
) -> None:
    """Put a request that was not sent into the log: when it waited, why it was not, and the connection that it made."""
    stands_for = Reply(
        status=None,
        started_s=unsent.begun_s,
        ended_s=unsent.ended_s,
        detail=why.words,
        address=unsent.address,
        connect_ms=unsent.connect_ms,
        total_ms=(unsent.ended_s - unsent.begun_s) * 1000,
        contacted_s=unsent.contacted_s,
    )
    loan = sending.loan
    _log.info("request.unsent", host=loan.host_id if loan else lease.host, why=why.words)
    no_attempt = sending._replace(reason="unsent", attempt=0)
    batch.fetches.append(_row(lease, pace.delay_s, slot, no_attempt, stands_for, _Ended(Outcome.UNSENT)))


def _outcome(reply: Reply, kind: RequestKind, *, conditional: bool) -> tuple[Outcome, blocks.Evidence | None]:
    """How the request ended; evidence: that a page, or what one asks for, met a wall made for bots."""
    evidence = blocks.find(reply) if kind in _JUDGED else None
    if evidence is None:
        return classify(reply, conditional=conditional, of_page=kind is RequestKind.PAGE), None
    return Outcome.CHALLENGED if evidence.kind is blocks.BlockKind.CHALLENGE else Outcome.SOFT_BLOCKED, evidence


def _row(lease: Lease, delay_s: float, slot: Slot, sending: Sending, reply: Reply, ended: _Ended) -> Fetch:
    """A request as a row: its moments are seconds since the visit's take-up."""
    anchor = lease.anchor - lease.behind_s
    loan, budget = sending.loan, slot.address_budget
    start_s = max(reply.started_s - anchor, 0.0)
    return {
        "host_id": loan.host_id if loan else lease.host_id,
        "crawl_id": sending.crawl_id,
        "visit_id": lease.visit_id,
        "anchor": lease.taken_at,
        "url_key": sending.url.key,
        "url": sending.url.text,
        "kind": sending.request.kind.value,
        "reason": sending.reason,
        "start_s": start_s,
        "end_s": max(reply.ended_s - anchor, start_s),
        "contact_s": None if reply.contacted_s is None else max(reply.contacted_s - anchor, 0.0),
        "delay_s": loan.delay_s if loan else delay_s,
        "address_budget": budget.name if budget else None,
        "address_gap_s": budget.gap_s if budget else None,
        "rest_s": None,
        "address": reply.address,
        "status": reply.status,
        "outcome": ended.outcome.value,
        "failure": reply.failure.value if reply.failure else None,
        "detail": ended.evidence.name if ended.evidence else reply.detail or None,
        "location": reply.noted(Header.LOCATION),
        "retry_after": reply.noted(Header.RETRY_AFTER),
        "content_type": reply.noted(Header.CONTENT_TYPE),
        "wire_bytes": reply.wire_bytes,
        "body_bytes": len(reply.body) + reply.sunk_bytes,
        "truncated": reply.truncated,
        "dns_ms": reply.dns_ms,
        "connect_ms": reply.connect_ms,
        "first_byte_ms": reply.first_byte_ms,
        "total_ms": reply.total_ms,
        "conditional": ended.conditional,
        "etag": reply.noted(Header.ETAG),
        "last_modified": reply.noted(Header.LAST_MODIFIED),
        "body_sha256": ended.body_sha256,
        "attempt": sending.attempt,
        "segment_id": None,
        "at_offset": None,
        "length": None,
    }
