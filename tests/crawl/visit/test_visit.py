"""Visits from the site's side: everything fetched once, robots.txt first, at the host's pace, within scope and budget."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from app.admin import crawls
from app.admin.edit import edit
from app.crawl.state.worker import Kit
from app.model import Budgets, CrawlChange
from app.store import db, hosts
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.store.rows import one, sql, url


def small_site(web: Web, pages: int = 20) -> Site:
    """A tree with links up, down, to itself, and repeated."""
    site = web.site()
    for number in range(pages):
        down = [f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < pages]
        site.pages["/" if number == 0 else f"/{number}"] = html(*down, "/", *down, "#top", title=f"Page {number}")
    return site


def states(kit: Kit) -> dict[str, int]:
    found = sql(kit.engine, "SELECT state, count(*) AS n FROM urls GROUP BY state")
    return {row["state"]: row["n"] for row in found}


def reasons(kit: Kit) -> dict[str, str]:
    """path: reason."""
    return {
        row["url"].split("/", 3)[3]: row["reason"] for row in sql(kit.engine, "SELECT url, reason FROM suppressions")
    }


# --- a complete crawl -------------------------------------------------------------------------------------------


def test_a_site_is_fetched_completely_each_page_once_robots_first(kit: Kit, web: Web) -> None:
    site = small_site(web)
    crawl = start(kit, site.url())
    run(kit)
    assert site.paths[0] == "/robots.txt"
    assert Counter(site.paths) == {"/robots.txt": 1, **dict.fromkeys(site.pages, 1)}
    assert states(kit) == {"resting": len(site.pages)}
    assert crawls.find(kit.engine, crawl.name).ended_because == "done"


def test_the_log_has_every_request_and_the_database_its_page(kit: Kit, web: Web) -> None:
    site = small_site(web, 6)
    site.pages["/1"] = html("/3", "/4", title="  Ünder\n one ", text="Words to find again. " * 5)
    start(kit, site.url())
    run(kit)
    logged = sql(kit.engine, "SELECT url, kind, status, outcome, reason, fenced FROM fetches ORDER BY started_at")
    assert [row["url"] for row in logged] == [site.url(path) for path in site.paths]
    assert {row["kind"] for row in logged[1:]} == {"page"}
    assert {(row["status"], row["outcome"], row["reason"], row["fenced"]) for row in logged[1:]} == {
        (200, "page", "new", False)
    }
    (page,) = sql(kit.engine, "SELECT title, language, main_text, depth FROM pages WHERE url LIKE '%/1'")
    assert (page["title"], page["language"], page["depth"]) == ("Ünder one", "en", 1)
    assert "Words to find again." in page["main_text"]


def test_lean_keeps_links_and_hashes_but_no_text(make: Callable[..., Kit], web: Web) -> None:
    kit = make(keep_text=False)
    site = small_site(web)
    start(kit, site.url())
    run(kit)
    assert len(site.pages_asked) == len(site.pages)
    assert one(kit.engine, "SELECT count(*) FROM pages") == 0
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE body_sha256 IS NULL") == 0


def test_a_crawl_of_several_hosts_goes_wherever_links_lead(kit: Kit, web: Web) -> None:
    first, second, third = (web.site() for _ in range(3))
    first.pages["/"] = html(second.url("/deep/page"))
    second.pages["/deep/page"] = html(third.url("/"), first.url("/"))
    third.pages["/"] = html()
    start(kit, first.url(), scope="any")
    run(kit)
    assert [site.paths for site in (first, second, third)] == [
        ["/robots.txt", "/"],
        ["/robots.txt", "/deep/page"],
        ["/robots.txt", "/"],
    ]


def test_many_workers_at_once_miss_nothing_and_fetch_nothing_twice(make: Callable[..., Kit], web: Web) -> None:
    kit = make()
    sites = [web.site() for _ in range(4)]
    for site in sites:
        others = [other.url(f"/{number}") for other in sites for number in range(10)]
        site.pages |= {"/": html(*others), **{f"/{number}": html(*others) for number in range(10)}}
    start(kit, *(site.url() for site in sites))
    run(kit, threads=4)
    for site in sites:
        assert Counter(site.paths) == {"/robots.txt": 1, **dict.fromkeys(site.pages, 1)}
        assert min(site.gaps()) >= 0, "two requests at once"


def test_origins_of_a_host_have_a_robots_txt_each_and_share_the_pace(make: Callable[..., Kit], web: Web) -> None:
    kit = make(default_delay_s=0.05)
    first = web.site()
    second = web.site(beside=first)
    second.robots = "User-agent: *\nDisallow: /no"
    first.pages["/"] = html(second.url("/yes"), second.url("/no"))
    second.pages |= {"/yes": html(), "/no": html()}
    start(kit, first.url())
    run(kit)
    assert first.paths == ["/robots.txt", "/"]
    assert second.paths == ["/robots.txt", "/yes"]
    starts = [(hit.started, hit.ended) for hit in web.log]
    assert all(later[0] - earlier[1] >= 0.05 for earlier, later in pairwise(starts))


# --- pace -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delay_s", "robots", "operator_s", "gap_s"),
    [
        (0.05, None, None, 0.05),
        (0.0, "User-agent: *\nCrawl-delay: 0.2", None, 0.2),
        (0.3, "User-agent: *\nCrawl-delay: 0.05", None, 0.05),
        (0.3, "User-agent: *\nCrawl-delay: 0", None, 0.0),
        (0.0, "User-agent: *\nCrawl-delay: 5", 0.1, 0.1),  # an operator knows better
        (0.0, "User-agent: other\nCrawl-delay: 5", None, 0.0),
    ],
)
def test_the_gap_is_the_delay_in_force(
    make: Callable[..., Kit], web: Web, delay_s: float, robots: str | None, operator_s: float | None, gap_s: float
) -> None:
    """By the site's own log, over several visits: from the end of a request to the start of the next."""
    kit = make(default_delay_s=delay_s, linger_s=0.1, visit_max_s=0.25)
    site = small_site(web, 7)
    site.robots = robots
    start(kit, site.url())
    with db.transaction(kit.engine) as tx:
        hosts.slow(tx, site.host, operator_s)
    run(kit, hurry=False)
    assert len(site.paths) == 8
    assert min(site.gaps()) >= gap_s
    in_force = {row["delay_s"] for row in sql(kit.engine, "SELECT delay_s FROM fetches WHERE kind = 'page'")}
    assert in_force == {gap_s}


def test_the_emergency_floor_holds_for_every_host(make: Callable[..., Kit], web: Web) -> None:
    kit = make(default_delay_s=0.0, delay_override_s=0.1)
    site = small_site(web, 4)
    site.robots = "User-agent: *\nCrawl-delay: 0"
    start(kit, site.url())
    run(kit, hurry=False)
    assert min(site.gaps()) >= 0.1


def test_a_longer_delay_than_we_linger_costs_no_thread(make: Callable[..., Kit], web: Web) -> None:
    kit = make(default_delay_s=0.15, linger_s=0.05)
    site = small_site(web, 3)
    start(kit, site.url())
    reports = run(kit, hurry=False)
    assert [report.requests for report in reports] == [1, 1, 1, 1]
    assert {report.ending for report in reports[:-1]} == {"delay"}


def test_the_audit_agrees_with_the_site(make: Callable[..., Kit], web: Web) -> None:
    kit = make(default_delay_s=0.05)
    site = small_site(web, 6)
    start(kit, site.url())
    run(kit, hurry=False)
    (audit,) = sql(kit.engine, "SELECT * FROM v_politeness_audit")
    assert (audit["host"], audit["fetches"]) == (site.host, 7)
    assert (audit["gap_violations"], audit["concurrent"], audit["before_robots"]) == (0, 0, 0)
    assert 0.05 <= float(audit["smallest_gap_s"]) <= min(site.gaps()) + 0.001


# --- scope and budgets ------------------------------------------------------------------------------------------


def test_what_is_not_admitted_is_noted_with_its_reason(kit: Kit, web: Web) -> None:
    site, other = web.site(), web.site()
    site.pages["/"] = html("/a", "/private/x", other.url("/elsewhere"), "http://u:p@x.test/secret", "mailto:a@b.test")
    site.pages["/a"] = html("/b", "/picture.png")
    site.pages["/b"] = html("/too-deep")
    start(kit, site.url(), exclude=("/private/",), budgets=Budgets(max_depth=2))
    run(kit)
    assert site.pages_asked == ["/", "/a", "/b"]
    assert other.paths == []
    assert reasons(kit) == {
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
def test_scope(kit: Kit, web: Web, scope: str, asked: set[str]) -> None:
    site = web.site()
    site.pages |= {"/docs/": html("a", "/blog"), "/docs/a": html(), "/blog": html()}
    start(kit, site.url("/docs/"), scope=scope)
    run(kit)
    assert set(site.pages_asked) == asked


def test_nofollow_links_are_not_followed(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages["/"] = Answer(
        headers={"Content-Type": "text/html"}, body=b'<a href="/yes">y</a><a rel="ugc NoFollow" href="/no">n</a>'
    )
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/yes"]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_budget_of_pages_is_met_exactly(make: Callable[..., Kit], web: Web, threads: int) -> None:
    """Three hosts, visits at the same time: not a page more, not one fewer."""
    kit = make()
    sites = [small_site(web, 12) for _ in range(3)]
    crawl = start(kit, *(site.url() for site in sites), budgets=Budgets(max_pages=7))
    run(kit, threads=threads)
    assert sum(len(site.pages_asked) for site in sites) == 7
    found = crawls.find(kit.engine, crawl.name)
    assert (found.state, found.ended_because, found.pages_reserved) == ("finished", "max_pages", 7)


def test_what_brings_no_page_does_not_count_against_the_budget(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(*(f"/missing/{number}" for number in range(5)), *(f"/{number}" for number in range(9)))
    site.pages |= {f"/{number}": html() for number in range(9)}
    start(kit, site.url(), budgets=Budgets(max_pages=10))
    run(kit)
    brought = [hit.path for hit in site.log if hit.status == 200]
    assert len(brought) == 10


def test_a_crawl_at_its_budget_goes_on_where_it_stopped(kit: Kit, web: Web) -> None:
    site = small_site(web, 12)
    crawl = start(kit, site.url(), budgets=Budgets(max_pages=5))
    run(kit)
    edit(kit.engine, kit.settings, crawl.name, CrawlChange(budgets={"max_pages": None}))
    crawls.start(kit.engine, crawl.name)
    run(kit)
    assert Counter(site.pages_asked) == dict.fromkeys(site.pages, 1)


def test_a_budget_of_bytes_ends_the_crawl(make: Callable[..., Kit], web: Web) -> None:
    kit = make(visit_max_s=0.001)  # leaves after each URL, so that the janitor gets a word in
    site = small_site(web, 12)
    crawl = start(kit, site.url(), budgets=Budgets(max_bytes=500))
    run(kit)
    sizes = [hit.body_bytes for hit in site.log if hit.path != "/robots.txt"]
    assert sum(sizes) >= 500 > sum(sizes[:-1])
    assert crawls.find(kit.engine, crawl.name).ended_because == "max_bytes"


# --- crawls -----------------------------------------------------------------------------------------------------


def test_a_paused_crawl_fetches_nothing_and_goes_on_when_resumed(kit: Kit, web: Web) -> None:
    site = small_site(web, 5)
    crawl = start(kit, site.url())
    crawls.pause(kit.engine, crawl.name)
    go(kit)
    assert site.pages_asked == []
    crawls.start(kit.engine, crawl.name)
    run(kit)
    assert len(site.pages_asked) == 5


def test_a_crawl_paused_under_a_visit_gets_no_further_batch(make: Callable[..., Kit], web: Web) -> None:
    kit = make(settle_urls=2)
    site = small_site(web, 12)
    crawl = start(kit, site.url())
    tree, pages = dict(site.pages), 0

    def pausing(hit: Hit) -> Answer:
        nonlocal pages
        pages += 1
        if pages == 3:
            crawls.pause(kit.engine, crawl.name)
        found = tree[hit.path]
        assert isinstance(found, Answer)
        return found

    site.pages = dict.fromkeys(tree, pausing)
    go(kit)
    assert 3 <= pages <= 4, "the batch under way, and no more"
    go(kit)
    assert pages <= 4


def test_crawls_that_share_a_host_share_every_batch(make: Callable[..., Kit], web: Web) -> None:
    """Each fetches for itself, and neither waits for the other to end."""
    kit = make(settle_urls=4)
    site = small_site(web, 12)
    for name in ("one", "two"):
        start(kit, *(site.url(path) for path in site.pages), name=name)
    run(kit)
    assert Counter(site.pages_asked) == dict.fromkeys(site.pages, 2)
    order = [row["crawl_id"] for row in sql(kit.engine, "SELECT crawl_id FROM fetches WHERE kind = 'page' ORDER BY id")]
    batches = [order[first : first + 4] for first in range(0, len(order), 4)]
    assert [sorted(batch) for batch in batches] == [[1, 1, 2, 2]] * 6


def test_a_paused_host_is_left_alone(kit: Kit, web: Web) -> None:
    site, other = small_site(web, 3), small_site(web, 3)
    start(kit, site.url(), other.url())
    with db.transaction(kit.engine) as tx:
        hosts.pause(tx, site.host)
    for _ in range(3):
        go(kit)
    assert site.paths == []
    assert len(other.pages_asked) == 3


def test_a_host_paused_under_a_visit_is_left_after_the_batch(make: Callable[..., Kit], web: Web) -> None:
    kit = make(settle_urls=1)
    site = small_site(web, 6)
    start(kit, site.url())

    def pausing(_: Hit) -> Answer:
        with db.transaction(kit.engine) as tx:
            hosts.pause(tx, site.host)
        return html("/1", "/2")

    site.pages["/"] = pausing
    go(kit)
    assert site.pages_asked == ["/"]
    assert one(kit.engine, "SELECT state FROM hosts") == "paused"
    assert [row["ending"] for row in sql(kit.engine, "SELECT ending FROM visits")] == ["paused"]


def test_a_visit_that_a_pause_ends_says_so(make: Callable[..., Kit], web: Web) -> None:
    kit = make(settle_urls=1)
    site = small_site(web, 6)
    start(kit, site.url())

    def pausing(_: Hit) -> Answer:
        with db.transaction(kit.engine) as tx:
            hosts.pause(tx, site.host)
        return html()

    site.pages["/"] = pausing
    assert [report.ending for report in go(kit)] == ["paused"]


def test_a_worker_that_stops_settles_and_leaves(kit: Kit, web: Web) -> None:
    site = small_site(web, 12)
    start(kit, site.url())

    def stopping(_: Hit) -> Answer:
        kit.stopping.set()
        return html("/1", "/2")

    site.pages["/"] = stopping
    (report,) = go(kit)
    assert report.ending == "worker stops"
    assert url(kit.engine, site.url("/"))["state"] == "resting"
    assert url(kit.engine, site.url("/1"))["state"] == "queued"
    run(replace(kit, stopping=type(kit.stopping)()))
    assert len(site.pages_asked) == 12


def test_a_template_s_broken_link_is_written_once_a_process(make: Callable[..., Kit], web: Web) -> None:
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
