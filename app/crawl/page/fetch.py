"""One URL of a visit, from the gate to its result, as one record through named steps.

    gate (scope, robots.txt) ▶ turn (the host's pace) ▶ count (in isolation) ▶ send ▶ act on the outcome ▶ archive

A plain page of a host with a delay is read and archived later, with the batch (`app.crawl.page.later`).

`fetch` returns None when the visit may go on, else how it ends. What becomes of the URL is in `app.policy.lifecycle`.
"""

from enum import Enum
from functools import partial
from io import BytesIO
from typing import assert_never

from app import plugins
from app.crawl.frontier import admit
from app.crawl.frontier.give_up import GIVE_UP, GivingUp
from app.crawl.page import isolation, later, preferences, sitemaps
from app.crawl.page.attempt import Attempt, Conclusion, conclude
from app.crawl.page.consequences import act_on_outcome, note
from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.robots import obtain, tdmrep
from app.crawl.robots.obtain import NoRules
from app.crawl.state.batch import Batch
from app.crawl.state.picked import Picked
from app.crawl.state.seen import KnownKeys
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Visit
from app.crawl.state.worth import name_of_ending
from app.model import Cause, Outcome, Request, RequestKind, Url, VisitEnding
from app.parse.html.html import MEDIA_TYPES
from app.policy import media_type
from app.policy.lifecycle import UrlEvent, UrlState
from app.policy.robots import MAX_STEPS, Robots
from app.policy.scope import judge, may_authenticate
from app.policy.url import file_ending
from app.store.url_rows import Due


def fetch(visit: Visit, due: Due) -> VisitEnding | None:
    """Take one URL as far as it goes. Returns how the visit ends, or None to go on.

    Raises LeaseLost, ArchiveStopped.
    """
    visit.picked.current = due
    visit.worker.hooks.before_fetch(visit=visit, due=due)
    return isolation.guarded_whole(visit.batch, visit.picked, due, partial(_taken, visit, due))


def _taken(visit: Visit, due: Due) -> VisitEnding | None:
    match check(visit, due):
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


# The gate of one URL: whether it may be fetched now.
#
#     still a URL of the crawl ▶ its scope ▶ its ending ▶ robots.txt of its origin ▶
#     what its site reserves (crawls that honour opt-outs) ▶ files that features ask its site for ▶ whether it is a trap
#
# A robots.txt, a tdmrep.json or another file of its site that nobody knows yet is asked for here, at the host's pace.
# The page's own turn comes after the gate, in `app.crawl.request.slots`.


# URLs of a visit that a robots.txt may be too costly for, at 20 ms each. Further ones get a quarter of the work, which
# short paths do with that resemble none of its patterns.
COSTLY_MOST = 8


class Shut(Enum):
    """The gate's answer for a URL that is not fetched now."""

    DONE = "it is dealt with"
    AWAY = "the visit is to leave, and the URL stays queued"


def check(visit: Visit, due: Due) -> Url | Shut:
    """The URL, if it may be fetched now. Raises LeaseLost."""
    url = visit.worker.canon.of_row(due.url, due.key, due.linked)
    scope = visit.picked.scopes.get(due.crawl_id)
    if not isinstance(url, Url) or scope is None:
        why = "no scope" if isinstance(url, Url) else url
        conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.EXHAUSTED, cause=Cause.NO_URL, detail=why))
        return Shut.DONE
    refusal = judge(scope, url, due.depth, hops=due.hops) if due.kind == RequestKind.PAGE else None
    if refusal is not None:
        end = Conclusion(UrlEvent.EXHAUSTED, cause=Cause.OUT_OF_SCOPE, detail=refusal)
        conclude(visit.batch, visit.picked, due, end)
        return Shut.DONE
    if _ends_like_a_file(visit.worker.caches.known, visit.batch, visit.picked, due, url):
        return Shut.DONE
    match obtain.of(visit, url.origin, authorised=may_authenticate(scope, url)):
        case Robots() as rules:
            return _by_rules(visit, due, url, rules)
        case NoRules.WAIT:
            return Shut.AWAY
        case NoRules.SHUT:
            _without_robots(visit, url)
            return Shut.DONE
        case never:
            assert_never(never)


def _ends_like_a_file(known: KnownKeys, batch: Batch, picked: Picked, due: Due, url: Url) -> bool:
    """Whether it is refused for its ending, of which none has been a page on its host.

    Not what a person asked for, nor what we have.
    """
    ending = file_ending(url.target) if due.kind == RequestKind.PAGE and due.depth > 0 else None
    if ending is None or due.fetched_at is not None or due.cause == Cause.FORCED:
        return False
    if not picked.worth[due.crawl_id].refuses_ending(ending):
        return False
    admit.suppress_ending(known, batch, due.crawl_id, url, ending, found_on=due.found_on)
    end = Conclusion(UrlEvent.TRAPPED, cause=Cause.EXTENSION, detail=name_of_ending(ending))
    conclude(batch, picked, due, end)
    return True


def _by_rules(visit: Visit, due: Due, url: Url, rules: Robots) -> Url | Shut:
    """The URL, if robots.txt and what its site reserves let it be fetched now. Raises LeaseLost."""
    sitemaps.discover(visit.worker, visit.origins, visit.picked, visit.batch, due, url.origin)
    file = visit.origins.robots[url.origin]
    decision = rules.judge(url, MAX_STEPS if file.too_costly < COSTLY_MOST else MAX_STEPS // 4)
    file.too_costly += decision.is_too_costly
    if not decision.allowed:
        visit.worker.caches.known.forget(due.crawl_id, due.key)  # another form of it may be allowed
        cause, line = Cause.ROBOTS, f"line {decision.line}: {decision.rule}"
        if decision.is_too_costly:
            cause, line = Cause.TOO_COSTLY, f"group {decision.group} of {url.origin}/robots.txt"
        conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.DISALLOWED, cause=cause, detail=line))
        return Shut.DONE
    if due.honour_opt_outs and due.kind == RequestKind.PAGE:
        authorised = may_authenticate(visit.picked.scopes[due.crawl_id], url)
        if not tdmrep.is_settled(visit, url, rules, authorised=authorised):
            return Shut.AWAY
    if due.kind == RequestKind.PAGE and not all(visit.worker.hooks.is_open(visit=visit, due=due, url=url)):
        return Shut.AWAY
    return Shut.DONE if due.kind == RequestKind.PAGE and _is_trap(visit.batch, visit.picked, due, url) else url


def _is_trap(batch: Batch, picked: Picked, due: Due, url: Url) -> bool:
    """Whether it is refused as a trap, by what its pattern has brought by now.

    Not what a person asked for, nor what we have.
    """
    if due.depth == 0 or due.fetched_at is not None or due.cause == Cause.FORCED:
        return False
    detail = picked.worth[due.crawl_id].trap(due, url)
    if detail is None:
        return False
    conclude(batch, picked, due, Conclusion(UrlEvent.TRAPPED, cause=Cause.TRAP, detail=detail))
    return True


def _without_robots(visit: Visit, url: Url) -> None:
    """No page of the origin for now: its URLs stay queued, and are not picked until it may be tried again.

    An origin whose robots.txt stays out of reach is given up, so that a crawl ends: soon, where it has never answered,
    as https of many a host. Not so in crawls that keep fresh, which have no end, nor before its last good copy comes
    into force: that is worth waiting for.
    """
    file = visit.origins.robots[url.origin]
    most = visit.worker.settings.failures_most(answered=visit.pace.answered and file.answered)
    if file.rules is None and file.failures >= most and not obtain.awaits_copy(visit.worker, file, visit.now()):
        visit.batch.add(
            GIVE_UP,
            GivingUp(
                state=UrlState.REFUSED,
                cause=Cause.ROBOTS_OUT_OF_REACH,
                detail=f"{file.failures} times in a row: complete disallow (RFC 9309)",
                prefix=f"{url.origin}/",
                spares_fresh=True,
            ),
        )
    visit.picked.drop_origin(f"{url.origin}/")
