"""robots.txt in a visit: before anything else, followed, honoured, and read anew."""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from app.model import Cause
from tests.crawl.loop import go, run, start
from tests.crawl.visit.robots_states import expire, known
from tests.crawl.web import Answer, Web, html
from tests.store.rows import one, sql, url


@pytest.mark.parametrize(
    "line",
    [
        "Sitemap: http://h/\x00s.xml",
        "Crawl-delay: \x00",
        "Crawl-delay: 0\x00",
        "Request-rate: 1\x00/5",
        "Visit-time: 00\x0000-2400",
        "Disallow: /no\x00thing",
        "User-agent: \x00",
        "\x00",
    ],
)
def test_a_nul_in_any_line_costs_no_visit(worker: Worker, web: Web, line: str) -> None:
    site = web.site()
    site.robots = Answer(body=f"User-agent: *\n{line}\nDisallow: /no".encode(), headers={"ETag": '"a"'})
    site.pages["/"] = html("/no", "/yes")
    start(worker, site.url())
    run(worker)
    assert site.paths[:2] == ["/robots.txt", "/"]
    assert site.pages_asked == ["/", "/yes"]


# --- 2xx --------------------------------------------------------------------------------------------------------


def test_disallowed_paths_are_never_requested_and_kept_as_refused(worker: Worker, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /no\nAllow: /no/but\n\nUser-agent: other\nDisallow: /"
    site.pages["/"] = html("/yes", "/no/1", "/no/but", "/no")
    site.pages |= {"/yes": html("/no/1"), "/no/but": html()}
    start(worker, site.url(), site.url("/no/seed"))
    run(worker)
    assert sorted(site.paths) == ["/", "/no/but", "/robots.txt", "/yes"]
    refused = sql(worker.engine, "SELECT url, cause, detail FROM urls WHERE state = 'refused' ORDER BY url")
    assert [row["url"] for row in refused] == [site.url(path) for path in ("/no", "/no/1", "/no/seed")]
    assert {row["cause"] for row in refused} == {Cause.ROBOTS}
    assert [row["detail"] for row in refused] == [None, None, "line 2: Disallow: /no"]


def test_our_own_group_counts_before_the_star(worker: Worker, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /\n\nUser-agent: tiptoe\nDisallow: /no"
    site.pages["/"] = html("/yes", "/no")
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/yes"]


def test_sitemap_lines_are_collected(worker: Worker, web: Web) -> None:
    site = web.site()
    site.robots = "Sitemap: http://x.test/s.xml\nUser-agent: *\nCrawl-delay: 0.01\nSitemap: /t.xml"
    start(worker, site.url())
    run(worker)
    (row,) = sql(worker.engine, "SELECT sitemaps, crawl_delay_raw, crawl_delay_s FROM robots")
    assert (row["sitemaps"][0], row["crawl_delay_raw"], row["crawl_delay_s"]) == ("http://x.test/s.xml", "0.01", 0.01)


@pytest.mark.parametrize(
    "answer", [Answer(), Answer(body=b"\x00\xff<html>" * 100), Answer(body=b"Disallow: /" * 60_000)]
)
def test_whatever_a_200_holds_is_a_robots_txt(worker: Worker, web: Web, answer: Answer) -> None:
    site = web.site()
    site.robots = answer
    site.pages["/"] = html()
    start(worker, site.url())
    run(worker)
    assert site.paths == ["/robots.txt", "/"]
    assert known(worker) == "available"


def test_it_is_fetched_once_for_the_fleet_while_it_is_fresh(make: Callable[..., Worker], web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /no"
    site.pages |= {"/": html("/no/1"), "/2": html("/no/2")}
    first, second = make(), make()
    start(first, site.url())
    run(first)
    start(second, site.url("/2"), name="other")
    run(second)
    assert site.paths == ["/robots.txt", "/", "/2"]


def test_a_changed_robots_txt_reopens_what_it_allows_now(worker: Worker, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /a\nDisallow: /b"
    site.pages |= {"/": html("/a", "/b", "/c"), "/a": html(), "/c": html(), "/later": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/c"]
    site.robots = "User-agent: *\nDisallow: /b"
    expire(worker)
    start(worker, site.url("/later"), name="wakes-the-host")
    sql(worker.engine, "UPDATE crawls SET state = 'active', finished_at = NULL")
    run(worker)
    assert site.pages_asked[2:] in (["/later", "/a"], ["/a", "/later"])
    assert url(worker.engine, site.url("/a"))["cause"] is None
    assert url(worker.engine, site.url("/b"))["state"] == "refused"


def test_a_robots_txt_that_stays_the_same_is_revalidated_and_reopens_nothing(worker: Worker, web: Web) -> None:
    site = web.site()
    site.robots = Answer(headers={"ETag": '"r1"'}, body=b"User-agent: *\nDisallow: /a")
    site.pages |= {"/": html("/a"), "/later": html()}
    start(worker, site.url())
    run(worker)
    expire(worker)
    start(worker, site.url("/later"), name="wakes-the-host")
    run(worker)
    assert [hit.status for hit in site.log if hit.path == "/robots.txt"] == [200, 304]
    assert url(worker.engine, site.url("/a"))["state"] == "refused"
    assert one(worker.engine, "SELECT expires_at > now() FROM robots") is True


def test_a_stricter_robots_txt_refuses_what_is_queued(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    run(worker)
    site.robots = "User-agent: *\nDisallow: /late"
    expire(worker)
    start(worker, site.url("/later"), name="more")
    run(worker)
    assert site.pages_asked == ["/"]
    assert url(worker.engine, site.url("/later"))["state"] == "refused"


def test_links_to_other_hosts_are_judged_by_what_is_known_of_them(worker: Worker, web: Web) -> None:
    first, second = web.site(), web.site()
    second.robots = "User-agent: *\nDisallow: /no"
    second.pages["/"] = html()
    first.pages["/"] = html(second.url("/no"), second.url("/yes"))
    start(worker, second.url())
    run(worker)
    start(worker, first.url(), name="later", scope="any")
    run(worker)
    assert second.pages_asked == ["/", "/yes"]
    assert url(worker.engine, second.url("/no"))["cause"] == "robots.txt"


def test_a_cached_robots_txt_of_another_host_costs_no_url(worker: Worker, web: Web) -> None:
    first, second = web.site(), web.site()
    second.robots = "User-agent: *\nDisallow: /a"
    second.pages["/"] = html()
    first.pages |= {"/1": html(second.url("/a1")), "/2": html(second.url("/a2"))}
    start(worker, second.url())
    run(worker)
    start(worker, first.url("/1"), name="one", scope="any", keep_fresh=True)
    for _ in range(3):
        go(worker)
    assert url(worker.engine, second.url("/a1"))["state"] == "refused"
    second.robots = "User-agent: *\nDisallow: /b"
    expire(worker)
    start(worker, second.url("/c"), name="two", keep_fresh=True)  # the host is visited: /a1 is reopened
    for _ in range(3):
        go(worker)
    assert url(worker.engine, second.url("/a1"))["state"] == "resting"
    start(worker, first.url("/2"), name="three", scope="any", keep_fresh=True)
    for _ in range(3):
        go(worker)
    assert url(worker.engine, second.url("/a2"))["state"] == "resting"


# --- 4xx --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_rfc9309_4xx_allows_all(worker: Worker, web: Web, status: int) -> None:
    site = web.site()
    site.robots = Answer(status=status, body=b"User-agent: *\nDisallow: /")
    site.pages["/"] = html()
    start(worker, site.url())
    run(worker)
    assert site.paths == ["/robots.txt", "/"]
    assert known(worker) == "unavailable"
