"""Links out of scope: a row for each pair of hosts has the first; `url why` finds it for all."""

from dataclasses import replace

import pytest

from app.admin.explain import why
from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import sql


def noted(worker: Worker) -> list[tuple[str, int]]:
    rows = sql(worker.engine, "SELECT url, reason, count FROM suppressions ORDER BY url")
    assert {row["reason"] for row in rows} == {"scope"}
    return [(row["url"], row["count"]) for row in rows]


def test_links_to_another_host_leave_one_row(worker: Worker, web: Web) -> None:
    site = web.site()
    shares = [f"http://share.test/?page={n}" for n in range(40)]
    site.pages["/"] = html("/more", *shares[:10], "http://once.test/")
    site.pages["/more"] = html(*shares, "http://once.test/", text="More of them.")
    start(worker, site.url())
    run(worker)
    assert noted(worker) == [("http://once.test/", 1), (shares[0], 1)]
    asked = why(worker.engine, worker.settings, shares[30])  # of which no row says anything
    assert [(row["reason"], row["found_on"], row["count"]) for row in asked.suppressions] == [("scope", site.url(), 1)]
    assert why(worker.engine, worker.settings, "http://never.test/").suppressions == []


def test_each_visited_host_has_a_row_of_its_own(worker: Worker, web: Web) -> None:
    """So that no two workers wait for the row of a host to which all the web links."""
    one, two = web.site(), web.site()
    one.pages["/"] = html("http://share.test/?by=one", "http://share.test/?by=one&again")
    two.pages["/"] = html("http://share.test/?by=two", text="Two.")
    start(worker, one.url(), two.url())
    run(worker)
    assert noted(worker) == [("http://share.test/?by=one", 1), ("http://share.test/?by=two", 1)]
    asked = why(worker.engine, worker.settings, "http://share.test/")
    assert sorted((row["found_on"], row["count"]) for row in asked.suppressions) == sorted(
        [(one.url(), 1), (two.url(), 1)]
    )


# what a page has in place of plain links to another host: hidden ones, paths of its own host outside of the prefix
HIDDEN = '<a style="display:none" href="http://trap.test/{n}">x</a>'
BESIDE = '<a href="/elsewhere/{n}">x</a>'


@pytest.mark.parametrize(("scope", "link"), [("host", HIDDEN), ("prefix", BESIDE)])
def test_hidden_links_and_paths_beside_the_prefix_leave_one_too(
    worker: Worker, web: Web, scope: str, link: str
) -> None:
    site = web.site()
    page = html(text="A page with words that a person reads, and more of them than its links have.")
    links = "".join(link.format(n=n) for n in range(25))
    site.pages["/docs/"] = replace(page, body=page.body + links.encode())
    start(worker, site.url("/docs/"), scope=scope)
    run(worker)
    assert [count for _, count in noted(worker)] == [1]


def test_pages_of_other_hosts_that_a_sitemap_lists_leave_one_row(worker: Worker, web: Web) -> None:
    site = web.site()
    places = "".join(f"<url><loc>http://elsewhere.test/{n}</loc></url>" for n in range(30))
    site.robots = f"User-agent: *\nDisallow:\nSitemap: {site.url('/map.xml')}\n"
    site.pages["/"] = html()
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'.encode()
    site.pages["/map.xml"] = Answer(body=body, headers={"Content-Type": "application/xml"})
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert noted(worker) == [("http://elsewhere.test/0", 1)]
