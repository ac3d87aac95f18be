"""Checks a URL against robots.txt by hand: by the stored copy, or by fetching the file once, politely.

`ask` is a visit that fetches only robots.txt. It keeps to the pace of the host, its address and the fleet like any
other visit, and the answer (a Crawl-delay, a Retry-After) holds from then on.
"""

from sqlalchemy import Engine

from app.admin import by_hand
from app.admin.robots_report import Ruling, canonical, ruling
from app.config import Settings
from app.crawl.robots import obtain
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.errors import LeaseLost
from app.model import VisitEnding
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
    """Fetch robots.txt of the URL's origin once and store it.

    Raises InputError when the host may not be contacted now.
    """
    url = canonical(worker.settings, text)
    visit = by_hand.take_up_now(worker, url)
    known = visit.origins.robots.get(url.origin)
    if known is not None:
        known.fresh_until = visit.now()
    try:
        obtain.of(visit, url.origin, authorised=True)
        settle.leave(visit, VisitEnding.ROBOTS_CHECK)
    except LeaseLost:
        settle.log_fenced(visit)
        raise
    if visit.turn.requests == 0:
        raise by_hand.not_now(visit, url)
    return check(worker.engine, worker.settings, url.text)
