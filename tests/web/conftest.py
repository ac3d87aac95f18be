"""crawled: an engine on a database with a small crawl, `docs`.   site: what it crawled.   browser: on its dashboard.

app_site: a site whose page is empty without JavaScript, crawled by `shells` into an archive: two answers, and what a
stand-in for a browser made of each.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.crawl.state.setup import make_sender, make_worker
from app.model import Budgets
from tests.crawl import loop
from tests.crawl.archiving import Archiving
from tests.crawl.web import Answer, Site, Web, html
from tests.features.render.archived import OTHER
from tests.features.render.shells import DOCUMENT, Stand, render, shell
from tests.store.rows import clean, sql
from tests.web.served import Browser, served, settings_of

TRAP = """INSERT INTO url_patterns (host_id, crawl_id, pattern, urls, fetched, new, refused, lately, new_lately)
          VALUES ((SELECT min(host_id) FROM urls), 1, '/calendar/{n}', 900, 40, 1, 800, 20, 0.2)"""
TITLE = "<script>alert(1)</script> \x1b[31mred \u202egnp.exe"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder, with the archive."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def _crawl(database_url: str, home: Path) -> Iterator[tuple[Engine, Site, Site]]:
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
        sql(engine, TRAP)
        app_site = web.site()
        _crawl_shells(Archiving(worker, home), app_site)
        yield engine, site, app_site
    sender.close()


def _crawl_shells(archiving: Archiving, app_site: Site) -> None:
    worker = archiving.worker
    loop.start(worker, app_site.url("/"), name="shells", budgets=Budgets(max_depth=0))
    for n, document in enumerate((DOCUMENT, OTHER)):
        app_site.pages["/"] = shell([f"/app.{n}.js"])
        of_it = "crawl_id = (SELECT id FROM crawls WHERE name = 'shells')"
        sql(worker.engine, f"UPDATE urls SET state = 'queued', due_at = NULL WHERE {of_it}")
        sql(worker.engine, "UPDATE hosts SET next_fetch_at = now() WHERE name = :name", name=app_site.host)
        loop.go(worker)
        render(worker, Stand(asks=[], html=document))
    loop.run(worker)
    archiving.close()


@pytest.fixture(scope="module")
def crawled(_crawl: tuple[Engine, Site, Site]) -> Engine:
    return _crawl[0]


@pytest.fixture(scope="module")
def site(_crawl: tuple[Engine, Site, Site]) -> Site:
    return _crawl[1]


@pytest.fixture(scope="module")
def app_site(_crawl: tuple[Engine, Site, Site]) -> Site:
    return _crawl[2]


@pytest.fixture(scope="module")
def _open(crawled: Engine, database_url: str, home: Path) -> Iterator[Browser]:
    with served(crawled, settings_of(database_url, home=home)) as browser:
        yield browser


@pytest.fixture
def browser(_open: Browser) -> Browser:
    return _open.entered()
