"""Visits from the site's side: everything is fetched once, robots.txt first, at the pace in force."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.store import db, hosts
from tests.crawl.loop import run, start
from tests.crawl.visit.small_site import small_site
from tests.crawl.web import Web, html
from tests.store.rows import one, sql


def states(worker: Worker) -> dict[str, int]:
    found = sql(worker.engine, "SELECT state, count(*) AS n FROM urls GROUP BY state")
    return {row["state"]: row["n"] for row in found}


# --- a complete crawl -------------------------------------------------------------------------------------------


def test_a_site_is_fetched_completely_each_page_once_robots_first(worker: Worker, web: Web) -> None:
    site = small_site(web)
    crawl = start(worker, site.url())
    run(worker)
    assert site.paths[0] == "/robots.txt"
    assert Counter(site.paths) == {"/robots.txt": 1, **dict.fromkeys(site.pages, 1)}
    assert states(worker) == {"resting": len(site.pages)}
    assert crawls.find(worker.engine, crawl.name).ended_because == "done"


def test_the_log_has_every_request_and_the_database_its_page(worker: Worker, web: Web) -> None:
    site = small_site(web, 6)
    site.pages["/1"] = html("/3", "/4", title="  Ünder\n one ", text="Words to find again. " * 5)
    start(worker, site.url())
    run(worker)
    logged = sql(worker.engine, "SELECT url, kind, status, outcome, reason, fenced FROM fetches ORDER BY started_at")
    assert [row["url"] for row in logged] == [site.url(path) for path in site.paths]
    assert {row["kind"] for row in logged[1:]} == {"page"}
    assert {(row["status"], row["outcome"], row["reason"], row["fenced"]) for row in logged[1:]} == {
        (200, "page", "new", False)
    }
    (page,) = sql(worker.engine, "SELECT title, language, main_text, depth FROM pages WHERE url LIKE '%/1'")
    assert (page["title"], page["language"], page["depth"]) == ("Ünder one", "en", 1)
    assert "Words to find again." in page["main_text"]


def test_lean_keeps_links_and_hashes_but_no_text(make: Callable[..., Worker], web: Web) -> None:
    worker = make(keep_text=False)
    site = small_site(web)
    start(worker, site.url())
    run(worker)
    assert len(site.pages_asked) == len(site.pages)
    assert one(worker.engine, "SELECT count(*) FROM pages") == 0
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE body_sha256 IS NULL") == 0


def test_a_crawl_of_several_hosts_goes_wherever_links_lead(worker: Worker, web: Web) -> None:
    first, second, third = (web.site() for _ in range(3))
    first.pages["/"] = html(second.url("/deep/page"))
    second.pages["/deep/page"] = html(third.url("/"), first.url("/"))
    third.pages["/"] = html()
    start(worker, first.url(), scope="any")
    run(worker)
    assert [site.paths for site in (first, second, third)] == [
        ["/robots.txt", "/"],
        ["/robots.txt", "/deep/page"],
        ["/robots.txt", "/"],
    ]


def test_many_workers_at_once_miss_nothing_and_fetch_nothing_twice(make: Callable[..., Worker], web: Web) -> None:
    worker = make()
    sites = [web.site() for _ in range(4)]
    for site in sites:
        others = [other.url(f"/{number}") for other in sites for number in range(10)]
        site.pages |= {"/": html(*others), **{f"/{number}": html(*others) for number in range(10)}}
    start(worker, *(site.url() for site in sites))
    run(worker, threads=4)
    for site in sites:
        assert Counter(site.paths) == {"/robots.txt": 1, **dict.fromkeys(site.pages, 1)}
        assert min(site.gaps()) >= 0, "two requests at once"


def test_origins_of_a_host_have_a_robots_txt_each_and_share_the_pace(make: Callable[..., Worker], web: Web) -> None:
    worker = make(default_delay_s=0.05)
    first = web.site()
    second = web.site(beside=first)
    second.robots = "User-agent: *\nDisallow: /no"
    first.pages["/"] = html(second.url("/yes"), second.url("/no"))
    second.pages |= {"/yes": html(), "/no": html()}
    start(worker, first.url())
    run(worker)
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
    make: Callable[..., Worker], web: Web, delay_s: float, robots: str | None, operator_s: float | None, gap_s: float
) -> None:
    """By the site's own log, over several visits: from the end of a request to the start of the next."""
    worker = make(default_delay_s=delay_s, linger_s=0.1, visit_max_s=0.25)
    site = small_site(web, 7)
    site.robots = robots
    start(worker, site.url())
    with db.transaction(worker.engine) as tx:
        hosts.slow(tx, site.host, operator_s)
    run(worker, hurry=False)
    assert len(site.paths) == 8
    assert min(site.gaps()) >= gap_s
    in_force = {row["delay_s"] for row in sql(worker.engine, "SELECT delay_s FROM fetches WHERE kind = 'page'")}
    assert in_force == {gap_s}


def test_the_emergency_floor_holds_for_every_host(make: Callable[..., Worker], web: Web) -> None:
    worker = make(default_delay_s=0.0, delay_override_s=0.1)
    site = small_site(web, 4)
    site.robots = "User-agent: *\nCrawl-delay: 0"
    start(worker, site.url())
    run(worker, hurry=False)
    assert min(site.gaps()) >= 0.1


def test_a_longer_delay_than_we_linger_costs_no_thread(make: Callable[..., Worker], web: Web) -> None:
    worker = make(default_delay_s=0.15, linger_s=0.05)
    site = small_site(web, 3)
    start(worker, site.url())
    reports = run(worker, hurry=False)
    assert [report.requests for report in reports] == [1, 1, 1, 1]
    assert {report.ending for report in reports[:-1]} == {"delay"}


def test_the_audit_agrees_with_the_site(make: Callable[..., Worker], web: Web) -> None:
    worker = make(default_delay_s=0.05)
    site = small_site(web, 6)
    start(worker, site.url())
    run(worker, hurry=False)
    (audit,) = sql(worker.engine, "SELECT * FROM v_politeness_audit")
    assert (audit["host"], audit["fetches"]) == (site.host, 7)
    assert (audit["gap_violations"], audit["concurrent"], audit["before_robots"]) == (0, 0, 0)
    assert 0.05 <= float(audit["smallest_gap_s"]) <= min(site.gaps()) + 0.001
