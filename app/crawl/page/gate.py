"""The gate of one URL: whether it may be fetched now.

    still a URL of the crawl ▶ its scope ▶ robots.txt of its origin ▶ what its site reserves (crawls that honour opt-outs)

A robots.txt or tdmrep.json that nobody knows yet is asked for here, at the host's pace. The page's own turn comes after the gate,
in `app.crawl.request.slots`.
"""

from collections import deque
from enum import Enum

from app.crawl.page import failures, sitemaps
from app.crawl.page.attempt import Conclusion, conclude
from app.crawl.robots import obtain, tdmrep
from app.crawl.state.batch import GivingUp
from app.crawl.state.visit import Stay
from app.model import Cause, Refusal, RequestKind, Url
from app.policy.lifecycle import UrlEvent, UrlState
from app.policy.scope import judge
from app.store.url_rows import Due


class Shut(Enum):
    """The gate's answer for a URL that is not fetched now."""

    DONE = "it is dealt with"
    AWAY = "the visit is to leave, and the URL stays queued"


def check(stay: Stay, due: Due) -> Url | Shut:
    """The URL, if it may be fetched now. Raises LeaseLost."""
    url = stay.kit.canon.of_row(due.url, due.key, due.linked)
    scope = stay.scopes.get(due.crawl_id)
    if isinstance(url, Refusal) or scope is None:
        why = url if isinstance(url, Refusal) else "no scope"
        conclude(stay, due, Conclusion(UrlEvent.EXHAUSTED, cause=Cause.NO_URL, detail=why))
        return Shut.DONE
    refusal = judge(scope, url, due.depth) if due.kind == RequestKind.PAGE else None
    if refusal is not None:
        conclude(stay, due, Conclusion(UrlEvent.EXHAUSTED, cause=Cause.OUT_OF_SCOPE, detail=refusal))
        return Shut.DONE
    rules = obtain.of(stay, url.origin)
    if rules == "wait":
        return Shut.AWAY
    if rules == "shut":
        _without_robots(stay, url)
        return Shut.DONE
    sitemaps.discover(stay, due, url.origin)
    decision = rules.judge(url) if not rules.permits(url) else None
    if decision is not None:
        stay.kit.known.forget(due.crawl_id, due.key)  # another form of it may be allowed
        line = f"line {decision.line}: {decision.rule}"
        conclude(stay, due, Conclusion(UrlEvent.DISALLOWED, cause=Cause.ROBOTS, detail=line))
        return Shut.DONE
    if due.honour_opt_outs and due.kind == RequestKind.PAGE and not tdmrep.is_settled(stay, url, rules):
        return Shut.AWAY
    return url


def _without_robots(stay: Stay, url: Url) -> None:
    """No page of the origin for now: its URLs stay queued, and are not picked until it may be tried again.

    An origin whose robots.txt stays out of reach is given up, so that a crawl ends. Not so in crawls that keep fresh, which
    have no end, nor before its last good copy comes into force: that is worth waiting for.
    """
    file = stay.robots[url.origin]
    if file.rules is None and file.failures >= failures.most_in_a_row(stay) and not obtain.awaits_copy(stay, file):
        stay.batch.give_up.append(
            GivingUp(
                state=UrlState.REFUSED,
                cause=Cause.ROBOTS_OUT_OF_REACH,
                detail=f"{file.failures} times in a row: complete disallow (RFC 9309)",
                prefix=f"{url.origin}/",
                spares_fresh=True,
            )
        )
    stay.due = deque(other for other in stay.due if not other.url.startswith(f"{url.origin}/"))
