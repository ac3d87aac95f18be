"""What Postgres refuses for a value in it: the row at fault ends with its cause, everything else is written, the crawl
ends.

A constraint of the test's own stands in for the value that nobody has thought of.
"""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from app.model import Cause
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import sql, url


def refuse(worker: Worker, table: str, check: str) -> None:
    sql(worker.engine, f"ALTER TABLE {table} ADD CONSTRAINT planted CHECK ({check})")


@pytest.fixture(autouse=True)
def _taken_away(worker: Worker) -> object:
    yield
    for table in ("pages", "robots", "urls", "fetches", "suppressions", "url_patterns"):
        sql(worker.engine, f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS planted")


def test_a_page_at_fault_is_quarantined_and_the_others_are_kept(worker: Worker, web: Web) -> None:
    refuse(worker, "pages", "title <> 'poison'")
    site = web.site()
    site.pages["/"] = html("/bad", "/good")
    site.pages |= {"/bad": html("/of-bad", title="poison"), "/good": html("/of-good", title="good"), "/of-good": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked.count("/bad") == 1
    assert url(worker.engine, site.url("/bad"))["state"] == "quarantined"
    assert "23514" in url(worker.engine, site.url("/bad"))["detail"]
    kept = [row["url"] for row in sql(worker.engine, "SELECT url FROM pages ORDER BY url")]
    assert kept == [site.url(path) for path in ("/", "/good", "/of-good")]
    assert len(sql(worker.engine, "SELECT FROM fetches")) == len(site.log), "every request is logged"


def test_a_result_at_fault_is_quarantined(worker: Worker, web: Web) -> None:
    refuse(worker, "urls", "etag <> 'poison'")
    site = web.site()
    site.pages["/"] = html("/bad", "/good")
    site.pages |= {"/bad": html(headers={"ETag": "poison"}), "/good": html(text="good")}
    start(worker, site.url())
    run(worker)
    assert url(worker.engine, site.url("/bad"))["state"] == "quarantined"
    assert url(worker.engine, site.url("/good"))["state"] == "resting"


def test_robots_txt_at_fault_ends_its_origin_and_no_other(worker: Worker, web: Web) -> None:
    refuse(worker, "robots", "crawl_delay_raw <> '0.007'")
    bad, good = web.site(), web.site()
    bad.robots = "User-agent: *\nCrawl-delay: 0.007"
    bad.pages["/"] = good.pages["/"] = html("/next")
    good.pages["/next"] = html()
    start(worker, bad.url(), good.url())
    run(worker)
    assert bad.paths == ["/robots.txt", "/"], "fetched before the settle that failed"
    assert good.pages_asked == ["/", "/next"]
    row = url(worker.engine, bad.url("/next"))
    assert row["state"] == "quarantined"
    assert row["cause"] == Cause.ROBOTS_UNWRITABLE


def test_a_link_at_fault_is_left_out(worker: Worker, web: Web) -> None:
    refuse(worker, "urls", "url NOT LIKE '%poison%'")
    site = web.site()
    site.pages["/"] = html("/a", "/poison", "/b")
    site.pages |= {"/a": html(), "/b": html()}
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/a", "/b"]
    assert url(worker.engine, site.url())["state"] == "resting"


@pytest.mark.parametrize("is_poison", [lambda n: n % 97 == 5, lambda n: n >= 300], ids=["some", "nearly all"])
def test_of_very_many_links_those_at_fault_are_left_out(
    worker: Worker, web: Web, is_poison: Callable[[int], bool]
) -> None:
    """They are found by halves; once the tries are spent, the refused half goes as a whole."""
    refuse(worker, "urls", "url NOT LIKE '%poison%'")
    site = web.site()
    paths = [f"/{'poison' if is_poison(number) else 'good'}{number}" for number in range(1_200)]
    site.pages["/"] = html(*paths)
    crawl = start(worker, site.url())
    go(worker)
    kept = sql(worker.engine, "SELECT url FROM urls WHERE crawl_id = :id", id=crawl.id)
    assert {row["url"] for row in kept} == {site.url(path) for path in ["/", *paths] if "poison" not in path}


def test_a_request_at_fault_is_logged_without_what_the_site_said(worker: Worker, web: Web) -> None:
    refuse(worker, "fetches", "content_type <> 'text/poison'")
    site = web.site()
    site.pages["/"] = Answer(headers={"Content-Type": "text/poison"})
    start(worker, site.url())
    run(worker)
    (row,) = sql(worker.engine, "SELECT content_type, status, detail FROM fetches WHERE kind = 'page'")
    assert (row["content_type"], row["status"]) == (None, None)
    assert "23514" in row["detail"]


def test_a_refused_link_at_fault_is_left_out(worker: Worker, web: Web) -> None:
    refuse(worker, "suppressions", "url NOT LIKE '%poison%'")
    site = web.site()
    site.pages["/"] = html("http://user@poison.test/", "/a")
    site.pages["/a"] = html()
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/a"]


def test_a_sitemap_at_fault_is_quarantined(worker: Worker, web: Web) -> None:
    refuse(worker, "urls", "url NOT LIKE '%poison%'")
    site = web.site()
    site.pages["/"] = html()
    site.pages["/sitemap.xml"] = Answer(headers={"Content-Type": "text/plain"}, body=site.url("/poison").encode())
    start(worker, site.url(), sitemaps="all")
    run(worker)
    row = url(worker.engine, site.url("/sitemap.xml"))
    assert (row["state"], site.paths.count("/sitemap.xml")) == ("quarantined", 1)
    assert "23514" in row["detail"]


def test_a_url_that_is_deferred_for_ever_keeps_a_score_that_can_be_written(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = Answer(status=429)
    crawl = start(worker, site.url(), keep_fresh=True)
    sql(worker.engine, "UPDATE urls SET score = 1e-45")
    go(worker)
    assert len(sql(worker.engine, "SELECT FROM fetches WHERE status = 429 AND crawl_id = :id", id=crawl.id)) == 1
    assert url(worker.engine, site.url())["state"] == "queued"


def test_what_a_pattern_has_brought_is_left_out_and_its_pages_are_kept(worker: Worker, web: Web) -> None:
    refuse(worker, "url_patterns", "fetched < 3")
    site = web.site()
    paths = [f"/page/{n}" for n in range(9)]
    site.pages["/"] = html(*paths)
    site.pages |= {path: html(text=f"what {path} says, and nobody else") for path in paths}
    crawl = start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == sorted(["/", *paths])
    assert {row["state"] for row in sql(worker.engine, "SELECT state FROM urls")} == {"resting"}
    assert sql(worker.engine, "SELECT state FROM crawls WHERE id = :id", id=crawl.id)[0]["state"] == "finished"
