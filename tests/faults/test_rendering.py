"""A fleet that renders: its browsers, its render worker and Postgres are killed while pages are open.

The sites judge it, by the kernel's time of each request; so does the audit. Leases are longer than in the other fault
tests, as a page has to fit into one.
"""

import json
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.browser.find import find
from app.browser.values import BrowserProblem
from app.config.constants import variable
from app.features.render.turn import TAKES_MOST
from tests.browser.processes import below, named
from tests.crawl.web import NETWORKS, Answer, Hit, Web
from tests.faults.fleet import Fleet
from tests.faults.pace import SETTINGS, quick_or_long
from tests.faults.servers import OwnPostgres, OwnValkey
from tests.faults.waiting import until

pytestmark = pytest.mark.faults

DELAY_S, LEASE_S, RENDER_S, OPEN_S = 0.3, 45.0, 28.0, 1.5
CLOCKS_S = 0.005
HOSTS = 2
STRIKES_MOST = TAKES_MOST - 1  # of one page: it is given up where its worker or browser died once more
PAGES, FAULTS = quick_or_long(3, 40), quick_or_long(1, 5)
LIMIT_S = quick_or_long(400.0, 1_800.0)
CRAWL = "rendered"
SCRIPT = """
fetch(location.pathname + '/data.json').then((answer) => answer.json()).then((data) => {
  document.getElementById('root').innerHTML = `<article><h1>${data.title}</h1><p>${data.text}</p></article>`;
});
"""


def text_of(host: str, page: str) -> str:
    return " ".join(
        f"Line {n} of page {page} at {host} was brought by a script, and by nothing else." for n in range(9)
    )


class Pages(dict[str, Answer | Callable[[Hit], Answer]]):
    """A site of shells, whose data takes a while, so that there is a middle to each page."""

    def __init__(self, host: str) -> None:
        links = "".join(f"<p><a href=/page/{n}>page {n}</a></p>" for n in range(PAGES))
        shell = "<!doctype html><html lang=en><title>App</title><div id=root></div><script src=/app.js></script>"
        html, js = {"Content-Type": "text/html"}, {"Content-Type": "text/javascript"}
        self["/"] = Answer(headers=html, body=f"<title>All</title><p>{text_of(host, 'all')}</p>{links}".encode())
        self["/app.js"] = Answer(headers=js, body=SCRIPT.encode())
        for n in range(PAGES):
            self[f"/page/{n}"] = Answer(headers=html, body=shell.encode())
            data = json.dumps({"title": f"Page {n}", "text": text_of(host, str(n))})
            self[f"/page/{n}/data.json"] = Answer(body=data.encode(), delay_s=OPEN_S)


class Stand:
    """Sites, and a fleet with a render worker that crawls them."""

    def __init__(self, folder: Path, postgres: OwnPostgres, valkey: OwnValkey, web: Web) -> None:
        self.postgres = postgres
        self.database_url = postgres.make_database()
        self.sites = [web.site() for _ in range(HOSTS)]
        for site in self.sites:
            site.pages = Pages(site.host)  # type: ignore[assignment]
        own = {
            "request_deadline_s": 5.0,
            "default_delay_s": DELAY_S,
            "lease_s": LEASE_S,
            "render_s": RENDER_S,
            "allow_networks": NETWORKS,
        }
        env = {
            "TIPTOE_HOME": str(folder / "home"),
            "TIPTOE_DATABASE_URL": self.database_url,
            "TIPTOE_BROKER_URL": valkey.url,
            **{variable(name): str(value) for name, value in {**SETTINGS, **own}.items()},
        }
        self.struck: Counter[tuple[str, str]] = Counter()
        self.fleet = Fleet(folder, env)
        self.fleet.beat()
        self.fleet.worker()
        self.renderer = self.fleet.worker(1, queue="render")

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Rows; none while Postgres is away."""
        try:
            with psycopg.connect(self.database_url, connect_timeout=5) as connection:
                return connection.execute(query).fetchall()
        except psycopg.OperationalError:
            return []

    def browsers(self) -> list[int]:
        """The launchers of the renderer's browsers."""
        return named(below(self.renderer.pid), "launcher.py")

    def is_open(self) -> bool:
        """Whether a browser waits for the data of its page, and no page that is open would be struck too often."""
        opened = self.opened()
        return bool(opened) and all(self.struck[page] < STRIKES_MOST for page in opened) and bool(self.browsers())

    def opened(self) -> list[tuple[str, str]]:
        """Pages that wait for their data: host, path."""
        last = [(site.host, site.log[-1]) for site in self.sites if site.log]
        return [(host, hit.path) for host, hit in last if hit.path.endswith("data.json") and not hit.ended]

    def until(self, condition: Callable[[], object], what: str) -> None:
        until(lambda: self.fleet.tend() or condition(), what, LIMIT_S)


@pytest.fixture
def stand(reachable_tmp: Path, own_postgres: OwnPostgres, own_valkey: OwnValkey) -> Iterator[Stand]:
    if isinstance(lacking := find(None), BrowserProblem):
        pytest.skip(lacking.line)
    own_postgres.start()
    own_valkey.start()
    with own_valkey.client() as client:
        client.flushall()
    folder = reachable_tmp / f"rendering-{os.getpid()}"
    folder.mkdir(mode=0o711)
    with Web() as web:
        made = Stand(folder, own_postgres, own_valkey, web)
        yield made
        made.fleet.close()


def kill_browser(stand: Stand) -> None:
    os.kill(stand.browsers()[0], signal.SIGKILL)


def kill_renderer(stand: Stand) -> None:
    stand.renderer.kill()
    stand.renderer = stand.fleet.worker(1, queue="render")


def crash_postgres(stand: Stand) -> None:
    stand.postgres.kill()
    stand.postgres.start()


def test_pages_that_were_open_are_rendered_all_the_same(stand: Stand) -> None:
    """Each fault while a page is open: the sites see no shorter gap, and every page is read in the end."""
    stand.until(lambda: stand.sql("SELECT 1 FROM render_workers WHERE problem IS NULL"), "a browser is there")
    stand.fleet.tiptoe("seed", "add", CRAWL, *(site.url("/") for site in stand.sites))
    for fault in [kill_browser, crash_postgres, kill_renderer] * FAULTS:
        stand.until(stand.is_open, "a page is open")
        stand.struck.update(stand.opened())
        fault(stand)
    stand.until(lambda: stand.sql("SELECT 1 FROM crawls WHERE state = 'finished'"), "the crawl ends")
    texts: dict[str, str] = dict(stand.sql("SELECT url, main_text FROM pages"))
    missing = [
        (site.host, n)
        for site in stand.sites
        for n in range(PAGES)
        if text_of(site.host, str(n)) not in texts.get(site.url(f"/page/{n}"), "")
    ]
    assert missing == []
    assert min(gap for site in stand.sites for gap in site.gaps()) >= DELAY_S - CLOCKS_S
    asked = Counter(
        (site.host, path) for site in stand.sites for path in site.paths if re.fullmatch(r"/page/\d+", path)
    )
    assert max(asked.values()) <= 1 + FAULTS, "a document is not fetched again to be rendered; a settle may be lost"
    stand.fleet.tiptoe("audit", CRAWL)  # which fails where there is a violation
