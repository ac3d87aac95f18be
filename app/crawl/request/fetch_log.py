"""A request as a row of the log."""

from datetime import datetime

import structlog

from app.crawl.state.slot import Slot
from app.crawl.state.visit import Stay
from app.model import Header, Outcome, Reply, Request, RequestKind, Rest, Unsent, Url
from app.policy import blocks, walls
from app.policy.outcome import classify
from app.store.budgets import Budget
from app.store.fetches import Fetch
from app.store.host_rows import Loan

_log = structlog.get_logger()


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


def _outcome(reply: Reply, kind: RequestKind, *, conditional: bool) -> tuple[Outcome, walls.Evidence | None]:
    """How the request ended; evidence: that a page met a wall made for bots."""
    evidence = blocks.find(reply) if kind is RequestKind.PAGE else None
    if evidence is None:
        return classify(reply, conditional=conditional), None
    return Outcome.CHALLENGED if evidence.kind is walls.BlockKind.CHALLENGE else Outcome.SOFT_BLOCKED, evidence


def unsent(
    stay: Stay,
    slot: Slot,
    unsent: Unsent,
    request: Request,
    *,
    url: Url,
    why: Rest,
    crawl_id: int | None = None,
    loan: Loan | None = None,
) -> Fetch:
    """A request that was not sent as a row of the log: when it waited, why it was not, and the connection that it made."""
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
    _log.info("request.unsent", host=loan.host_id if loan else stay.taken.name, why=why.words)
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
    evidence: walls.Evidence | None,
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
