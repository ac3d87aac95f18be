"""Hostile pages through a whole crawl: beat, a worker, one of queue render with a real browser, a plain crawl beside.

Each page ends within its bounds, nothing of it reaches an address but its site's, and no other host waits for it. And
Postgres dies with a rendering under way.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin import audit, crawls, seeds
from app.browser.page import READ_S
from app.browser.values import Chromium
from app.config import Settings, load
from app.config.constants import variable
from app.crawl.state.setup import make_engine
from app.model import Budgets
from app.model.crawl import CrawlSpec
from tests.acceptance.conftest import PATIENCE_S, celery, until
from tests.browser.conftest import Ears, ears
from tests.crawl.web import Answer, Hit, Web, html
from tests.faults.servers import OwnPostgres
from tests.features.render.shells import script, shell
from tests.features.render.test_browser import serve
from tests.store.rows import sql

__all__ = ["ears"]
pytestmark = pytest.mark.faults
DELAY_S = 0.2
PLAIN = 40
RENDER_S = 5.0


class Fleet:
    """Beat, a worker and a worker of queue render, in processes of their own."""

    def __init__(self, stack: ExitStack, folder: Path, database_url: str, broker_url: str, **settings: object) -> None:
        chosen: dict[str, object] = {"render_s": RENDER_S, "home": str(folder / "home"), "jitter": 0.0}
        chosen |= {"database_url": database_url, "broker_url": broker_url, "default_delay_s": DELAY_S, **settings}
        chosen["address_gap_s"] = DELAY_S
        plain = {name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")}
        self.env = {**plain, **{variable(name): str(value) for name, value in chosen.items()}}
        self._stack, self._folder = stack, folder
        self.settings: Settings = load(**{name: value for name, value in chosen.items() if name != "home"})
        self.engine: Engine = make_engine(self.settings)
        stack.callback(self.engine.dispose)

    def start(self) -> None:
        """Start them; a crawl that ends before a browser is there would leave its pages."""
        self._run("worker", "--hostname", "plain@test", "--concurrency", "4")
        self._run("worker", "--hostname", "render@test", "--concurrency", "1", "-Q", "render")
        self._run("beat", "--pidfile=")
        ready = "SELECT FROM render_workers WHERE problem IS NULL"
        until(lambda: bool(sql(self.engine, ready)), "a browser is there")

    def crawl(self, name: str, urls: list[str], **wishes: Any) -> None:
        spec = CrawlSpec(**{"sitemaps": "none", "budgets": Budgets(max_depth=0), **wishes})
        seeds.add(self.engine, self.settings, crawls.create(self.engine, name, spec), urls)

    def until_finished(self, name: str) -> None:
        until(lambda: crawls.find(self.engine, name).state == "finished", f"{name} ends")

    def _run(self, *arguments: str) -> None:
        self._stack.enter_context(celery(self.env, self._folder, *arguments))


@pytest.fixture(scope="module")
def own_postgres(reachable_tmp: Path) -> Iterator[OwnPostgres]:
    """A server of this module's own, beside that of the faults."""
    with OwnPostgres(reachable_tmp / "render-faults") as server:
        yield server


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as made:
        yield made


# hostile page, endings of its rendering (None: the browser died over it), besides the deadline, which a busy machine
# brings to any
HOSTILE: list[tuple[str, set[str | None]]] = [
    ("endless", set()),
    ("endless-later", set()),
    ("memory", {None}),
    ("alerts", set()),
    ("popups", {"quiet"}),
    ("downloads", {"quiet", "navigated"}),
    ("private", {"quiet", "requests"}),
    ("elsewhere", {"navigated"}),
    ("service-worker", {"quiet"}),
    ("sockets", {"quiet"}),
    ("webrtc", {"quiet"}),
]


def test_hostile_pages_end_in_time_reach_nothing_and_keep_nobody_waiting(
    stack: ExitStack, tmp_path: Path, database_url: str, broker_url: str, web: Web, ears: Ears, chromium: Chromium
) -> None:
    hostile, plain = web.site(), web.site()
    serve(hostile)
    for n in range(PLAIN):
        plain.pages[f"/{n}"] = html(text=f"Page {n} says what it has to say without a script. " * 12)
    networks = f"{hostile.host}/32,{plain.host}/32"
    fleet = Fleet(stack, tmp_path, database_url, broker_url, allow_networks=networks)
    pages = {name: hostile.url(f"/hostile/{name}.html?port={ears.port}") for name, _ in HOSTILE}
    for name, url in pages.items():
        hostile.pages[url.removeprefix(hostile.url(""))] = hostile.pages[f"/hostile/{name}.html"]
    fleet.start()
    fleet.crawl("hostile", list(pages.values()), render="always")
    fleet.crawl("plain", [plain.url(f"/{n}") for n in range(PLAIN)])
    fleet.until_finished("plain")
    fleet.until_finished("hostile")

    found = {row["url"]: row for row in sql(fleet.engine, "SELECT url, state, cause, ending, wall_ms FROM renders")}
    assert found.keys() == set(pages.values()), "of the plain crawl, no page was rendered"
    ends = {name: found[url]["ending"] for name, url in pages.items()}
    assert {name: ends[name] for name, endings in HOSTILE if ends[name] not in {*endings, "deadline"}} == {}
    assert {row["state"] for row in found.values()} <= {"done", "failed"}
    assert [row for row in found.values() if (row["wall_ms"] or 0) > (RENDER_S + READ_S) * 1000] == []
    assert ears.heard() == 0
    assert {hit.host for hit in web.log} == {hostile.host, plain.host}
    assert min(gap for site in (hostile, plain) for gap in site.gaps()) >= DELAY_S
    assert sorted(plain.pages_asked) == sorted(f"/{n}" for n in range(PLAIN))
    (order,) = sql(
        fleet.engine,
        "SELECT finished_at < (SELECT max(ended_at) FROM renders) AS is_first FROM crawls WHERE name = 'plain'",
    )
    assert order["is_first"], "the plain host was crawled to its end while the hostile pages were rendered"
    report = audit.audit(fleet.engine, fleet.settings, None)
    assert (report.violations, report.disorder) == (0, 0)
    answered = "SELECT DISTINCT h.name FROM fetches AS f JOIN hosts AS h ON h.id = f.host_id WHERE f.status IS NOT NULL"
    assert {row["name"] for row in sql(fleet.engine, answered)} == {hostile.host, plain.host}


def test_postgres_is_killed_with_a_rendering_under_way(
    stack: ExitStack, tmp_path: Path, own_postgres: OwnPostgres, broker_url: str, web: Web, chromium: Chromium
) -> None:
    """kill -9 of Postgres while a page waits for its script: the gap holds, the page is rendered again."""
    asked, go_on = threading.Event(), threading.Event()

    def held(hit: Hit) -> Answer:
        asked.set()
        go_on.wait(60)
        return script(f"document.getElementById('root').innerHTML = '<p>{'Made by a script. ' * 40}'")

    site, plain = web.site(), web.site()
    site.pages |= {"/": shell(), "/app.js": held}
    for n in range(10):
        plain.pages[f"/{n}"] = html(text=f"Page {n} says what it has to say without a script. " * 12)
    fleet = Fleet(
        stack,
        tmp_path,
        own_postgres.make_database(),
        broker_url,
        allow_networks="127.0.0.0/8",
        lease_s=30.0,
        render_s=12.0,
        request_deadline_s=8.0,
        robots_deadline_s=4.0,
    )
    fleet.start()
    fleet.crawl("c", [site.url("/"), *(plain.url(f"/{n}") for n in range(10))])
    assert asked.wait(PATIENCE_S), "the rendering asks for its script"
    own_postgres.strike(signal.SIGKILL)
    go_on.set()
    until(lambda: "render.failed" in (tmp_path / "worker.log").read_text(), "the render worker meets the outage")
    own_postgres.start()
    fleet.engine.dispose()  # its connections are gone with the server
    fleet.until_finished("c")

    (row,) = sql(fleet.engine, "SELECT state, cause, ending, takes FROM renders")
    assert row == {"state": "done", "cause": None, "ending": "quiet", "takes": 0}
    (page,) = sql(fleet.engine, "SELECT main_text, rendered_at FROM pages WHERE url = :url", url=site.url("/"))
    assert page["rendered_at"] is not None
    assert "Made by a script." in page["main_text"]
    assert site.paths.count("/app.js") in {1, 2}, "its turn is settled after the outage, or the page is rendered again"
    assert site.paths.count("/") == 1
    assert {path: plain.paths.count(path) for path in plain.pages}.keys() == plain.pages.keys()
    assert min(gap for each in (site, plain) for gap in each.gaps()) >= DELAY_S
    assert sql(fleet.engine, "SELECT name FROM hosts WHERE state <> 'idle' OR lease_token IS NOT NULL") == []
    assert sql(fleet.engine, "SELECT url FROM urls WHERE fetched_at IS NULL") == []
    assert audit.audit(fleet.engine, fleet.settings, None).violations == 0
