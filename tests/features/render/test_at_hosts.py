"""What a page does to the hosts that it asks: how many there may be, and what comes of a wall made for bots."""

from collections.abc import Callable

import pytest

from app.browser.values import Refused
from app.crawl.state.worker import Worker
from app.features.render.requests import HOSTS_MOST
from app.model.render import RenderRefusal as R
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site, Web
from tests.features.render.shells import Stand, render, rows, script


def test_a_page_meets_only_so_many_hosts(worker: Worker, site: Site, web: Web) -> None:
    others = [web.site() for _ in range(HOSTS_MOST + 2)]
    for other in others:
        other.pages["/a.js"] = script()
    start(worker, site.url("/"))
    go(worker)
    first = [other.url("/a.js") for other in others]
    stand = Stand(asks=[*first, "/app.js", first[0], first[-1]])
    render(worker, stand)
    refused = [each == Refused(R.REQUESTS) for each in stand.got]
    assert refused == [False] * HOSTS_MOST + [True, True, False, False, True]
    assert rows(worker, "SELECT count(*) AS n FROM hosts")[0].n == HOSTS_MOST + 1


@pytest.mark.parametrize("is_own", [True, False])
def test_a_host_that_challenges_a_script_rests(worker: Worker, site: Site, web: Web, is_own: bool) -> None:
    """And the browser does not see the challenge, which it might solve."""
    host = site if is_own else web.site()
    host.pages["/wall.js"] = Answer(status=403, headers={"cf-mitigated": "challenge"}, body=b"solve()")
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=[host.url("/wall.js"), host.url("/wall.js")])
    render(worker, stand)
    assert stand.got == [Refused(R.FAILED), Refused(R.BUDGET)]
    assert host.paths.count("/wall.js") == 1
    (row,) = rows(
        worker, f"SELECT resting_because, blocked_until - now() AS rest FROM hosts WHERE name = '{host.host}'"
    )
    assert (row.resting_because, row.rest.total_seconds() > 86_000) == ("challenged", True)


def test_a_host_that_answers_a_script_with_a_soft_block_is_asked_more_slowly(
    make: Callable[..., Worker], site: Site
) -> None:
    worker = make(adaptive_level_max=8)
    site.pages["/frame"] = Answer(headers={"Content-Type": "text/html"}, body=b"<title>Access denied</title><p>No.")
    start(worker, site.url("/"))
    go(worker)
    before = rows(worker, "SELECT adaptive_level FROM hosts")[0].adaptive_level
    render(worker, Stand(asks=["/frame"]))
    (row,) = rows(worker, "SELECT outcome FROM fetches WHERE kind = 'subrequest'")
    assert row.outcome == "soft_blocked"
    assert rows(worker, "SELECT adaptive_level FROM hosts")[0].adaptive_level > before
