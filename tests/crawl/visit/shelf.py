"""A shelf for parked visits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine

from app.beat import claim
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import PREPARE_S, VisitReport, go_on, visit
from app.runtime.delay_queue import DelayQueue
from app.store.host_rows import Offer
from tests.crawl.ahead import ahead
from tests.crawl.web import Site, Web, html
from tests.store.rows import one

Make = Callable[..., Worker]
DELAY_S = 0.15


class Shelf(DelayQueue[Visit]):
    """Holds what is parked until the test goes on with it: when the turn comes is the visit's to wait for."""

    def __init__(self, most: int = 10) -> None:
        super().__init__(go_on, most=most, threads=1)
        self.held: list[Visit] = []

    @property
    def has_room(self) -> bool:
        return len(self.held) < self._most

    def park(self, visit: Visit, until: float) -> bool:
        ready_at = visit.turn.ready_at - max(visit.start.connect_s, PREPARE_S)
        latest = min(ready_at, visit.now() + visit.worker.stays.settled_within_s)
        assert until == ready_at or (visit.start.promised and until <= latest)
        self.held.append(visit)
        return True

    def next(self) -> VisitReport:
        visit = self.held.pop()
        visit.worker.stopping.wait(max(visit.turn.ready_at - visit.now(), 0.0))
        return go_on(visit)


def shelved(make: Make, *, most: int = 10, **settings: Any) -> tuple[Worker, Shelf]:
    """The worker's waits take no time, but for those of a budget, which Postgres counts."""
    shelf = Shelf(most)
    worker = make(default_delay_s=DELAY_S, linger_s=0.05, **settings)
    worker = replace(worker, stays=replace(worker.stays, parking=shelf))
    return worker if worker.starts.shared.any else ahead(worker), shelf


def site_of(web: Web, pages: int) -> Site:
    """Its first page leads to all others."""
    site = web.site()
    paths = [f"/{number}" for number in range(1, pages)]
    site.pages["/"] = html(*paths, text="The first of them.")
    for path in paths:
        site.pages[path] = html(text=f"What is said at {path} is said nowhere else.")
    return site


def begin(worker: Worker) -> VisitReport:
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    (offer,) = offers
    return visit(worker, offer.host_id, offer.token)


def settled(engine: Engine) -> int:
    return int(one(engine, "SELECT count(*) FROM urls WHERE state <> 'queued'"))
