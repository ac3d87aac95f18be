"""A host whose name leads, for a while or for good, to an address that we do not contact."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.crawl.state.worker import Worker
from app.model import Reply, Request, Unsent
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql

OTHERS = "127.200.0.0/16"


@pytest.fixture
def lied_to(make: Callable[..., Worker], web: Web) -> tuple[Worker, Site, list[str]]:
    """A site of four pages. While the list has a word, all but the first are at a forbidden address."""
    worker = make(host_failures_max=3)
    guarded = make(allow_networks=OTHERS).send
    site, lies = web.site(), ["by its name server"]
    site.pages |= {"/": html("/a", "/b", "/c"), "/a": html(), "/b": html(), "/c": html()}

    def send(request: Request) -> Reply | Unsent:
        is_lied_about = lies and request.url in {site.url(path) for path in ("/a", "/b", "/c")}
        return (guarded if is_lied_about else worker.send)(request)

    start(worker, site.url())
    return replace(worker, send=send), site, lies


def test_a_name_server_that_lies_for_a_moment_costs_no_url(lied_to: tuple[Worker, Site, list[str]]) -> None:
    worker, site, lies = lied_to
    go(worker)
    queued = sql(worker.engine, "SELECT DISTINCT state, attempts FROM urls WHERE url <> :first", first=site.url())
    assert queued == [{"state": "queued", "attempts": 0}]
    (row,) = sql(worker.engine, "SELECT resting_because, resting_detail, failures FROM hosts")
    assert (row["resting_because"], row["failures"]) == ("unreachable", 1)
    assert "loopback" in row["resting_detail"]
    lies.clear()
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/a", "/b", "/c"]
    assert one(worker.engine, "SELECT failures FROM hosts") == 0


def test_one_that_stays_where_we_may_not_go_is_given_up(lied_to: tuple[Worker, Site, list[str]]) -> None:
    worker, site, _ = lied_to
    run(worker)
    assert site.pages_asked == ["/"]
    given_up = sql(worker.engine, "SELECT state, cause, detail FROM urls WHERE url <> :first", first=site.url())
    assert [(row["state"], row["cause"]) for row in given_up] == [("quarantined", "blocked address")] * 3
    assert all("loopback" in row["detail"] for row in given_up)
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE outcome = 'blocked_address'") == 3
