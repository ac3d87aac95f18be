"""Visits of several hosts, gathered for one settle."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine, event

from app.beat import claim
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import VisitReport, go_on, settle_together, visit
from app.model import VisitEnding
from app.runtime.delay_queue import DelayQueue
from app.runtime.group_commit import GroupCommit
from app.store.host_rows import Offer
from tests.crawl.ahead import ahead
from tests.crawl.web import Site, Web, html
from tests.store.rows import sql

Make = Callable[..., Worker]
DELAY_S = 0.15


class Basket(GroupCommit[Visit]):
    """Holds what is to be settled together, and what was parked, until the test goes on with it."""

    def __init__(self) -> None:
        super().__init__(DelayQueue(lambda _: None, most=0, threads=0), soonest_s=2 * DELAY_S / 3)
        self.gathered: list[Visit] = []
        self.shelf = Shelf()

    def add(self, visit: Visit, links: int) -> bool:
        self.gathered.append(visit)
        return True

    def settle(self) -> dict[str, str]:
        """All of them together. Returns, by host, what became of the visit."""
        visits, self.gathered = self.gathered, []
        if not visits:
            return {}
        return {each.host or "": each.ending for each in (act() for _, act in settle_together(visits))}


class Shelf(DelayQueue[Visit]):
    def __init__(self) -> None:
        super().__init__(lambda _: None, most=100, threads=0)
        self.held: list[Visit] = []

    def park(self, visit: Visit, until: float) -> bool:
        self.held.append(visit)
        return True

    def go_on(self) -> list[VisitReport]:
        """Each makes its next request when its turn comes."""
        visits, self.held = self.held, []
        reports = []
        for each in visits:
            each.worker.stopping.wait(max(each.turn.ready_at - each.now(), 0.0))
            reports.append(go_on(each))
        return reports


def gathering(make: Make, basket: Basket, **settings: Any) -> Worker:
    """Each answer is settled, together with others. No wait takes time."""
    worker = make(**{"default_delay_s": DELAY_S, "linger_s": 0.02, "settle_s": DELAY_S - 1e-4, **settings})
    return ahead(replace(worker, stays=replace(worker.stays, parking=basket.shelf, gatherer=basket)))


def site_of(web: Web, pages: int, *links: str) -> Site:
    """Its first page leads to all others."""
    site = web.site()
    paths = [f"/{number}" for number in range(1, pages)]
    site.pages["/"] = html(*paths, text=f"The first of {site.host}.")
    for path in paths:
        site.pages[path] = html(*links, text=f"What {site.host} says at {path} is said nowhere else.")
    return site


def gathered(worker: Worker, basket: Basket, n: int) -> list[Visit]:
    """Visits to every host, each with its second page to settle."""
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    assert len(offers) == n
    for offer in offers:
        assert visit(worker, offer.host_id, offer.token).ending == VisitEnding.PARKED
    for _ in range(2):
        basket.settle()
        basket.shelf.go_on()
    assert len(basket.gathered) == n
    return list(basket.gathered)


@contextmanager
def commits(engine: Engine) -> Iterator[list[int]]:
    """Their number, at the end."""
    counted: list[int] = []

    def count(_: Any) -> None:
        counted.append(1)

    event.listen(engine, "commit", count)
    try:
        yield counted
    finally:
        event.remove(engine, "commit", count)


def states(engine: Engine, site: Site) -> list[str]:
    rows = sql(
        engine,
        "SELECT u.state FROM urls AS u JOIN hosts AS h ON h.id = u.host_id WHERE h.name = :name ORDER BY u.id",
        name=site.host,
    )
    return [row["state"] for row in rows]
