"""A visit and its lease: one at a time, and fenced when it is lost."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up, visit
from tests.crawl.loop import go, run, start
from tests.crawl.visit.losses import offers, run_out, steal
from tests.crawl.web import Answer, Hit, Web, html
from tests.store.rows import one, sql, url

# --- the door ---------------------------------------------------------------------------------------------------


def test_a_doubled_message_is_one_visit(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    (offer,) = offers(worker)
    first, second = (visit(worker, offer.host_id, offer.token) for _ in range(2))
    assert (first.host, second.host, second.ending) == (site.host, None, "closed")
    assert site.paths == ["/robots.txt", "/"]


def test_a_message_that_was_lost_costs_an_offer(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    (lost,) = offers(worker)
    assert offers(worker) == []
    run_out(worker.engine)
    run(worker)
    assert site.paths == ["/robots.txt", "/"]
    assert visit(worker, lost.host_id, lost.token).ending == "closed"
    assert one(worker.engine, "SELECT isolate FROM hosts") == 0


def test_a_dispatcher_rung_a_hundred_times_offers_each_host_once(worker: Worker, web: Web) -> None:
    sites = [web.site() for _ in range(5)]
    start(worker, *(site.url() for site in sites))
    found = [offer for _ in range(100) for offer in offers(worker)]
    assert sorted(offer.name for offer in found) == sorted(site.host for site in sites)


@pytest.mark.parametrize(("offers_max", "expected"), [(4, 4), (8, 8), (400, 12)])
def test_no_more_is_offered_than_there_is_room_for(
    make: Callable[..., Worker], web: Web, offers_max: int, expected: int
) -> None:
    worker = make(offers_max=offers_max)
    start(worker, *(f"http://h{number}.test/" for number in range(12)))
    sql(worker.engine, "UPDATE hosts SET queue = 'host-0' || id % 4")
    assert len(offers(worker)) == expected
    assert len(offers(worker)) == 0


def test_a_queue_that_nobody_serves_does_not_hold_up_the_rest(make: Callable[..., Worker], web: Web) -> None:
    worker = make(offers_max=8)
    start(worker, *(f"http://h{number}.test/" for number in range(20)))
    sql(worker.engine, "UPDATE hosts SET queue = 'host-00'")
    sql(worker.engine, "UPDATE hosts SET queue = 'host-01' WHERE name = 'h7.test'")
    dead = [offer.queue for offer in offers(worker) + offers(worker)]
    assert dead.count("host-00") == 2, "a quarter of all"
    assert dead.count("host-01") == 1


def test_all_offers_wait_for_are_hosts_in_served_queues(make: Callable[..., Worker], web: Web) -> None:
    worker = make(pinned_queues="mine")
    start(worker, "http://a.test/", "http://b.test/")
    sql(worker.engine, "UPDATE hosts SET queue = CASE name WHEN 'a.test' THEN 'mine' ELSE 'unheard-of' END")
    assert [offer.queue for offer in offers(worker)] == ["mine"]


# --- the fence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 50])
def test_a_fenced_visit_writes_nothing_but_its_log(make: Callable[..., Worker], web: Web, batch: int) -> None:
    worker = make(settle_urls=batch)
    site = web.site()

    def stealing(_: Hit) -> Answer:
        steal(worker.engine)
        return html("/b", text="must not be kept")

    site.pages |= {"/": html("/a"), "/a": stealing}
    start(worker, site.url())
    (report,) = go(worker)
    assert report.ending == "fenced"
    found = url(worker.engine, site.url("/a"))
    assert (found["state"], found["attempts"], found["fetched_at"]) == ("queued", 0, None)
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE url LIKE '%/b'") == 0
    assert one(worker.engine, "SELECT count(*) FROM pages WHERE main_text LIKE '%must not%'") == 0
    logged = {row["url"]: row["fenced"] for row in sql(worker.engine, "SELECT url, fenced FROM fetches")}
    assert logged == {site.url("/robots.txt"): False, site.url(): False, site.url("/a"): True}
    assert one(worker.engine, "SELECT ending FROM visits") == "fenced"
    assert one(worker.engine, "SELECT state FROM hosts") == "offered", "the other's lease stands"


def test_what_a_fenced_visit_fetched_is_fetched_again(worker: Worker, web: Web) -> None:
    site = web.site()
    stolen = False

    def stealing(_: Hit) -> Answer:
        nonlocal stolen
        if not stolen:
            stolen = True
            steal(worker.engine)
        return html("/b")

    site.pages |= {"/": stealing, "/b": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/", "/b"]


def test_a_lease_lost_before_a_request_is_noticed_before_it(make: Callable[..., Worker], web: Web) -> None:
    """A lease too short for the next request is extended first; who cannot, sends nothing."""
    worker = make(request_deadline_s=2.0, lease_s=7.5, settle_s=100.0)
    site = web.site()
    clock = [0.0]

    def slow(_: Hit) -> Answer:
        steal(worker.engine)
        clock[0] += 5.0  # the lease is too short now for another request
        return html("/a")

    site.pages |= {"/": slow, "/b": html()}
    start(worker, site.url(), site.url("/b"))
    sql(worker.engine, "UPDATE urls SET score = 0.5 WHERE url LIKE '%/b'")
    base = worker.monotonic
    (report,) = go(replace(worker, monotonic=lambda: base() + clock[0]))
    assert report.ending == "fenced"
    assert site.pages_asked == ["/"]


def test_requests_of_a_batch_that_lost_its_lease_before_the_settle_are_logged(
    make: Callable[..., Worker], web: Web
) -> None:
    worker = make(request_deadline_s=2.0, lease_s=7.5, settle_s=100.0)
    site = web.site()
    clock = [0.0]

    def slow(_: Hit) -> Answer:
        steal(worker.engine)
        clock[0] += 5.0
        return html()

    site.pages |= {"/": slow, "/b": html()}
    start(worker, site.url(), site.url("/b"))
    sql(worker.engine, "UPDATE urls SET score = 0.5 WHERE url LIKE '%/b'")
    base = worker.monotonic
    go(replace(worker, monotonic=lambda: base() + clock[0]))
    assert one(worker.engine, "SELECT fenced FROM fetches WHERE url = :u", u=site.url()) is True


def test_a_visit_that_sees_a_step_of_the_databases_clock_asks_for_its_token_first(
    make: Callable[..., Worker], web: Web
) -> None:
    """By its own clock its lease would last for an hour. Somebody else's exchange shows the step."""
    worker = make(request_deadline_s=2.0, lease_s=3_600.0, settle_s=100.0)
    site = web.site()

    def stepped(_: Hit) -> Answer:
        steal(worker.engine)
        for ahead_s in (0.0, 100.0):
            now = worker.monotonic()
            worker.starts.clock_tie.moments(
                datetime.now(UTC) + timedelta(days=1, seconds=ahead_s), sent=now - 0.01, received=now
            )
        return html("/a")

    site.pages |= {"/": stepped, "/b": html()}
    start(worker, site.url(), site.url("/b"))
    sql(worker.engine, "UPDATE urls SET score = 0.5 WHERE url LIKE '%/b'")
    (report,) = go(worker)
    assert report.ending == "fenced"
    assert site.pages_asked == ["/"]


def test_a_visit_that_begins_in_a_step_waits_for_a_whole_delay(make: Callable[..., Worker], web: Web) -> None:
    """Its host was offered before, a moment early; by the clock that was set the moment is long over."""
    worker = make(default_delay_s=30.0)
    start(worker, "http://h.test/")
    sql(worker.engine, "UPDATE hosts SET last_contact_at = now() - interval '40 s', polite_at = now()")
    for host_id, token in ((offer.host_id, offer.token) for offer in offers(worker)):
        now = worker.monotonic()
        worker.starts.clock_tie.moments(datetime.now(UTC) - timedelta(seconds=100), sent=now - 0.01, received=now)
        taken = take_up(worker, host_id, token)
        assert taken is not None
        assert taken.turn.ready_at >= taken.lease.anchor + 30.0
