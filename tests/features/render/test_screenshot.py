"""A picture of a page that waits for a browser, and what it may ask for: nothing, or politely."""

from collections.abc import Callable

import pytest

from app.admin import audit, screenshot
from app.browser.values import Chromium
from app.crawl.state.worker import Worker
from app.features.render.requests import HOSTS_MOST
from tests.crawl.loop import go, start
from tests.crawl.web import Web
from tests.features.render.shells import rows, script, shell

GAP_S = 0.2


@pytest.mark.parametrize("load", [False, True])
def test_it_sends_nothing_unless_it_is_told_to_and_then_in_its_hosts_turns(
    make: Callable[..., Worker], web: Web, chromium: Chromium, load: bool
) -> None:
    worker = make(default_delay_s=GAP_S)
    site, private = web.site(), web.site()
    site.robots, private.robots = "User-agent: *\nDisallow: /no", "User-agent: *\nDisallow: /"
    scripts = ("/app.js", "/more.js", "/no.js", private.url("/a.js"))
    site.pages |= {"/": shell(scripts), "/app.js": script("document.title = 'x'"), "/more.js": script()}
    start(worker, site.url("/"))
    go(worker)
    before = list(site.paths)
    found = screenshot.take(worker.engine, worker.settings, site.url("/"), load=load)
    assert found.png.startswith(b"\x89PNG")
    assert (found.crawl, found.fetched_at, found.asked) == ("c", None, 4)
    assert found.unanswered == (2 if load else 4)
    assert sorted(site.paths[len(before) :]) == (["/app.js", "/more.js"] if load else [])
    assert private.paths == (["/robots.txt"] if load else [])
    assert min(site.gaps()) >= GAP_S
    assert [row.state for row in rows(worker, "SELECT state FROM renders")] == ["due"], "the page still waits"
    assert audit.audit(worker.engine, worker.settings, None).violations == 0


def test_a_loaded_page_asks_no_more_hosts_than_a_rendered_one_and_each_in_turn(
    make: Callable[..., Worker], web: Web, chromium: Chromium
) -> None:
    worker = make(default_delay_s=GAP_S)
    site, others = web.site(), [web.site() for _ in range(HOSTS_MOST + 3)]
    own = [f"/{n}.js" for n in range(12)]
    site.pages |= {"/": shell([*own, *(other.url("/a.js") for other in others)])}
    for each in (site, *others):
        each.pages |= dict.fromkeys(["/a.js", *own], script())
    start(worker, site.url("/"))
    go(worker)
    found = screenshot.take(worker.engine, worker.settings, site.url("/"), load=True)
    assert sum(bool(other.paths) for other in others) == HOSTS_MOST
    assert (found.asked, found.unanswered) == (len(own) + len(others), 3)
    assert sorted(site.paths[2:]) == sorted(own)
    assert min(site.gaps()) >= GAP_S
