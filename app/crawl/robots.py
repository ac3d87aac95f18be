"""robots.txt before anything else: the origin's file, from the database while it is fresh, else from the site.

Fetching it is a contact like any other, at the host's own pace. RFC 9309 section 2.3.1: 2xx is parsed, 3xx followed for
five hops, 4xx allows all, and 5xx, 429 and every failure of the network disallow all until it can be had.
"""

from dataclasses import replace
from hashlib import sha256
from typing import Literal

from sqlalchemy import Connection

from app.crawl import pacing
from app.crawl.stay import LEASE_MARGIN_S, RobotsFile, Stay
from app.model import Header, Origin, Refusal, Reply, Request, RequestKind, Url
from app.policy import backoff, robots
from app.policy.host import queue_for, registrable_domain
from app.policy.robots import ALLOW_ALL, Availability
from app.policy.url import Canon
from app.store import db, hosts
from app.store import robots as robots_store
from app.store.robots import Brief, Fetched

HOPS = 5  # RFC 9309 section 2.3.1.2: "at least five consecutive redirects"
LONGEST_HOP_WAIT_S = 20.0
BORROW_AGAIN_S = 10.0

Verdict = RobotsFile | Literal["wait", "unreachable"]


def load(stay: Stay, tx: Connection) -> None:
    """What the database knows of the host's origins, into the stay."""
    now = stay.now()
    for row in robots_store.pace_of_host(tx, stay.host_id):
        stay.robots[Origin(row.scheme, stay.taken.name, row.port)] = RobotsFile(
            rules=_stored_rules(stay, tx, row),
            fresh_until=now + row.fresh_s,
            failures=row.failures,
            body_sha256=row.body_sha256,
            etag=row.etag,
            last_modified=row.last_modified,
            crawl_delay_s=row.crawl_delay_s,
        )


def _stored_rules(stay: Stay, tx: Connection, row: Brief) -> robots.Robots | None:
    """Parsed; the body is read from the database only when this process has not seen it lately."""
    if row.availability == Availability.UNREACHABLE:
        return None
    if row.availability == Availability.UNAVAILABLE or row.body_sha256 is None:
        return ALLOW_ALL
    known = stay.kit.robots.known(row.body_sha256)
    return known or stay.kit.robots.parsed(
        robots_store.body(tx, host_id=stay.host_id, scheme=row.scheme, port=row.port)
    )


def of(stay: Stay, origin: Origin) -> Verdict:
    """The origin's file, fresh; "wait": its turn has not come; "unreachable": complete disallow for now."""
    known = stay.robots.get(origin)
    if known is None or known.fresh_until <= stay.now():
        if not pacing.turn(stay, stay.kit.settings.robots_deadline_s):
            return "wait"
        known = _fetch(stay, origin, known)
    return known if known.rules is not None else "unreachable"


def _fetch(stay: Stay, origin: Origin, known: RobotsFile | None) -> RobotsFile:
    """Ask the site, and put what it says into the stay and the batch."""
    reply, is_busy = _follow(stay, origin, known)
    fetched = _busy(reply, known) if is_busy else _judge(stay, reply, known)
    stay.batch.robots.append((origin, fetched))
    file = _file(stay, fetched, known)
    if known is not None and file.rules is not None:
        stay.batch.renewed_robots.append(origin)
    stay.robots[origin] = file
    stay.set_pace()
    if file.rules is not None:
        stay.answered = True
        stay.failures = 0
    return file


def _follow(stay: Stay, origin: Origin, known: RobotsFile | None) -> tuple[Reply, bool]:
    """The final answer: redirects followed, each hop at its own host's pace. True: a hop could not be made now."""
    url = stay.kit.canon.canonicalise(f"{origin}/robots.txt")
    assert isinstance(url, Url), f"an origin has a robots.txt: {origin}"
    request = Request(
        url=url.text,
        kind=RequestKind.ROBOTS,
        etag=known.etag if known and known.body_sha256 is not None else None,
        last_modified=known.last_modified if known and known.body_sha256 is not None else None,
        max_body_bytes=robots.MAX_BYTES + 1,
        deadline_s=stay.kit.settings.robots_deadline_s,
    )
    reply = _send(stay, url, request)
    for _ in range(HOPS):
        target = _target(stay.kit.canon, url, reply)
        if target is None:
            return reply, False
        url = target
        hop = replace(request, url=url.text, etag=None, last_modified=None)
        if url.host == stay.taken.name:
            if not pacing.wait(stay, LONGEST_HOP_WAIT_S, request.deadline_s):
                return replace(reply, detail="its redirect cannot be followed at this host's delay"), True
            reply = _send(stay, url, hop)
        else:
            answer = _send_elsewhere(stay, url, hop)
            if answer is None:
                return replace(reply, detail=f"redirected to {url.host}, which may not be contacted now"), True
            reply = answer
    return reply, False


def _send(stay: Stay, url: Url, request: Request) -> Reply:
    reply = stay.kit.send(request)
    stay.address = reply.address or stay.address
    pacing.log(stay, reply, url=url.text, key=url.key, kind=RequestKind.ROBOTS, reason="robots", request=request)
    stay.contacted(reply.ended_s)
    return reply


def _send_elsewhere(stay: Stay, url: Url, request: Request) -> Reply | None:
    """One request to another host, under a lease borrowed for it. None: it may not be contacted now."""
    kit = stay.kit
    row = {
        "name": url.host,
        "domain": registrable_domain(url.host),
        "queue": queue_for(url.host, kit.settings.queues),
    }
    with db.transaction(kit.engine) as tx:
        hosts.ensure(tx, rows=[row], delay_s=kit.settings.default_delay_s)
        loan = hosts.borrow(
            tx, name=url.host, lease_s=request.deadline_s + LEASE_MARGIN_S, isolate=kit.settings.settle_urls
        )
    if loan is None:
        return None
    reply = kit.send(request)
    pacing.log(
        stay,
        reply,
        url=url.text,
        key=url.key,
        kind=RequestKind.ROBOTS,
        reason="robots",
        request=request,
        loan=loan,
    )
    with db.transaction(kit.engine) as tx:
        hosts.give_back(tx, host_id=loan.host_id, token=loan.token, age_s=kit.monotonic() - reply.ended_s)
    return reply


def _target(canon: Canon, url: Url, reply: Reply) -> Url | None:
    """Where a redirect leads; None when it is none, or leads nowhere: then it stands as it is (as 404)."""
    if reply.failure is not None or reply.status not in {301, 302, 303, 307, 308}:
        return None
    target = canon.join(url.text, reply.header(Header.LOCATION) or "")
    return None if isinstance(target, Refusal) or target.key == url.key else target


def _busy(reply: Reply, known: RobotsFile | None) -> Fetched:
    """A redirect that cannot be followed now: out of reach for a moment, which is nobody's failure."""
    return _fetched(reply, Availability.UNREACHABLE, BORROW_AGAIN_S, failures=known.failures if known else 0)


def _judge(stay: Stay, reply: Reply, known: RobotsFile | None) -> Fetched:
    settings = stay.kit.settings
    fresh_s = robots.fresh_for_s(reply.header(Header.CACHE_CONTROL))
    if reply.status == 304 and known is not None and known.body_sha256 is not None:
        return _fetched(reply, Availability.AVAILABLE, fresh_s, revalidated=True)
    found = robots.availability(reply)
    if found is Availability.UNREACHABLE:
        failures = known.failures + 1 if known else 1
        rest_s = backoff.host_rest_s(failures, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
        return _fetched(reply, found, max(rest_s, stay.asked_s(reply) or 0.0), failures=failures)
    if found is Availability.UNAVAILABLE:
        return _fetched(reply, found, fresh_s)
    rules = stay.kit.robots.parsed(reply.body)
    return replace(
        _fetched(reply, found, fresh_s, body=reply.body),
        crawl_delay_raw=rules.crawl_delay_raw,
        crawl_delay_s=rules.crawl_delay_s,
        sitemaps=rules.sitemaps,
    )


def _fetched(
    reply: Reply,
    found: Availability,
    fresh_s: float,
    *,
    body: bytes | None = None,
    failures: int = 0,
    revalidated: bool = False,
) -> Fetched:
    return Fetched(
        availability=found.value,
        revalidated=revalidated,
        status=reply.status,
        detail=reply.detail or (reply.failure.value if reply.failure else ""),
        body=body,
        etag=reply.header(Header.ETAG),
        last_modified=reply.header(Header.LAST_MODIFIED),
        fresh_s=fresh_s,
        failures=failures,
        crawl_delay_raw=None,
        crawl_delay_s=None,
        sitemaps=(),
    )


def _file(stay: Stay, fetched: Fetched, known: RobotsFile | None) -> RobotsFile:
    fresh_until = stay.now() + fetched.fresh_s
    if fetched.availability == Availability.UNREACHABLE:
        before = known or RobotsFile(rules=None, fresh_until=fresh_until)
        return replace(before, rules=None, fresh_until=fresh_until, failures=fetched.failures)
    if fetched.revalidated and known is not None:
        return replace(known, rules=_known_rules(stay, known), fresh_until=fresh_until, failures=0)
    has_rules = fetched.availability == Availability.AVAILABLE and fetched.body is not None
    return RobotsFile(
        rules=stay.kit.robots.parsed(fetched.body) if has_rules and fetched.body is not None else ALLOW_ALL,
        fresh_until=fresh_until,
        body_sha256=sha256(fetched.body).digest() if fetched.body is not None else None,
        etag=fetched.etag,
        last_modified=fetched.last_modified,
        crawl_delay_s=fetched.crawl_delay_s,
    )


def _known_rules(stay: Stay, known: RobotsFile) -> robots.Robots:
    """The copy that a 304 confirms. It may be in the database alone, when it was out of reach until now."""
    found = known.rules or stay.kit.robots.known(known.body_sha256 or b"")
    if found is not None:
        return found
    origin = next(origin for origin, file in stay.robots.items() if file is known)
    with db.transaction(stay.kit.engine) as tx:
        return stay.kit.robots.parsed(
            robots_store.body(tx, host_id=stay.host_id, scheme=origin.scheme, port=origin.port)
        )
