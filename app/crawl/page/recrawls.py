"""When a page is due again, by what this visit saw of it and what its crawl's profile says (promises V1 to V4)."""

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from app.crawl.page.attempt import Attempt
from app.crawl.state.visit import Visit
from app.model import Header, RequestKind
from app.policy import recrawl
from app.policy.recrawl import USUAL, ChangeRate, Revisit
from app.store.url_rows import Due

JUST_MADE: Final = timedelta(seconds=60)  # a Last-Modified so young is most likely the time of the answer


class Next(NamedTuple):
    """Seconds until the next visit, the interval that they are spread around, and the belief that it comes from."""

    due_s: float
    interval_s: float
    belief: ChangeRate


def after(visit: Visit, attempt: Attempt, *, changed: bool | None) -> Next:
    """The next visit of a page or a sitemap.   changed: since the visit before; None: there was none to compare with"""
    due, settings = attempt.due, visit.worker.settings
    is_page = due.kind == RequestKind.PAGE
    worth = visit.picked.worth.get(due.crawl_id) if is_page else None
    terms = recrawl.terms_of(
        worth.often(attempt.url.target) if worth is not None else USUAL,
        base_s=settings.recrawl_base_s if is_page else settings.sitemap_interval_s,
        min_s=settings.recrawl_min_s,
        max_s=settings.recrawl_max_s,
        price_s=due.crawl.recrawl_price_s if is_page else None,
    )
    belief = recrawl.first_belief(terms.base_s)
    if due.rhythm.change_shape is not None and due.rhythm.change_s is not None:
        belief = ChangeRate(due.rhythm.change_shape, due.rhythm.change_s)
    if due.fetched_at is not None:
        now = visit.lease.database_time(visit.now())
        elapsed_s = (now - due.fetched_at).total_seconds()
        belief = recrawl.belief_after(
            belief, Revisit(interval_s=max(elapsed_s, 0.0), changed=changed, age_s=_age_s(attempt, due, now))
        )
    interval_s = recrawl.interval_s(belief, terms)
    return Next(recrawl.spread_s(interval_s, visit.worker.rng), interval_s, belief)


def _age_s(attempt: Attempt, due: Due, now: datetime) -> float | None:
    """Seconds since the last change, by Last-Modified or else by the sitemap; None: neither says anything of use."""
    for when in (_moment(attempt.reply.header(Header.LAST_MODIFIED)), due.lastmod):
        if when is not None and due.fetched_at is not None and due.fetched_at < when <= now - JUST_MADE:
            return (now - when).total_seconds()
    return None


def _moment(header: str | None) -> datetime | None:
    """An HTTP date; None for none."""
    if header is None:
        return None
    try:
        found = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else None
