"""A page of very many links, on a machine that is slow: the visit looks at its lease while it takes them in."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from app.clock import monotonic
from app.crawl.state.lease import Lease
from app.crawl.state.seen import KnownKeys
from app.crawl.state.visit import LINK_S, LOOK_LINKS
from app.crawl.state.worker import Worker
from app.model import Budgets, Refusal, Url, VisitEnding
from app.policy.url import Canon
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import one

Make = Callable[..., Worker]
LEASE_S = 20.0
COST_S = LINK_S  # of each step for a link
MANY = 12 * LOOK_LINKS


class Machine:
    """A clock that the work on links moves on, and what was left of the leases meanwhile."""

    def __init__(self) -> None:
        self._worked_s = 0.0
        self.steps = 0
        self.least_s = LEASE_S
        self.leases: Mapping[int, Lease] = {}

    def now(self) -> float:
        return monotonic() + self._worked_s

    def works(self) -> None:
        self._worked_s += COST_S
        self.steps += 1
        self.least_s = min([self.least_s, *(lease.left_s() for lease in list(self.leases.values()))])


class SlowCanon(Canon):
    """Joins links, slowly."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine

    def join(self, base: str, href: str) -> Url | Refusal:
        self._machine.works()
        return super().join(base, href)


class SlowKeys(KnownKeys):
    """Looks keys up, slowly."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine

    def has(self, crawl_id: int, key: bytes) -> bool:
        self._machine.works()
        return super().has(crawl_id, key)


def hidden(*links: str) -> Answer:
    return html(text="".join(f'<a href="{href}" hidden>x</a>' for href in links))


@pytest.mark.parametrize(
    "page",
    [
        html(*(f"/{n}" for n in range(MANY))),
        html(*(f"http://h{n}.test/" for n in range(MANY))),
        html(*(f"http://[{n}" for n in range(MANY))),
        hidden(*(f"/{n}" for n in range(MANY))),
        html(*(f"/{n % 400}#{n}" for n in range(MANY)), headers={"X-Robots-Tag": "nofollow"}),
    ],
    ids=["its own", "of others", "no URLs", "hidden", "not followed"],
)
def test_a_visit_that_judges_links_looks_at_its_lease(make: Make, web: Web, page: Answer) -> None:
    """They take more than its lease, and it never comes near to its end. All of them are stored, or noted."""
    site, machine = web.site(), Machine()
    site.pages["/"] = page
    made = make(lease_s=LEASE_S, queues=1)
    caches = replace(made.caches, known=SlowKeys(machine))
    made = replace(made, monotonic=machine.now, canon=SlowCanon(machine), caches=caches)
    machine.leases = made.stays.leases
    start(made, site.url(), budgets=Budgets(max_pages=1))
    (report,) = run(made)
    assert report.ending is not VisitEnding.FENCED
    assert machine.steps * COST_S > LEASE_S, "a lease that is not looked at is over by then"
    assert machine.least_s > 0
    assert site.paths.count("/") == 1
    assert one(made.engine, "SELECT count(*) FROM pages WHERE links = :n", n=MANY) == 1


def test_few_links_ask_nothing_of_postgres(make: Make, web: Web) -> None:
    site, machine = web.site(), Machine()
    site.pages["/"] = html(*(f"/{n}" for n in range(LOOK_LINKS - 1)))
    made = replace(make(lease_s=LEASE_S), monotonic=machine.now, canon=SlowCanon(machine))
    machine.leases = made.stays.leases
    start(made, site.url(), budgets=Budgets(max_pages=1))
    run(made)
    assert machine.least_s <= LEASE_S - machine.steps * COST_S, "the lease was not extended meanwhile"
