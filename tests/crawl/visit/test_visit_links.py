"""Links of pages are kept where the crawl asks for it: from, to, anchor text and rel, a row for each reading."""

from typing import Any

import pytest

from app.admin.crawls import go_round
from app.admin.deletion import delete
from app.admin.edit import edit
from app.crawl.state.worker import Worker
from app.model import Budgets, CrawlChange
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql

DOCUMENT = """<!doctype html><html><head><base href="/docs/"><link rel="canonical" href="/"></head><body>
<a href="a.html">One  thing</a> <a href="/docs/a.html#part">again</a>
<a href="https://elsewhere.test/x?b=1&amp;a=2" rel="Nofollow sponsored">out</a>
<a href="mailto:me@a.test">mail</a> <a href="http://user:pw@a.test/">no</a>
<a href="ü.html"><img alt="picture"></a></body></html>"""


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages["/"] = Answer(body=DOCUMENT.encode(), headers={"Content-Type": "text/html; charset=utf-8"})
    return site


def links(worker: Worker) -> list[tuple[Any, ...]]:
    found = sql(worker.engine, "SELECT * FROM v_links ORDER BY found_at")
    return [(row["crawl"], row["from_url"], row["to_url"], row["anchor"], row["rel"]) for row in found]


def test_links_are_kept_as_they_would_be_sent(worker: Worker, site: Site) -> None:
    start(worker, site.url(), name="docs", keep_links=True, budgets=Budgets(max_depth=0))
    run(worker)
    of = ("docs", site.url())
    assert [link for link in links(worker) if link[4] != "canonical"] == [
        (*of, site.url("/docs/a.html"), "One thing", None),
        (*of, site.url("/docs/a.html"), "again", None),
        (*of, "https://elsewhere.test/x?b=1&a=2", "out", "nofollow sponsored"),
        (*of, site.url("/docs/%C3%BC.html"), "picture", None),
    ]


def test_a_crawl_that_does_not_ask_keeps_none(worker: Worker, site: Site) -> None:
    start(worker, site.url(), budgets=Budgets(max_depth=0))
    run(worker)
    assert one(worker.engine, "SELECT count(*) FROM links") == 0


def test_it_can_be_asked_for_and_ended_later(worker: Worker, site: Site) -> None:
    site.pages["/"] = html("/a", text="first")
    site.pages["/a"] = html(text="a")
    crawl = start(worker, site.url(), name="docs")
    run(worker)
    for text, keeps, rows in (("second", True, 1), ("third", False, 1)):
        edit(worker.engine, worker.settings, crawl.name, CrawlChange(keep_links=keeps))
        site.pages["/"] = html("/a", text=text)
        go_round(worker.engine, "docs")
        run(worker)
        assert one(worker.engine, "SELECT count(*) FROM links") == rows  # /a has none, and so no row


@pytest.mark.parametrize("head", ["<meta name=robots content=noindex>", "<meta name=tdm-reservation content=1>"])
def test_a_page_that_is_kept_out_leaves_no_links(worker: Worker, site: Site, head: str) -> None:
    site.pages["/"] = html("/a", head=head)
    site.pages["/a"] = html("/b")
    start(worker, site.url(), keep_links=True, honour_opt_outs=True)
    run(worker)
    assert [link[1:3] for link in links(worker)] == [(site.url("/a"), site.url("/b"))]


def test_they_are_deleted_with_their_crawl(worker: Worker, site: Site) -> None:
    start(worker, site.url(), name="docs", keep_links=True)
    run(worker)
    assert links(worker) != []
    delete(worker.engine, worker.settings, "docs")
    assert links(worker) == []
