"""The host's turn, the lease's reach, and the log row that every request leaves."""

from app.crawl.stay import LEASE_MARGIN_S, Stay
from app.errors import LeaseLost
from app.model import Header, Outcome, Reply, Request, RequestKind
from app.policy.outcome import classify
from app.store import db, hosts
from app.store.fetches import Fetch
from app.store.hosts import Loan


def turn(stay: Stay, deadline_s: float) -> bool:
    """Wait for the host's turn if it comes soon; then the next request may start. False: leave, and come again."""
    return wait(stay, stay.patience_s(), deadline_s)


def wait(stay: Stay, longest_s: float, deadline_s: float) -> bool:
    """The same for a wait of at most longest_s. The lease outlasts the wait and the whole request. Raises LeaseLost."""
    wait_s = stay.ready_at - stay.now()
    if wait_s > longest_s:
        return False
    if stay.lease_ends - stay.now() < max(wait_s, 0) + deadline_s + LEASE_MARGIN_S:
        _extend(stay)
    return wait_s <= 0 or not stay.kit.stopping.wait(wait_s)


def log(
    stay: Stay,
    reply: Reply,
    *,
    url: str,
    key: bytes,
    kind: RequestKind,
    reason: str,
    request: Request,
    crawl_id: int | None = None,
    attempt: int = 1,
    body_sha256: bytes | None = None,
    loan: Loan | None = None,
) -> Outcome:
    """Put the request into the batch's log; loan: it went to another host. Returns its outcome."""
    conditional = request.etag is not None or request.last_modified is not None
    row = fetch_row(
        reply,
        url=url,
        key=key,
        kind=kind,
        reason=reason,
        conditional=conditional,
        host_id=loan.host_id if loan else stay.host_id,
        crawl_id=crawl_id,
        anchor=stay.anchor,
        delay_s=loan.delay_s if loan else stay.delay_s,
        attempt=attempt,
        body_sha256=body_sha256,
    )
    stay.batch.fetches.append(row)
    return Outcome(row["outcome"])


def fetch_row(
    reply: Reply,
    *,
    url: str,
    key: bytes,
    kind: RequestKind,
    reason: str,
    conditional: bool,
    host_id: int,
    anchor: float,
    delay_s: float,
    crawl_id: int | None = None,
    attempt: int = 1,
    body_sha256: bytes | None = None,
) -> Fetch:
    """A request as a row of the log. anchor: the monotonic moment of the visit's take-up."""
    start_s = max(reply.started_s - anchor, 0.0)
    return {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "url_key": key,
        "url": url,
        "kind": kind.value,
        "reason": reason,
        "start_s": start_s,
        "end_s": max(reply.ended_s - anchor, start_s),
        "delay_s": delay_s,
        "address": reply.address,
        "status": reply.status,
        "outcome": classify(reply, conditional=conditional).value,
        "failure": reply.failure.value if reply.failure else None,
        "detail": reply.detail or None,
        "location": reply.header(Header.LOCATION),
        "retry_after": reply.header(Header.RETRY_AFTER),
        "content_type": reply.header(Header.CONTENT_TYPE),
        "wire_bytes": reply.wire_bytes,
        "body_bytes": len(reply.body),
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


def _extend(stay: Stay) -> None:
    sent = stay.now()
    with db.transaction(stay.kit.engine) as tx:
        if not hosts.extend(tx, host_id=stay.host_id, token=stay.token, lease_s=stay.kit.settings.lease_s):
            raise LeaseLost(stay.taken.name)
    stay.lease_ends = sent + stay.kit.settings.lease_s
