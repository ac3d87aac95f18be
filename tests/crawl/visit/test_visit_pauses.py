"""Visits while crawls and hosts are paused, while crawls share a host, and when a worker stops."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.store import db, hosts
from tests.crawl.loop import go, run, start
from tests.crawl.visit.small_site import small_site
from tests.crawl.web import Answer, Hit, Web, html
from tests.store.rows import one, sql, url


def test_a_paused_crawl_fetches_nothing_and_goes_on_when_resumed(worker: Worker, web: Web) -> None:
    site = small_site(web, 5)
    crawl = start(worker, site.url())
    crawls.pause(worker.engine, crawl.name)
    go(worker)
    assert site.pages_asked == []
    crawls.start(worker.engine, crawl.name)
    run(worker)
    assert len(site.pages_asked) == 5


def test_a_crawl_paused_under_a_visit_gets_no_further_batch(make: Callable[..., Worker], web: Web) -> None:
    worker = make(settle_urls=2)
    site = small_site(web, 12)
    crawl = start(worker, site.url())
    tree, pages = dict(site.pages), 0

    def pausing(hit: Hit) -> Answer:
        nonlocal pages
        pages += 1
        if pages == 3:
            crawls.pause(worker.engine, crawl.name)
        found = tree[hit.path]
        assert isinstance(found, Answer)
        return found

    site.pages = dict.fromkeys(tree, pausing)
    go(worker)
    assert 3 <= pages <= 4, "the batch under way, and no more"
    go(worker)
    assert pages <= 4


def test_crawls_that_share_a_host_share_every_batch(make: Callable[..., Worker], web: Web) -> None:
    """Each fetches for itself, and neither waits for the other to end."""
    worker = make(settle_urls=4)
    site = small_site(web, 12)
    for name in ("one", "two"):
        start(worker, *(site.url(path) for path in site.pages), name=name)
    run(worker)
    assert Counter(site.pages_asked) == dict.fromkeys(site.pages, 2)
    order = [
        row["crawl_id"] for row in sql(worker.engine, "SELECT crawl_id FROM fetches WHERE kind = 'page' ORDER BY id")
    ]
    batches = [order[first : first + 4] for first in range(0, len(order), 4)]
    assert [sorted(batch) for batch in batches] == [[1, 1, 2, 2]] * 6


def test_a_paused_host_is_left_alone(worker: Worker, web: Web) -> None:
    site, other = small_site(web, 3), small_site(web, 3)
    start(worker, site.url(), other.url())
    with db.transaction(worker.engine) as tx:
        hosts.pause(tx, site.host)
    for _ in range(3):
        go(worker)
    assert site.paths == []
    assert len(other.pages_asked) == 3


def test_a_host_paused_under_a_visit_is_left_after_the_batch(make: Callable[..., Worker], web: Web) -> None:
    worker = make(settle_urls=1)
    site = small_site(web, 6)
    start(worker, site.url())

    def pausing(_: Hit) -> Answer:
        with db.transaction(worker.engine) as tx:
            hosts.pause(tx, site.host)
        return html("/1", "/2")

    site.pages["/"] = pausing
    go(worker)
    assert site.pages_asked == ["/"]
    assert one(worker.engine, "SELECT state FROM hosts") == "paused"
    assert [row["ending"] for row in sql(worker.engine, "SELECT ending FROM visits")] == ["paused"]


def test_a_visit_that_a_pause_ends_says_so(make: Callable[..., Worker], web: Web) -> None:
    worker = make(settle_urls=1)
    site = small_site(web, 6)
    start(worker, site.url())

    def pausing(_: Hit) -> Answer:
        with db.transaction(worker.engine) as tx:
            hosts.pause(tx, site.host)
        return html()

    site.pages["/"] = pausing
    assert [report.ending for report in go(worker)] == ["paused"]


def test_a_worker_that_stops_settles_and_leaves(worker: Worker, web: Web) -> None:
    site = small_site(web, 12)
    start(worker, site.url())

    def stopping(_: Hit) -> Answer:
        worker.stopping.set()
        return html("/1", "/2")

    site.pages["/"] = stopping
    (report,) = go(worker)
    assert report.ending == "worker stops"
    assert url(worker.engine, site.url("/"))["state"] == "resting"
    assert url(worker.engine, site.url("/1"))["state"] == "queued"
    run(replace(worker, stopping=type(worker.stopping)()))
    assert len(site.pages_asked) == 12


def test_a_template_s_broken_link_is_written_once_a_process(make: Callable[..., Worker], web: Web) -> None:
    """Each page is settled by itself; a second process notes it again, and no process at every page."""
    site = web.site()
    for number in range(8):
        site.pages["/" if number == 0 else f"/{number}"] = html(
            f"/{number + 1}", "http://[broken", "http://elsewhere.test/", text=f"The page of number {number}."
        )
    first = make(settle_urls=1)
    start(first, site.url())
    run(first)
    noted = "SELECT url, count FROM suppressions ORDER BY url"
    assert sql(first.engine, noted) == [
        {"url": "http://[broken", "count": 1},
        {"url": "http://elsewhere.test/", "count": 1},
    ]
    crawls.go_round(first.engine, "c")
    run(make(settle_urls=1))
    assert {row["count"] for row in sql(first.engine, noted)} == {2}
