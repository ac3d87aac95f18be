"""Links out of scope: a row for each pair of hosts has the first and counts the others; `url why` finds it."""

from dataclasses import replace

import pytest

from app.admin.explain import why
from app.crawl.state.worker import Worker
from app.model import Refusal
from app.store import db, suppressions
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import sql


def counted(worker: Worker) -> list[tuple[str, int]]:
    rows = sql(worker.engine, "SELECT url, reason, count FROM suppressions ORDER BY url")
    assert {row["reason"] for row in rows} == {"scope"}
    return [(row["url"], row["count"]) for row in rows]


def test_links_to_another_host_are_counted_in_one_row(worker: Worker, web: Web) -> None:
    site = web.site()
    shares = [f"http://share.test/?page={n}" for n in range(40)]
    site.pages["/"] = html("/more", *shares[:10], "http://once.test/")
    site.pages["/more"] = html(*shares, "http://once.test/", text="More of them.")
    start(worker, site.url())
    run(worker)
    assert counted(worker) == [("http://once.test/", 1), (shares[0], 40)]
    asked = why(worker.engine, worker.settings, shares[30])  # of which no row says anything
    assert [(row["reason"], row["found_on"], row["count"]) for row in asked.suppressions] == [("scope", site.url(), 40)]
    assert why(worker.engine, worker.settings, "http://never.test/").suppressions == []


def test_each_visited_host_has_a_row_of_its_own(worker: Worker, web: Web) -> None:
    """So that no two workers wait for the row of a host to which all the web links."""
    one, two = web.site(), web.site()
    one.pages["/"] = html("http://share.test/?by=one", "http://share.test/?by=one&again")
    two.pages["/"] = html("http://share.test/?by=two", text="Two.")
    start(worker, one.url(), two.url())
    run(worker)
    assert counted(worker) == [("http://share.test/?by=one", 2), ("http://share.test/?by=two", 1)]
    asked = why(worker.engine, worker.settings, "http://share.test/")
    assert [(row["found_on"], row["count"]) for row in asked.suppressions] == [(one.url(), 2), (two.url(), 1)]


# what a page has in place of plain links to another host: hidden ones, paths of its own host outside of the prefix
HIDDEN = '<a style="display:none" href="http://trap.test/{n}">x</a>'
BESIDE = '<a href="/elsewhere/{n}">x</a>'


@pytest.mark.parametrize(("scope", "link"), [("host", HIDDEN), ("prefix", BESIDE)])
def test_hidden_links_and_paths_beside_the_prefix_are_counted_too(
    worker: Worker, web: Web, scope: str, link: str
) -> None:
    site = web.site()
    page = html(text="A page with words that a person reads, and more of them than its links have.")
    links = "".join(link.format(n=n) for n in range(25))
    site.pages["/docs/"] = replace(page, body=page.body + links.encode())
    start(worker, site.url("/docs/"), scope=scope)
    run(worker)
    assert [count for _, count in counted(worker)] == [25]


def test_pages_of_other_hosts_that_a_sitemap_lists_are_counted(worker: Worker, web: Web) -> None:
    site = web.site()
    places = "".join(f"<url><loc>http://elsewhere.test/{n}</loc></url>" for n in range(30))
    site.robots = f"User-agent: *\nDisallow:\nSitemap: {site.url('/map.xml')}\n"
    site.pages["/"] = html()
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'.encode()
    site.pages["/map.xml"] = Answer(body=body, headers={"Content-Type": "application/xml"})
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert counted(worker) == [("http://elsewhere.test/0", 30)]


def test_a_row_that_is_counted_again_at_once_keeps_its_moment(worker: Worker) -> None:
    """Else each page would write a new entry of both indexes."""
    row = suppressions.suppression(
        1, suppressions.outside_key("to.test", "from.test"), "http://to.test/", Refusal.SCOPE, found_on=None
    )
    said = "SELECT last_at, count FROM suppressions"
    for _ in range(2):
        with db.transaction(worker.engine) as tx:
            suppressions.note(tx, [row])
    (again,) = sql(worker.engine, said)
    assert (again["count"], sql(worker.engine, "SELECT FROM suppressions WHERE last_at = first_at")) == (2, [{}])
    sql(worker.engine, "UPDATE suppressions SET last_at = last_at - interval '2 minutes' RETURNING key")
    with db.transaction(worker.engine) as tx:
        suppressions.note(tx, [row])
    (later,) = sql(worker.engine, said)
    assert (later["count"], later["last_at"] > again["last_at"]) == (3, True)
