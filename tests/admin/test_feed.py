"""A script's view of a crawl: the pages that are there, and each one that arrives, once."""

import pytest

from app.admin.crawls import start_round
from app.admin.feed import open_feed
from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.crawl.web import Site, Web, html

PAGES = {"/": html("/a", "/b"), "/a": html(text="A text."), "/b": html(text="Another.")}


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= PAGES
    return site


def test_pages_arrive_once_in_the_order_of_their_requests(worker: Worker, site: Site) -> None:
    crawl = start(worker, site.url())
    feed = open_feed(worker.engine, worker.settings, crawl)
    assert list(feed.arrived()) == []
    run(worker)
    arrived = [page.url for page in feed.arrived()]
    assert arrived == [site.url(path) for path in site.paths if path in PAGES]
    assert len(arrived) == 3
    assert list(feed.arrived()) == []
    assert list(feed.stored()) == []


def test_what_is_there_comes_first_and_arrives_again_when_it_is_fetched_again(worker: Worker, site: Site) -> None:
    crawl = start(worker, site.url())
    run(worker)
    feed = open_feed(worker.engine, worker.settings, crawl)
    assert {page.url for page in feed.stored()} == {site.url(path) for path in PAGES}
    assert list(feed.arrived()) == []
    start_round(worker.engine, "c")
    run(worker)
    assert {page.url for page in feed.arrived()} == {site.url(path) for path in PAGES}
