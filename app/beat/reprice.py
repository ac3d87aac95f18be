"""Reprice: the price of a recrawl in each crawl whose profile has a budget of requests a day (promise V2).

A sample of the frontier tells how many requests a day its pages would ask for at a price; the price at which that is
the budget is written to the crawl, and visits reckon with it from then on. What is due stays due: prices turn
intervals over slowly.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.errors import InputError
from app.policy import recrawl
from app.policy.focus.profile import Profile
from app.policy.focus.profile_text import profile_of
from app.policy.moment import DAY_S
from app.policy.recrawl import ChangeRate, Terms
from app.store import caps, db, recrawls
from app.store.recrawls import Priced, Sampled

_log = structlog.get_logger()
ENOUGH = 2_000  # pages that a price is reckoned from


def reprice(engine: Engine, settings: Settings) -> int:
    """Reprice every crawl that keeps fresh. Returns how many have a budget."""
    with db.transaction(engine) as tx:
        found = [(crawl, _profile(crawl)) for crawl in recrawls.wanted(tx)]
        budgeted = {crawl.id: profile for crawl, profile in found if profile is not None and profile.requests_per_day}
        freed = [crawl.id for crawl, _ in found if crawl.id not in budgeted and crawl.recrawl_price_s is not None]
        percent = caps.sample_percent(tx) if budgeted else 100.0
        pages = recrawls.sample(tx, list(budgeted), percent=percent, n=20_000) if budgeted else []
    prices = {
        crawl_id: _price_s([page for page in pages if page.crawl_id == crawl_id], profile, settings, percent)
        for crawl_id, profile in budgeted.items()
    }
    with db.transaction(engine) as tx:
        for crawl_id, price_s in sorted({**dict.fromkeys(freed), **prices}.items()):
            recrawls.set_price(tx, crawl_id=crawl_id, price_s=price_s)
    if prices:
        _log.info("recrawl.repriced", prices=prices, pages=len(pages), percent=round(percent, 2))
    return len(prices)


def _profile(crawl: Priced) -> Profile | None:
    """None: an earlier or later release wrote it, and it has no meaning here."""
    try:
        return profile_of(crawl.profile)
    except InputError as error:
        _log.warning("profile.unreadable", crawl=crawl.name, error=str(error))
        return None


def _price_s(pages: Sequence[Sampled], profile: Profile, settings: Settings, percent: float) -> float | None:
    """The price at which these pages, a share of all, ask for that share of the budget. None where there are no pages
    yet.
    """
    if not pages:
        return None
    step = max(len(pages) // ENOUGH, 1)
    chosen = pages[::step]
    share = percent / 100 * len(chosen) / len(pages)
    rates = [_rate(page, profile, settings) for page in chosen]
    return recrawl.price_s(rates, (profile.requests_per_day or 0.0) / DAY_S * share)


def _rate(page: Sampled, profile: Profile, settings: Settings) -> tuple[ChangeRate, Terms]:
    parts = urlsplit(page.url)
    branch = profile.branch(parts.path + (f"?{parts.query}" if parts.query else ""))
    terms = recrawl.terms_of(
        branch.often, base_s=settings.recrawl_base_s, min_s=settings.recrawl_min_s, max_s=settings.recrawl_max_s
    )
    if page.change_shape is None or page.change_s is None:
        return recrawl.first_belief(terms.base_s), terms
    return ChangeRate(page.change_shape, page.change_s), terms
