"""What a host's row says of the URLs that wait for their first fetch: near enough, and made exact where it decides."""

from collections.abc import Callable

import pytest

from app.admin import crawls
from app.crawl.state.worker import Worker
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.waiting import CAP, count, estimate, flat, plant, refused, waiting
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Worker:
    return make(frontier_max_per_host=CAP, settle_urls=5)


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def test_a_wrong_estimate_refuses_nothing(worker: Worker, site: Site) -> None:
    """It is made exact before it decides, unless that was done lately; and then it is told to the row."""
    paths = flat(site, CAP)
    start(worker, site.url())
    sql(worker.engine, "UPDATE hosts SET unfetched = 1000, unfetched_at = now() - interval '10 minutes'")
    run(worker)
    assert set(site.pages_asked) == {"/", *paths}
    assert refused(worker.engine) == {}
    assert estimate(worker.engine, site) == 0
    assert one(worker.engine, "SELECT unfetched_at > now() - interval '1 minute' FROM hosts")


def test_urls_of_a_crawl_that_has_ended_are_in_nobodys_way(worker: Worker, site: Site) -> None:
    """However lately they were counted."""
    paths = flat(site, CAP)
    ended = start(worker, site.url("/x"), name="ended")
    plant(worker, ended, site, *(f"/old/{number}" for number in range(3 * CAP)), score=1.0)
    crawls.finish(worker.engine, ended.name)
    assert estimate(worker.engine, site) == 3 * CAP + 1
    start(worker, site.url())
    run(worker)
    assert {"/", *paths} <= set(site.pages_asked)
    assert refused(worker.engine) == {}
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 3 * CAP + 1, "nor are they touched"


def test_an_estimate_that_is_too_low_is_found_by_a_visit_in_64(worker: Worker, site: Site) -> None:
    crawl = start(worker, site.url())
    plant(worker, crawl, site, *(f"/{number}" for number in range(CAP)))
    sql(worker.engine, "UPDATE hosts SET unfetched = 0, unfetched_at = now() - interval '10 minutes'")
    sql(worker.engine, "SELECT setval(pg_get_serial_sequence('visits', 'id'), 63)")
    site.pages["/"] = html()
    go(worker)
    fetched = len(site.pages_asked)
    assert estimate(worker.engine, site) == max(CAP + 1 - fetched, 0)
    assert one(worker.engine, "SELECT unfetched_at > now() - interval '1 minute' FROM hosts")


def test_too_many_give_way_down_to_the_cap(worker: Worker, site: Site) -> None:
    """As when the cap was lowered."""
    crawl = start(worker, site.url())
    plant(worker, crawl, site, *(f"/{number}" for number in range(4 * CAP)))
    seen: list[int] = []

    def asked(hit: object) -> Answer:
        seen.append(waiting(worker.engine, site))
        return html()

    site.pages |= {"/": html(), **{f"/{number}": asked for number in range(4 * CAP)}}
    run(worker)
    assert seen[-1] <= CAP
    assert len(refused(worker.engine)) == 4 * CAP - len(seen)
    count(worker.engine)
    assert estimate(worker.engine, site) == 0


def test_what_is_given_up_and_what_is_reopened_is_counted(worker: Worker, web: Web) -> None:
    """A host that ends all its URLs at once, and one whose robots.txt takes back what it refused."""
    dead, strict = web.site(), web.site()
    dead.pages["/"] = html(*(f"/{number}" for number in range(9)))
    dead.pages |= {f"/{number}": Answer(status=429) for number in range(9)}
    strict.robots = "User-agent: *\nDisallow: /no"
    strict.pages["/"] = html(*(f"/no/{number}" for number in range(9)))
    start(worker, dead.url(), strict.url(), keep_fresh=True)
    go(worker)
    count(worker.engine)
    assert estimate(worker.engine, strict) == 0
    strict.robots = "User-agent: *\nDisallow: /nothing"
    sql(worker.engine, "UPDATE robots SET expires_at = now()")
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL WHERE url = :url", url=strict.url())
    for _ in range(16):
        bring_forward(worker.engine)
        sql(
            worker.engine,
            "UPDATE hosts SET next_fetch_at = now() WHERE name = :name AND state = 'idle'",
            name=strict.host,
        )
        go(worker)
        assert (estimate(worker.engine, dead), estimate(worker.engine, strict)) == (
            waiting(worker.engine, dead),
            waiting(worker.engine, strict),
        )
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'quarantined'") == 9
    assert {f"/no/{number}" for number in range(9)} <= set(strict.pages_asked)
