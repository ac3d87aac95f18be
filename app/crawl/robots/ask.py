"""Asks a site for its robots.txt, and judges the answer.

RFC 9309 section 2.3.1: 2xx is parsed, 3xx is followed for five hops, 4xx allows all, and 5xx, 429 and every failure of
the network mean that the file is out of reach. Each hop is a request at the pace of its own host; for another host's,
its lease is borrowed.
"""

from dataclasses import dataclass, replace
from hashlib import sha256

from app.config.settings import LEASE_MARGIN_S
from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.request.learn import block, retry_after_s, trouble
from app.crawl.request.line_gate import AT_GATE_S
from app.crawl.state.lease import Lease
from app.crawl.state.origins import RobotsFile
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import raised
from app.model import Failure, Header, Origin, Outcome, Refusal, Reply, Request, RequestKind, Rest, RestReason, Url
from app.policy import backoff, robots
from app.policy.host import queue_for, registrable_domain
from app.policy.moment import Hours
from app.policy.outcome import TRANSIENT, classify, is_no_news
from app.policy.robots import Availability
from app.policy.url import Canon
from app.store import db, host_rows, hosts
from app.store.robots import Fetched

HOPS = 5  # RFC 9309 section 2.3.1.2: "at least five consecutive redirects"
LONGEST_HOP_WAIT_S = 20.0
LONGEST_SLOT_WAIT_S = 5.0
BORROW_AGAIN_S = 10.0
AGAIN_MAX_S = 3_600.0  # promise R3: while it is out of reach it is asked for again, with back-off


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsAnswer:
    """The last reply of a chain of redirects.

    is_busy     a further hop could not be made now;   free_s: seconds until it may be, as far as is known
    is_circle   the chain returned to an earlier URL: nobody can ever get this file, which is not a 404
    """

    reply: Reply
    is_busy: bool = False
    free_s: float = 0.0
    is_circle: bool = False


def url_of(canon: Canon, origin: Origin) -> Url:
    url = canon.canonicalise(f"{origin}/robots.txt")
    assert isinstance(url, Url), f"an origin has a robots.txt: {origin}"
    return url


def follow(visit: Visit, known: RobotsFile | None, url: Url, slot: Slot, *, authorised: bool) -> RobotsAnswer | None:
    """Send the request and follow redirects, each hop at its own host's pace. Returns None if the slot had passed, and
    nothing was sent.   known: the file so far, for its validators;   authorised: as in Request, within the origin"""
    has_copy = known is not None and known.body_sha256 is not None and not _is_deaf(known)
    request = Request(
        url=url.text,
        kind=RequestKind.ROBOTS,
        etag=known.etag if known and has_copy else None,
        last_modified=known.last_modified if known and has_copy else None,
        max_body_bytes=robots.MAX_BYTES + 1,
        deadline_s=visit.worker.settings.robots_deadline_s,
        keeps_coded=any(visit.worker.hooks.keeps_coded(visit=visit, due=visit.picked.current)),
        authorised=authorised,
    )
    first = _send(visit, slot, url, request)
    if first is None:
        return None
    visit.worker.hooks.rules_answered(visit=visit, reply=first, is_known=known is not None)
    answer = RobotsAnswer(reply=first)
    request = request._replace(etag=None, last_modified=None)
    if first.status in TRANSIENT or (has_copy and is_no_news(first, classify(first, conditional=True))):
        answer = _hop(visit, url, request._replace(fresh=True), first)
    seen = {url.key}
    for _ in range(HOPS):
        target = target_of(visit.worker.canon, url, answer.reply)
        if target is None or answer.is_busy:
            break
        if target.key in seen:
            return replace(answer, is_circle=True)
        seen.add(target.key)
        authorised = authorised and target.origin == url.origin
        url = target
        answer = _hop(visit, url, request._replace(url=url.text, authorised=authorised), answer.reply)
    return answer


def _is_deaf(known: RobotsFile) -> bool:
    """Whether the server did not understand its own validators, and could not be asked once more without them."""
    return known.unreachable_from is not None and known.status is not None and known.status < 500


def judge(worker: Worker, lease: Lease, answer: RobotsAnswer, known: RobotsFile | None) -> Fetched:
    """Decide what the answer means for the origin.   known: the file before it."""
    reply, settings = answer.reply, worker.settings
    failures = known.failures if known else 0
    asked_s = retry_after_s(worker, lease, reply) or 0.0
    fetched = _fetched(lease, reply)
    if answer.is_busy:  # out of reach for a moment, which counts as no failure
        again_s = max(_again_s(known, answer.free_s, lease.now()), asked_s)
        return replace(fetched, availability=Availability.UNREACHABLE, fresh_s=again_s, failures=failures)
    if reply.status == 304 and known is not None and known.body_sha256 is not None:
        return replace(fetched, availability=Availability.AVAILABLE, revalidated=True)
    if answer.is_circle or fetched.availability == Availability.UNREACHABLE:
        most_s = min(settings.backoff_max_s, AGAIN_MAX_S)
        rest_s = backoff.host_rest_s(failures + 1, base_s=settings.backoff_base_s, max_s=most_s)
        detail = "redirects in a circle" if answer.is_circle else fetched.detail
        return replace(
            fetched,
            availability=Availability.UNREACHABLE,
            detail=detail,
            fresh_s=max(rest_s, asked_s),
            failures=failures + 1,
        )
    if fetched.availability == Availability.UNAVAILABLE:
        return fetched
    rules = worker.robots.parsed(reply.body)
    worker.robots.signals(sha256(reply.body).digest(), lambda: reply.body)
    return replace(
        fetched,
        body=reply.body,
        crawl_delay_raw=rules.crawl_delay_raw,
        crawl_delay_s=rules.crawl_delay_s,
        sitemaps=rules.sitemaps,
    )


def unread(now: float, error: Exception) -> RobotsAnswer:
    """The answer in place of one that we cannot read, by a bug: nobody knows what it allows (RFC 9309 2.3.1.4)."""
    detail = raised("reading it", error)
    return RobotsAnswer(reply=Reply(status=None, failure=Failure.PROTOCOL, detail=detail, started_s=now, ended_s=now))


def _again_s(known: RobotsFile | None, free_s: float, now: float) -> float:
    """Seconds until the hop is tried again.

    Each try repeats the request to our own host, so wait as long as the file has been out of reach.
    """
    since = known.unreachable_from if known else None
    away_s = 0.0 if since is None else now - since
    return min(max(BORROW_AGAIN_S, away_s, free_s), AGAIN_MAX_S)


def _fetched(lease: Lease, reply: Reply) -> Fetched:
    """The reply as a row, as if it had no valid body."""
    return Fetched(
        at=lease.database_time(reply.ended_s),
        availability=robots.availability(reply),
        revalidated=False,
        status=reply.status,
        detail=reply.detail or (reply.failure.value if reply.failure else ""),
        body=None,
        etag=reply.validator(Header.ETAG),
        last_modified=reply.validator(Header.LAST_MODIFIED),
        fresh_s=robots.fresh_for_s(reply.header(Header.CACHE_CONTROL)),
        failures=0,
        crawl_delay_raw=None,
        crawl_delay_s=None,
        sitemaps=(),
    )


def _hop(visit: Visit, url: Url, request: Request, before: Reply) -> RobotsAnswer:
    """Follow one redirect.

    Returns its reply; where it may not be requested now, the reply before it, with the reason.
    """
    free_s = 0.0
    if visit.rest.is_blocked:
        why = "redirected, but it asks us to wait first"
    elif url.host == visit.lease.host:
        slot = slots.wait(visit, url, LONGEST_HOP_WAIT_S, request.deadline_s)
        own = _send(visit, slot, url, request) if slot is not None else None
        if own is not None:
            visit.worker.hooks.rules_answered(visit=visit, reply=own, is_known=True)
            return RobotsAnswer(reply=own)
        is_redirect = classify(before, conditional=True) is Outcome.REDIRECT
        what = "its redirect cannot be followed" if is_redirect else "it cannot be asked for once more"
        why = f"{what} at this host's delay"
    else:
        reply, free_s = send_elsewhere(visit, url, request)
        if reply is not None:
            visit.worker.hooks.rules_answered(visit=visit, reply=reply, is_known=True)
            return RobotsAnswer(reply=reply)
        why = f"redirected to {url.host}, which may not be contacted now"
    return RobotsAnswer(reply=before._replace(detail=why), is_busy=True, free_s=free_s)


def _send(visit: Visit, slot: Slot, url: Url, request: Request) -> Reply | None:
    """Send a request to the visit's own host. None: its slot had passed."""
    sent = send.send(visit, slot, Sending(request, url, "robots"))
    if sent is None:
        return None
    reply, outcome, _ = sent
    asked_s = retry_after_s(visit.worker, visit.lease, reply)
    if outcome in {Outcome.RATE_LIMITED, Outcome.UNAVAILABLE}:
        trouble(visit, reply, RestReason.ROBOTS_OUT_OF_REACH)
    elif outcome is Outcome.REDIRECT and asked_s:
        block(visit, asked_s, Rest(RestReason.RETRY_AFTER))
    return reply


def send_elsewhere(visit: Visit, url: Url, request: Request) -> tuple[Reply | None, float]:
    """Send one request to another host, under a borrowed lease.

    None: it may not be contacted yet; the seconds say when.
    """
    worker = visit.worker
    row = {
        "name": url.host,
        "domain": registrable_domain(url.host),
        "queue": queue_for(url.host, worker.settings.queues),
    }
    lease_s = LONGEST_SLOT_WAIT_S + request.deadline_s + LEASE_MARGIN_S
    with db.transaction(worker.engine) as tx:
        hosts.ensure(tx, rows=[row], delay_s=worker.settings.default_delay_s)
        lent = worker.monotonic()
        loan = hosts.borrow(
            tx,
            name=url.host,
            lease_s=lease_s,
            isolate=worker.settings.settle_urls,
        )
        free_s = hosts.free_in(tx, url.host) if loan is None else 0.0
    if loan is None:
        return None, AGAIN_MAX_S if free_s is None else free_s
    within_lease = lent + lease_s - request.deadline_s
    quiet_s = _quiet_for_s(visit.lease, loan.quiet_hours)
    sent = None if quiet_s else _send_in_a_slot(visit, url, request, loan, within_lease)
    rest_s, why = (sent[1] if sent else None) or (None, None)
    with db.transaction(worker.engine) as tx:
        hosts.return_loan(
            tx,
            host_id=loan.host_id,
            token=loan.token,
            age_s=worker.monotonic() - sent[0].ended_s if sent else None,
            rest_s=rest_s,
            why=why,
        )
    return (sent[0], 0.0) if sent else (None, quiet_s)


def _quiet_for_s(lease: Lease, hours: str | None) -> float:
    """Seconds until these quiet hours, set by an operator, end; 0.0 outside of them."""
    return Hours.parse(hours).until_end_s(lease.database_time(lease.now())) if hours is not None else 0.0


def _send_in_a_slot(
    visit: Visit, url: Url, request: Request, loan: host_rows.Loan, within_lease: float
) -> tuple[Reply, tuple[float, Rest] | None] | None:
    """Send in a slot of the other host.

    A slot that passed before there was a connection is replaced while the loan lasts.

    within_lease: monotonic second after which the request would outlast the loan, and is not sent
    """
    until = visit.now() + LONGEST_SLOT_WAIT_S
    for _ in range(send.TRIES):
        slot = slots.elsewhere(visit.worker, url, loan.host_id, until - visit.now())
        if slot is not None:
            latest = within_lease - (AT_GATE_S if slot.line is not None else 0.0)
            slot = slot._replace(not_after=min(slot.not_after or latest, latest))
        sent = send.send_elsewhere(visit, slot, request, loan, url=url) if slot is not None else None
        if slot is None or sent is not None or visit.rest.until is not None:
            return sent
    return None


def target_of(canon: Canon, url: Url, reply: Reply) -> Url | None:
    """The target of a redirect of a rule file.

    None if the reply is no redirect, or has no valid target: then it counts as 404 would.
    """
    if reply.status not in {301, 302, 303, 307, 308}:
        return None
    location = reply.header(Header.LOCATION)
    if not location:  # joined, it would name the URL itself, and the chain would be a circle
        return None
    target = canon.redirected(url.text, location)
    return None if isinstance(target, Refusal) else target
