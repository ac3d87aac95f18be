"""A browser and a render worker that are killed (SIGKILL) in the middle of a page."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.synchronize import Event

import pytest

from app.admin import audit
from app.browser.page import Browsers
from app.browser.values import Ask, Bounds, BrowserDeath, PlainResponse, Rendering, ResourceKind, SubRequest
from app.crawl.state.setup import make_engine, make_sender, make_worker
from app.crawl.state.worker import Worker
from app.features.render.turn import TurnEnding
from tests.browser.processes import below
from tests.crawl.loop import go, make_settings, start
from tests.crawl.web import Web
from tests.features.render.shells import Stand, rows, script, shell, turns
from tests.features.render.test_browser import serve
from tests.store.rows import sql

pytestmark = pytest.mark.faults


class Killed:
    """A pool whose browser is killed when a script of its first page asks for data: the page is shown by then."""

    def __init__(self, browsers: Browsers) -> None:
        self._browsers, self._before, self.kills = browsers, below(), 0

    def render(
        self, plain: PlainResponse, ask: Ask, bounds: Bounds, *, user_agent: str, screenshot: bool = False
    ) -> Rendering | BrowserDeath:
        def killing(request: SubRequest) -> object:
            if self.kills == 0 and request.resource is ResourceKind.FETCH:
                self.kills = 1
                for pid in below() - self._before:
                    os.kill(pid, signal.SIGKILL)
            return ask(request)

        return self._browsers.render(plain, killing, bounds, user_agent=user_agent)  # type: ignore[arg-type]


def test_a_killed_browser_costs_its_page_one_attempt(worker: Worker, web: Web, browsers: Browsers) -> None:
    site = web.site()
    serve(site)
    start(worker, site.url("/react/"))
    go(worker)
    made = turns(worker, Killed(browsers))
    made.run()
    (row,) = rows(worker, "SELECT state, attempts FROM renders")
    assert tuple(row) == ("due", 1)
    sql(worker.engine, "UPDATE renders SET due_at = now() - interval '1 second'")
    made.run()
    (row,) = rows(worker, "SELECT state, attempts FROM renders")
    assert tuple(row) == ("done", 0)


def _turn_until_killed(database_url: str, is_open: Event) -> None:
    settings = make_settings(database_url, lease_s=8.0, request_deadline_s=2.0)
    sender = make_sender(settings)
    made = make_worker(settings, engine=make_engine(settings), send=sender.send, where=sender.where, name="dies:1")
    turns(made, Stand(does=lambda: (is_open.set(), signal.pause()))).run()


def test_a_killed_worker_leaves_its_page_to_another(make: Callable[..., Worker], database_url: str, web: Web) -> None:
    worker = make(lease_s=8.0, request_deadline_s=2.0)
    site = web.site()
    site.pages |= {"/": shell(), "/app.js": script()}
    start(worker, site.url("/"))
    go(worker)
    context = multiprocessing.get_context("spawn")
    is_open = context.Event()
    process = context.Process(target=_turn_until_killed, args=(database_url, is_open))
    process.start()
    assert is_open.wait(60)
    process.kill()
    process.join()
    made = turns(worker, Stand())
    assert made.run() is TurnEnding.NOTHING, "its lease still runs"
    sql(worker.engine, "UPDATE hosts SET lease_until = now() - interval '1 second', next_fetch_at = now()")
    assert made.run() is TurnEnding.DONE
    (row,) = rows(worker, "SELECT state, takes FROM renders")
    assert tuple(row) == ("done", 0)
    assert audit.audit(worker.engine, worker.settings, None).violations == 0
