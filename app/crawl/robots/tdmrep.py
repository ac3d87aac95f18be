"""/.well-known/tdmrep.json of an origin: asked for before its first page, for crawls that honour opt-outs (SPEC R9).

Source: W3C community group, TDMRep of 10 May 2024. A contact like any other: at the host's own pace, in a slot of its own, and
only where robots.txt allows it. One copy for the fleet, in `robots.tdmrep`. Whatever the answer, the pages come next, after the
rest that it asks for: a site that cannot tell what it reserves there is crawled by what else it says.
What a file means is in `app.policy.tdm`.
"""

from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.state.robots_file import Tdmrep
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Stay
from app.model import Origin, Reply, Request, RequestKind, RestReason, Url
from app.policy import tdm
from app.policy.outcome import is_host_trouble
from app.policy.robots import Robots
from app.policy.tdm import Signal
from app.store import db
from app.store import robots as robots_store
from app.store.robots import AskedTdmrep

AGAIN_S = 24 * 3600.0
AGAIN_UNKNOWN_S = 3600.0  # while nobody knows whether there is one
SHARE = 20  # at most one contact in so many, however long the host's delay is
TYPES = (
    "application/json",
    "application/*",
    "text/plain",
)  # what comes as text/html is the site's page for what is not there


def is_settled(stay: Stay, url: Url, rules: Robots) -> bool:
    """What its origin reserves is known as far as it can be. False: the turn to ask has not come, or the answer closed the
    host: leave. Raises LeaseLost."""
    known = stay.tdmrep.get(url.origin) or _stored(stay, url.origin)
    if known.ask_at > stay.now():
        return True
    file = stay.kit.canon.canonicalise(f"{url.origin}/.well-known/tdmrep.json")
    assert isinstance(file, Url), f"an origin has a tdmrep.json: {url.origin}"
    if not rules.allowed(file.target):
        return True
    slot = slots.take(stay, file, stay.kit.settings.robots_deadline_s)
    return slot is not None and _ask(stay, slot, file, known) and not stay.is_blocked


def signals(stay: Stay, url: Url) -> tuple[Signal, ...]:
    """What the file says of a URL, as far as the visit knows."""
    known = stay.tdmrep.get(url.origin)
    return tdm.of_tdmrep(known.body, url.target) if known else ()


def _stored(stay: Stay, origin: Origin) -> Tdmrep:
    """What the database knows of it, into the stay."""
    with db.transaction(stay.kit.engine) as tx:
        body, age_s = robots_store.tdmrep(tx, host_id=stay.host_id, origin=origin)
    ask_at = stay.now() if age_s is None else stay.now() - age_s + _again_s(stay, body)
    stay.tdmrep[origin] = Tdmrep(body=body or b"", ask_at=ask_at)
    return stay.tdmrep[origin]


def _ask(stay: Stay, slot: Slot, file: Url, known: Tdmrep) -> bool:
    """Ask the site, and put what it says into the stay and the batch. False: nothing was asked, the slot had passed."""
    request = Request(
        url=file.text,
        kind=RequestKind.TDMREP,
        wanted_types=TYPES,
        max_body_bytes=tdm.MAX_BYTES,
        deadline_s=stay.kit.settings.robots_deadline_s,
    )
    sent = send.send(stay, slot, Sending(request, file, "recrawl" if known.body else "new"))
    if sent is None:
        return False
    reply, outcome, _ = sent
    if is_host_trouble(outcome):
        send.trouble(stay, reply, RestReason(outcome.value))
    else:
        stay.failures, stay.answered = 0, stay.answered or reply.status is not None
    # Counted from the end of a rest: else a host that asks for a long one would be asked for this file and never for a page.
    since = stay.now() + max(stay.rest_s or 0.0, 0.0)
    body = _body(reply)
    stay.tdmrep[file.origin] = Tdmrep(body=known.body if body is None else body, ask_at=since + _again_s(stay, body))
    stay.batch.tdmrep.append((file.origin, AskedTdmrep(at=stay.database_time(since), body=body)))
    return True


def _body(reply: Reply) -> bytes | None:
    """Empty: there is none, or it is no such file; None: nobody knows. A redirect is not followed: the origin that it leads
    to is asked for its own, once it has pages for us."""
    if reply.failure is not None or reply.status is None or reply.status == 429 or reply.status >= 500:
        return None
    return reply.body if 200 <= reply.status < 300 and not reply.truncated and tdm.is_tdmrep(reply.body) else b""


def _again_s(stay: Stay, body: bytes | None) -> float:
    return max(AGAIN_UNKNOWN_S if body is None else AGAIN_S, SHARE * stay.delay_s)
