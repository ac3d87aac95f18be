"""crawled: an engine on a database with a small crawl, `docs`.   site: what it crawled.   browser: on its dashboard."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from app.crawl.state.setup import make_sender, make_worker
from tests.crawl import loop
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import clean
from tests.web.served import Browser, served, settings_of

TITLE = "<script>alert(1)</script> \x1b[31mred \u202egnp.exe"


@pytest.fixture(scope="module")
def _crawl(database_url: str) -> Iterator[tuple[Engine, Site]]:
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with clean(database_url) as engine, Web() as web:
        site = web.site()
        site.robots = "User-agent: *\nDisallow: /private\n"
        site.pages |= {
            "/": html("/a", "/b", "/private/x", "/broken", "/?q=%3Cscript%3E", "http://elsewhere.test/"),
            "/a": html(title=TITLE.replace("<", "&lt;"), text="A lantern in the orchard."),
            "/b": html(title="B", text="A lantern in the orchard."),
            "/broken": Answer(status=500),
        }
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        loop.start(worker, site.url(), name="docs", search=True)
        loop.run(worker)
        yield engine, site
    sender.close()


@pytest.fixture(scope="module")
def crawled(_crawl: tuple[Engine, Site]) -> Engine:
    return _crawl[0]


@pytest.fixture(scope="module")
def site(_crawl: tuple[Engine, Site]) -> Site:
    return _crawl[1]


@pytest.fixture(scope="module")
def _open(crawled: Engine, database_url: str) -> Iterator[Browser]:
    with served(crawled, settings_of(database_url)) as browser:
        yield browser


@pytest.fixture
def browser(_open: Browser) -> Browser:
    return _open.anew()
