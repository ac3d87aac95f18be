"""Checks a URL against robots.txt by hand: by the stored copy, or by fetching the file once, politely.

`ask` is a visit that fetches only robots.txt. It keeps to the pace of the host, its address and the fleet like any other
visit, and the answer (a Crawl-delay, a Retry-After) holds from then on.
"""

from sqlalchemy import Engine

from app.admin.robots_report import Ruling, canonical, ruling
from app.admin.waiting import Row, host_waits_for, resting_words, when
from app.config import Settings
from app.crawl.frontier.enter import host_rows
from app.crawl.robots import obtain
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.crawl.visit.visit import take_up
from app.errors import InputError, LeaseLost
from app.model import Url, VisitEnding
from app.policy.lifecycle_visit import VisitEvent
from app.store import db, hosts
from app.store import robots as robots_store


def check(engine: Engine, settings: Settings, text: str) -> Ruling:
    """Judge a URL by the stored copy. Raises InputError for a text that is not a URL."""
    url = canonical(settings, text)
    with db.transaction(engine) as tx:
        host_id = hosts.ids(tx, [url.host]).get(url.host)
        stored = robots_store.of_host(tx, host_id) if host_id is not None else []
    return ruling(stored, url, settings)


def ask(worker: Worker, text: str) -> Ruling:
    """Fetch robots.txt of the URL's origin once and store it. Raises InputError when the host may not be contacted now."""
    url = canonical(worker.settings, text)
    visit = _visit(worker, url)
    known = visit.origins.robots.get(url.origin)
    if known is not None:
        known.fresh_until = visit.now()
    try:
        obtain.of(visit, url.origin)
        settle.leave(visit, VisitEnding.ROBOTS_CHECK)
    except LeaseLost:
        settle.log_fenced(visit)
        raise
    if visit.turn.requests == 0:
        waits_for = _rest_or_delay(visit.rest.why.words if visit.rest.why is not None else None, visit.pace.delay_s)
        raise InputError(f"host {url.host}", f"may not be contacted now; it waits for {waits_for}")
    return check(worker.engine, worker.settings, url.text)


def _visit(worker: Worker, url: Url) -> Visit:
    """Take up a visit to the URL's host. Raises InputError with the time until which it may not be contacted."""
    settings = worker.settings
    with db.transaction(worker.engine) as tx:
        hosts.ensure(tx, rows=host_rows([url.host], settings.queues), delay_s=settings.default_delay_s)
    with db.transaction(worker.engine) as tx:
        offer = hosts.offer_now(tx, name=url.host, offer_s=settings.offer_s, isolate=settings.settle_urls)
        host = hosts.show(tx, url.host)
        assert host is not None
        if offer is None:
            raise InputError(f"host {url.host}", f"may not be contacted now; it waits for {_why_not(host)}")
    visit = take_up(worker, offer.host_id, offer.token)
    if visit is None:
        raise LeaseLost(f"host {url.host}: a worker took it first; try again")
    visit.move(VisitEvent.SERVED)
    return visit


def _why_not(host: Row) -> str:
    until = max(host["polite_at"], host["blocked_until"] or host["polite_at"])
    if host["state"] == "idle" and until > host["now"]:
        return f"{_rest_or_delay(resting_words(host), host['delay_s'])}, {when(until, host['now'])}"
    return host_waits_for(host)


def _rest_or_delay(rest: str | None, delay_s: float) -> str:
    return f"its rest to end ({rest})" if rest else f"its delay of {delay_s:g} s to pass"
