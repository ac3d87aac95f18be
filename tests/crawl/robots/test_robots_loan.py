"""Another host's lease, borrowed for one hop of a robots.txt: it outlasts the request, and nothing is sent after it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.crawl.robots import ask
from app.crawl.state.worker import Worker
from app.model import Reply, Request, Unsent
from tests.crawl.ahead import ahead
from tests.crawl.loop import go, start
from tests.crawl.web import Hit, Web, redirect
from tests.store.rows import one

Make = Callable[..., Worker]
RULES = "User-agent: *\nDisallow: /no"


def test_a_borrowed_lease_outlasts_the_wait_and_the_request(make: Make, web: Web) -> None:
    worker = make(robots_deadline_s=30.0)
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    seen: list[float] = []

    def watched(_: Hit) -> str:
        lent = (
            "SELECT CAST(extract(epoch FROM lease_until - taken_at) AS double precision) FROM hosts WHERE name = :name"
        )
        seen.append(one(worker.engine, lent, name=other.host))
        return RULES

    other.pages["/its-robots"] = watched
    start(worker, site.url())
    go(worker)
    (lease_s,) = seen
    assert lease_s >= ask.LONGEST_SLOT_WAIT_S + worker.settings.robots_deadline_s


@pytest.mark.parametrize(("stopped_s", "asked"), [(0.0, 1), (1_000.0, 0)])
def test_a_worker_that_was_stopped_asks_nobody_under_a_loan_that_ran_out(
    make: Make, web: Web, stopped_s: float, asked: int
) -> None:
    """No budget of an address bounds the start here: the loan does."""
    worker = ahead(make(address_gap_s=0.0, backoff_base_s=1000.0, backoff_max_s=1000.0))
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    other.pages["/its-robots"] = RULES

    def send(request: Request) -> Reply | Unsent:
        if request.url.startswith(other.url("")):
            worker.stopping.wait(stopped_s)  # of SIGSTOP, right before it sends
        return worker.send(request)

    start(worker, site.url())
    go(replace(worker, send=send))
    assert other.paths == ["/its-robots"] * asked
