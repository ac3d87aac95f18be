"""One URL of a visit, from the gate to its result, as one record through named steps.

    gate (scope, robots.txt) ▶ turn (the host's pace) ▶ count (in isolation) ▶ send ▶ act on the outcome ▶ archive

A plain page of a host with a delay is read and archived later, with the batch (`app.crawl.page.later`).

`fetch` returns None when the visit may go on, else how it ends. What becomes of the URL is in `app.policy.lifecycle`.
"""

from functools import partial
from io import BytesIO
from typing import assert_never

from app import plugins
from app.crawl.page import gate, isolation, later, preferences, sitemaps
from app.crawl.page.attempt import Attempt
from app.crawl.page.consequences import act_on_outcome, note
from app.crawl.page.gate import Shut
from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Visit
from app.model import Outcome, Request, RequestKind, Url, VisitEnding
from app.parse.html.html import MEDIA_TYPES
from app.policy import media_type
from app.policy.scope import may_authenticate
from app.store.url_rows import Due


def fetch(visit: Visit, due: Due) -> VisitEnding | None:
    """Take one URL as far as it goes. Returns how the visit ends, or None to go on.

    Raises LeaseLost, ArchiveStopped.
    """
    visit.picked.current = due
    visit.worker.hooks.before_fetch(visit=visit, due=due)
    return isolation.guarded_whole(visit.batch, visit.picked, due, partial(_taken, visit, due))


def _taken(visit: Visit, due: Due) -> VisitEnding | None:
    match gate.check(visit, due):
        case Url() as url:
            return _fetch(visit, due, url)
        case Shut.DONE:
            return None
        case Shut.AWAY:
            return visit.rest.why_away
        case never:
            assert_never(never)


def _fetch(visit: Visit, due: Due, url: Url) -> VisitEnding | None:
    slot = slots.take(visit, url, visit.worker.settings.request_deadline_s)
    if slot is None:
        return visit.rest.why_away
    isolated = isolation.holds(visit.pace, due)
    attempts = isolation.count(visit, due) if isolated else due.attempts + 1
    if attempts is None:
        return None
    attempt = _send(visit, slot, due, url, attempts, isolated=isolated)
    if attempt is None:
        isolation.refund_later(visit.worker, visit.host_id, visit.batch)
        isolation.refund(visit.worker)
        return visit.rest.why_away
    if later.may_wait(visit, attempt):
        note(visit, attempt)
        later.put(visit, attempt)
        return None
    ending = act_on_outcome(visit, attempt)
    if ending is not VisitEnding.READERS_BUSY:  # it was not read, and is fetched again
        isolation.guarded(
            visit.batch, visit.picked, attempt, partial(visit.worker.hooks.answered, visit=visit, attempt=attempt)
        )
    return ending


def _send(visit: Visit, slot: Slot, due: Due, url: Url, attempts: int, *, isolated: bool) -> Attempt | None:
    settings, is_page = visit.worker.settings, due.kind == RequestKind.PAGE
    whole = preferences.is_wanted_whole(visit.worker, visit.origins, due, url) or any(
        visit.worker.hooks.wants_whole(visit=visit, due=due)
    )
    sink = None if is_page else sitemaps.sink()
    request = Request(
        url=url.text,
        kind=RequestKind(due.kind),
        etag=None if whole else due.known.etag,
        last_modified=None if whole else due.known.last_modified,
        wanted_types=(*MEDIA_TYPES, *plugins.readers(settings.plugins)) if is_page else None,
        or_listing=is_page and due.depth == 0,
        max_body_bytes=settings.max_body_bytes if is_page else sitemaps.MAX_BYTES,
        deadline_s=settings.request_deadline_s,
        sink=sink,
        keeps_coded=any(visit.worker.hooks.keeps_coded(visit=visit, due=due)),
        fresh=due.failures.network > 0,
        authorised=may_authenticate(visit.picked.scopes[due.crawl_id], url),
    )
    reason = "retry" if due.attempts else "recrawl" if due.fetched_at else "new"
    sent = send.send(visit, slot, Sending(request, url, reason, due.crawl_id, attempts))
    if sent is None:
        return None
    reply, outcome, digest = sent
    if request.or_listing and outcome is Outcome.PAGE and media_type.is_listing(reply.body):
        due, sink = due._replace(kind=RequestKind.SITEMAP), BytesIO(reply.body)
    tally = visit.batch.tally(due.crawl_id)
    tally.fetches += 1
    tally.bytes += reply.wire_bytes
    return Attempt(
        due=due,
        url=url,
        attempts=attempts,
        request=request,
        reply=reply,
        outcome=outcome,
        body_sha256=digest,
        logged=visit.turn.logged,
        sink=sink,
        isolated=isolated,
    )
