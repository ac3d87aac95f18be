"""The cap per host, where what is too much waits for the next cycle (`frontier_full=defer`)."""

from collections.abc import Callable

import pytest

from app.admin import crawls, explain
from app.beat.promote import promote
from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.waiting import CAP, flat, plant, refused, waiting
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Worker:
    return make(frontier_max_per_host=CAP, settle_urls=1, frontier_full="defer")


def test_what_is_deferred_waits_for_the_next_round_and_does_not_keep_the_crawl_open(worker: Worker, site: Site) -> None:
    paths = flat(site, 3 * CAP)
    crawl = start(worker, site.url())
    for fetched in (CAP, 2 * CAP, 3 * CAP):
        run(worker)
        assert one(worker.engine, "SELECT ended_because FROM crawls") == "done"
        rest = sql(worker.engine, "SELECT url, retrying FROM urls WHERE state = 'resting' AND fetched_at IS NULL")
        assert len(rest) == 3 * CAP - fetched
        assert not any(row["retrying"] for row in rest)
        assert {row["url"] for row in rest} <= refused(worker.engine).keys()
        crawls.go_round(worker.engine, crawl.name, worker.settings)
        assert waiting(worker.engine, site) == min(3 * CAP - fetched, CAP)
    assert set(refused(worker.engine).values()) == {"cap per host: waits for the next cycle"}
    assert {path for path in site.pages_asked if path != "/"} == set(paths)


def test_the_worst_is_deferred_for_a_better_one(worker: Worker, site: Site) -> None:
    crawl = start(worker, site.url())
    plant(worker, crawl, site, *(f"/low/{number}" for number in range(CAP - 1)))
    site.pages["/"] = html("/new/0", "/new/1", "/new/2")
    run(worker)
    late = refused(worker.engine)
    assert len(late) == 2
    rows = sql(
        worker.engine,
        "SELECT url, due_at > now() + interval '6 days' AS late FROM urls WHERE state = 'resting' AND "
        "fetched_at IS NULL",
    )
    assert {row["url"]: row["late"] for row in rows} == dict.fromkeys(late, True)


def test_what_is_deferred_comes_by_itself_where_a_crawl_keeps_fresh(worker: Worker, site: Site) -> None:
    paths = flat(site, CAP + 5)
    start(worker, site.url(), keep_fresh=True)
    for _ in range(6):
        go(worker)
    assert len(site.pages_asked) == 1 + CAP
    sql(worker.engine, "UPDATE urls SET due_at = now() WHERE state = 'resting' AND fetched_at IS NULL")
    promote(worker.engine)
    for _ in range(3):
        go(worker)
    assert set(site.pages_asked) == {"/", *paths}


@pytest.mark.parametrize(("keep_fresh", "comes"), [(False, "tiptoe crawl start c --again"), (True, "then, 20")])
def test_why_it_waits(worker: Worker, site: Site, keep_fresh: bool, comes: str) -> None:
    paths = flat(site, CAP + 1)
    start(worker, site.url(), keep_fresh=keep_fresh)
    for _ in range(6):
        go(worker)
    (late,) = refused(worker.engine)
    assert late in {site.url(path) for path in paths}
    found = explain.why(worker.engine, worker.settings, late)
    (here,) = found.crawls
    (line,) = here.waits_for
    assert line.startswith("the next cycle: the frontier was full when it was found")
    assert comes in line
    assert [row["reason"] for row in found.suppressions] == ["frontier_full"]
