"""One request of a page to another host, such as a CDN: that host's lease is taken for it, exactly as a visit takes it.

offer ▶ take up ▶ robots.txt, turn, send ▶ settle and leave. While somebody else visits the host, or its turn is further
away than a page waits, the request is refused: no page makes another host wait.
"""

import threading

from app.browser.values import Answer, Refused
from app.crawl.frontier.enter import host_rows
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, return_host, stay, take_up
from app.errors import ServiceError
from app.features.render import at_host
from app.features.render.fields import Asking
from app.model import Url, VisitEnding
from app.model.render import RenderRefusal
from app.store import db, hosts
from app.store.host_rows import Offer

LONGEST_S = 10.0  # that a page waits for the turn of another host
_LOOK_S = 0.25


def fetch(
    worker: Worker,
    url: Url,
    crawl_id: int,
    asking: Asking,
    *,
    until: float,
    is_over: threading.Event = at_host.GOES_ON,
) -> Answer | Refused:
    """Send the request by `until` (monotonic), and before the page is over. Raises ServiceError."""
    until = min(until, worker.monotonic() + LONGEST_S)
    offer = _offer(worker, url.host, until)
    if isinstance(offer, Refused):
        return offer
    visit = take_up(worker, offer.host_id, offer.token, picks=False)
    if visit is None:
        return Refused(RenderRefusal.BUDGET)
    found: list[Answer | Refused] = []

    def act() -> VisitEnding:
        found.append(at_host.fetch(visit, url, crawl_id, asking, until=until, is_over=is_over))
        return VisitEnding.RENDERED

    try:
        report = stay(visit, act)
    except CutOff as error:
        return_host(error.visit)
        raise ServiceError(error.what, error.remedy) from error
    return found[0] if found and report.ending is VisitEnding.RENDERED else Refused(RenderRefusal.FAILED)


def _offer(worker: Worker, name: str, until: float) -> Offer | Refused:
    """An offer of the host to ourselves, by `until`."""
    settings = worker.settings
    with db.transaction(worker.engine) as tx:
        hosts.ensure(tx, rows=host_rows([name], settings.queues), delay_s=settings.default_delay_s)
    while worker.monotonic() < until:
        with db.transaction(worker.engine) as tx:
            offer = hosts.offer_now(tx, name=name, offer_s=settings.offer_s, isolate=settings.settle_urls)
            free_s = hosts.free_in(tx, name) if offer is None else 0.0
        if offer is not None:
            return offer
        if free_s is None or worker.monotonic() + free_s >= until:
            return Refused(RenderRefusal.BUDGET)
        if worker.stopping.wait(max(free_s, _LOOK_S)):
            break
    return Refused(RenderRefusal.TIME)
