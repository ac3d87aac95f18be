"""/.well-known/tdmrep.json of an origin: fetched before its first page, for crawls that honour opt-outs (promise R9).

Source: W3C community group, TDMRep of 10 May 2024. It is a request like any other: at the host's own pace, in its own
slot, and only where robots.txt allows it. The fleet keeps one copy, in `robots.tdmrep`. Whatever the answer, the pages
follow, after any rest that it asks for: a site that cannot serve this file is crawled by its other opt-outs.
`app.policy.tdm` decides what a file means.
"""

import structlog

from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.request.learn import trouble
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins, Tdmrep
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.errors import is_ours
from app.model import Origin, Reply, Request, RequestKind, RestReason, Url
from app.policy import tdm
from app.policy.outcome import is_host_trouble
from app.policy.robots import Robots
from app.policy.tdm import Signal
from app.store import db
from app.store import robots as robots_store
from app.store.robots import AskedTdmrep

_log = structlog.get_logger()
AGAIN_S = 24 * 3600.0
AGAIN_UNKNOWN_S = 3600.0  # while it is unknown whether there is one
SHARE = 20  # at most one request in this many is for this file, however long the host's delay is


def is_settled(visit: Visit, url: Url, rules: Robots, *, authorised: bool) -> bool:
    """Whether the origin's reservations are known, or cannot be.   authorised: as in Request

    False: leave; it is too early to ask, or the answer closed the host. Raises LeaseLost.
    """
    known = visit.origins.tdmrep.get(url.origin)
    if known is None:
        known = _stored(visit.worker, visit.lease, url.origin, visit.pace.delay_s)
        visit.origins.tdmrep[url.origin] = known
    if known.ask_at > visit.now():
        return True
    file = visit.worker.canon.canonicalise(f"{url.origin}/.well-known/tdmrep.json")
    assert isinstance(file, Url), f"an origin has a tdmrep.json: {url.origin}"
    if not rules.allowed(file.target):
        return True
    slot = slots.take(visit, file, visit.worker.settings.robots_deadline_s)
    return slot is not None and _ask(visit, slot, file, known, authorised) and not visit.rest.is_blocked


def signals(origins: HostOrigins, url: Url) -> tuple[Signal, ...]:
    """The file's signals about a URL, as far as the visit knows them."""
    known = origins.tdmrep.get(url.origin)
    return tdm.of_tdmrep(known.body, url.target) if known else ()


def _stored(worker: Worker, lease: Lease, origin: Origin, delay_s: float) -> Tdmrep:
    """The file as the database knows it."""
    with db.transaction(worker.engine) as tx:
        body, age_s = robots_store.tdmrep(tx, host_id=lease.host_id, origin=origin)
    ask_at = lease.now() if age_s is None else lease.now() - age_s + _again_s(delay_s, body)
    return Tdmrep(body=body or b"", ask_at=ask_at)


def _ask(visit: Visit, slot: Slot, file: Url, known: Tdmrep, authorised: bool) -> bool:
    """Ask the site, and add its answer to the visit and the batch. False: the slot had passed, and nothing was sent."""
    request = Request(
        url=file.text,
        kind=RequestKind.TDMREP,
        wanted_types=("application/json", "application/*", "text/plain"),
        max_body_bytes=tdm.MAX_BYTES,
        deadline_s=visit.worker.settings.robots_deadline_s,
        keeps_coded=any(visit.worker.hooks.keeps_coded(visit=visit, due=visit.picked.current)),
        authorised=authorised,
    )
    sent = send.send(visit, slot, Sending(request, file, "recrawl" if known.body else "new"))
    if sent is None:
        return False
    reply, outcome, _ = sent
    if is_host_trouble(outcome):
        trouble(visit, reply, RestReason(outcome.value))
    else:
        visit.pace.serve(reply.status)
    # Counted from the end of a rest: a host that asks for long rests would otherwise get requests for this file alone.
    since = visit.now() + max(visit.rest.left_s(visit.now()) or 0.0, 0.0)
    body = _body(reply)
    visit.origins.tdmrep[file.origin] = Tdmrep(
        body=known.body if body is None else body, ask_at=since + _again_s(visit.pace.delay_s, body)
    )
    visit.batch.robots.tdmrep.append((file.origin, AskedTdmrep(at=visit.lease.database_time(since), body=body)))
    visit.worker.hooks.rules_answered(visit=visit, reply=reply, is_known=bool(known.body))
    return True


def _body(reply: Reply) -> bytes | None:
    """The file's bytes: empty if there is no valid file, None if that is unknown.

    A redirect is not followed: its target's origin is asked for its own file when it has pages for us.
    """
    if not reply.is_told or reply.status is None or reply.status == 429 or reply.status >= 500:
        return None
    if not 200 <= reply.status < 300 or reply.truncated:
        return b""
    try:
        return reply.body if tdm.is_tdmrep(reply.body) else b""
    except Exception as error:
        if is_ours(error):
            raise
        _log.exception("tdmrep.crashed")
        return None


def _again_s(delay_s: float, body: bytes | None) -> float:
    return max(AGAIN_UNKNOWN_S if body is None else AGAIN_S, SHARE * delay_s)
