"""After a crash: URLs are taken one at a time, and what kills its visits is quarantined."""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from app.crawl.visit.visit import visit
from tests.crawl.loop import go, run, start
from tests.crawl.visit.losses import Killed, crash, crash_at, offers, run_out, steal
from tests.crawl.web import Answer, Hit, Web, html
from tests.store.rows import host, one, sql, url


def test_after_a_crash_urls_are_taken_one_at_a_time_with_their_attempt_counted_first(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/1": html(), "/2": html(), "/3": html()}
    start(worker, site.url("/1"), site.url("/2"), site.url("/3"))
    crash(worker, "robots.txt")
    seen: list[int] = []

    def attempts(hit: Hit) -> Answer:
        seen.append(url(worker.engine, site.url(hit.path))["attempts"])
        return html()

    site.pages = dict.fromkeys(site.pages, attempts)
    run(worker)
    assert seen == [1, 1, 1], "spent before the request"
    settled = sql(worker.engine, "SELECT count(*) AS n FROM fetches WHERE kind = 'page'")
    assert settled == [{"n": 3}]
    assert {row["attempts"] for row in sql(worker.engine, "SELECT attempts FROM urls")} == {0}
    assert one(worker.engine, "SELECT isolate FROM hosts") == worker.settings.settle_urls - 3


def test_a_visit_that_lost_its_lease_counts_no_attempt(worker: Worker, web: Web) -> None:
    """Invariant 1: every write after the take-up is fenced."""
    site = web.site()
    site.robots = lambda _: (steal(worker.engine), "")[1]
    site.pages["/"] = html()
    start(worker, site.url())
    crash(worker, "robots.txt")
    (report,) = go(worker)
    assert report.ending == "fenced"
    assert url(worker.engine, site.url())["attempts"] == 0


def test_an_isolated_host_is_like_any_other_once_it_has_behaved(make: Callable[..., Worker], web: Web) -> None:
    worker = make(settle_urls=2)
    site = web.site()
    site.pages = {f"/{number}": html() for number in range(5)}
    start(worker, *(site.url(path) for path in site.pages))
    crash(worker, "robots.txt")
    run(worker)
    assert one(worker.engine, "SELECT isolate FROM hosts") == 0
    assert len(site.pages_asked) == 5


def test_a_page_that_kills_its_visits_is_quarantined_and_its_host_goes_on(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/poison", "/1", "/2"), "/1": html(text="one"), "/2": html(text="two")}
    start(worker, site.url())
    deaths = 0
    for _ in range(20):
        for offer in offers(worker):
            try:
                visit(crash_at(worker, "/poison"), offer.host_id, offer.token)
            except Killed:
                deaths += 1
        run_out(worker.engine)
    found = url(worker.engine, site.url("/poison"))
    assert found["state"] == "quarantined"
    assert "poison" in found["cause"]
    assert deaths == worker.settings.attempts_max + 1, "once before it was isolated"
    # The crash cost the batch that was not settled, no more: at most one more fetch of each.
    assert set(site.pages_asked) == {"/", "/1", "/2"}
    assert {row["state"] for row in sql(worker.engine, "SELECT state FROM urls WHERE url NOT LIKE '%poison'")} == {
        "resting"
    }


def test_a_crash_repeats_at_most_one_batch(make: Callable[..., Worker], web: Web) -> None:
    worker = make(settle_urls=3)
    site = web.site()
    names = [f"/{number}" for number in range(12)]
    site.pages |= dict.fromkeys(names, html())
    start(worker, *(site.url(path) for path in names))
    order = [row["url"] for row in sql(worker.engine, "SELECT url FROM urls ORDER BY id")]
    crash(worker, order[7].removeprefix(site.url("")[:-1]))
    run(worker)
    assert set(site.pages_asked) == set(names)
    assert len(site.pages_asked) <= len(names) + 3


def test_a_host_in_trouble_costs_no_attempt_in_isolation_either(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=600.0, backoff_max_s=600.0)
    site = web.site()
    site.pages["/"] = Answer(status=429)
    start(worker, site.url())
    crash(worker, "robots.txt")
    go(worker)
    assert site.pages_asked == ["/"]
    assert url(worker.engine, site.url())["attempts"] == 0


def test_after_a_crash_nothing_is_sent_before_the_lease_and_the_delay_are_over(
    make: Callable[..., Worker], web: Web
) -> None:
    worker = make(default_delay_s=3.0)
    site = web.site()
    start(worker, site.url())
    for offer in offers(worker):
        with pytest.raises(Killed):
            visit(crash_at(worker, "robots.txt"), offer.host_id, offer.token)
    row = host(worker.engine, 1)
    assert (row["next_fetch_at"] - row["lease_until"]).total_seconds() == pytest.approx(3.0, abs=0.001)
    assert (row["lease_until"] - row["taken_at"]).total_seconds() >= worker.settings.lease_s - 0.001
    assert offers(worker) == []
