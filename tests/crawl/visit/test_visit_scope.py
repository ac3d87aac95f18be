"""What a visit admits: scopes, links that are not followed, and budgets of a crawl."""

from collections import Counter
from collections.abc import Callable

import pytest

from app.admin import crawls
from app.admin.edit import edit
from app.crawl.state.worker import Worker
from app.model import Budgets, Cause, CrawlChange
from tests.crawl.loop import run, start
from tests.crawl.visit.small_site import small_site
from tests.crawl.web import Answer, Web, html
from tests.store.rows import sql


def reasons(worker: Worker) -> dict[str, str]:
    """path: reason."""
    return {
        row["url"].split("/", 3)[3]: row["reason"] for row in sql(worker.engine, "SELECT url, reason FROM suppressions")
    }


def test_what_is_not_admitted_is_noted_with_its_reason(worker: Worker, web: Web) -> None:
    site, other = web.site(), web.site()
    site.pages["/"] = html("/a", "/private/x", other.url("/elsewhere"), "http://u:p@x.test/secret", "mailto:a@b.test")
    site.pages["/a"] = html("/b", "/picture.png")
    site.pages["/b"] = html("/too-deep")
    start(worker, site.url(), exclude=("/private/",), budgets=Budgets(max_depth=2))
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/a", "/b", "/picture.png"]
    assert other.paths == []
    assert reasons(worker) == {
        "private/x": "excluded",
        "elsewhere": "scope",
        "secret": "credentials",
        "too-deep": "depth",
    }


@pytest.mark.parametrize(
    ("scope", "asked"),
    [
        ("host", {"/docs/", "/docs/a", "/blog"}),
        ("prefix", {"/docs/", "/docs/a"}),
    ],
)
def test_scope(worker: Worker, web: Web, scope: str, asked: set[str]) -> None:
    site = web.site()
    site.pages |= {"/docs/": html("a", "/blog"), "/docs/a": html(), "/blog": html()}
    start(worker, site.url("/docs/"), scope=scope)
    run(worker)
    assert set(site.pages_asked) == asked


def test_nofollow_links_are_not_followed(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = Answer(
        headers={"Content-Type": "text/html"}, body=b'<a href="/yes">y</a><a rel="ugc NoFollow" href="/no">n</a>'
    )
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/yes"]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_budget_of_pages_is_met_exactly(make: Callable[..., Worker], web: Web, threads: int) -> None:
    """Three hosts, visits at the same time: not a page more, not one fewer."""
    worker = make()
    sites = [small_site(web, 12) for _ in range(3)]
    crawl = start(worker, *(site.url() for site in sites), budgets=Budgets(max_pages=7))
    run(worker, threads=threads)
    assert sum(len(site.pages_asked) for site in sites) == 7
    found = crawls.find(worker.engine, crawl.name)
    assert (found.state, found.ended_because, found.pages_reserved) == ("finished", "max_pages", 7)


def test_what_brings_no_page_does_not_count_against_the_budget(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(*(f"/missing/{number}" for number in range(5)), *(f"/{number}" for number in range(9)))
    site.pages |= {f"/{number}": html() for number in range(9)}
    start(worker, site.url(), budgets=Budgets(max_pages=10))
    run(worker)
    brought = [hit.path for hit in site.log if hit.status == 200]
    assert len(brought) == 10


def test_a_crawl_at_its_budget_goes_on_where_it_stopped(worker: Worker, web: Web) -> None:
    site = small_site(web, 12)
    crawl = start(worker, site.url(), budgets=Budgets(max_pages=5))
    run(worker)
    edit(worker.engine, worker.settings, crawl.name, CrawlChange(exact={"max_pages": None}))
    crawls.start(worker.engine, crawl.name)
    run(worker)
    assert Counter(site.pages_asked) == dict.fromkeys(site.pages, 1)


def test_a_budget_of_bytes_ends_the_crawl(make: Callable[..., Worker], web: Web) -> None:
    worker = make(visit_max_s=0.001)  # leaves after each URL, so that the janitor gets a word in
    site = small_site(web, 12)
    crawl = start(worker, site.url(), budgets=Budgets(max_bytes=500))
    run(worker)
    sizes = [hit.body_bytes for hit in site.log if hit.path != "/robots.txt"]
    assert sum(sizes) >= 500 > sum(sizes[:-1])
    assert crawls.find(worker.engine, crawl.name).ended_because == "max_bytes"


def test_what_is_queued_is_judged_again_before_it_is_fetched(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/docs", "/shop"), "/docs": html(), "/shop": html()}
    start(worker, site.url("/"), budgets=Budgets(max_pages=1))
    run(worker)
    assert site.pages_asked == ["/"]
    edit(worker.engine, worker.settings, "c", CrawlChange(exclude=("/shop",), exact={"max_pages": None}))
    crawls.start(worker.engine, "c")
    run(worker)
    assert site.pages_asked == ["/", "/docs"]
    (row,) = sql(worker.engine, "SELECT state, cause, detail FROM urls WHERE url = :url", url=site.url("/shop"))
    assert (row["state"], row["cause"], row["detail"]) == ("quarantined", Cause.OUT_OF_SCOPE, "excluded")
