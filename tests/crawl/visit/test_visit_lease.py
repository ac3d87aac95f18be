"""A visit and its lease: one at a time, fenced when it is lost, isolated after a crash."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from app.beat import claim
from app.crawl.state.worker import Kit
from app.crawl.visit.visit import visit
from app.model import Reply, Request, Unsent
from app.store.host_rows import Offer
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Web, html
from tests.store.rows import host, one, sql, url


class Killed(BaseException):
    """Stands for kill -9: nothing of ours runs any more."""


def offers(kit: Kit) -> list[Offer]:
    found: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, found.extend, kit.rng)
    return found


def run_out(engine: Engine) -> None:
    """Every lease ended a minute ago, and the delay after it is over."""
    sql(
        engine,
        """UPDATE hosts SET lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '59 s'
           WHERE lease_token IS NOT NULL""",
    )


def steal(engine: Engine) -> None:
    """The lease ran out under a visit that hangs, and somebody else claimed the host."""
    sql(
        engine,
        "UPDATE hosts SET lease_token = :token, taken_at = NULL, state = 'offered' WHERE state = 'taken'",
        token=str(uuid4()),
    )


def crash_at(kit: Kit, path: str) -> Kit:
    """A worker that dies when it is about to send this."""

    def send(request: Request) -> Reply | Unsent:
        if request.url.endswith(path):
            raise Killed
        return kit.send(request)

    return replace(kit, send=send)


def crash(kit: Kit, path: str) -> None:
    """Claim, visit, die, and let the lease run out."""
    for offer in offers(kit):
        with pytest.raises(Killed):
            visit(crash_at(kit, path), offer.host_id, offer.token)
    run_out(kit.engine)


# --- the door ---------------------------------------------------------------------------------------------------


def test_a_doubled_message_is_one_visit(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(kit, site.url())
    (offer,) = offers(kit)
    first, second = (visit(kit, offer.host_id, offer.token) for _ in range(2))
    assert (first.host, second.host, second.ending) == (site.host, None, "closed")
    assert site.paths == ["/robots.txt", "/"]


def test_a_message_that_was_lost_costs_an_offer(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(kit, site.url())
    (lost,) = offers(kit)
    assert offers(kit) == []
    run_out(kit.engine)
    run(kit)
    assert site.paths == ["/robots.txt", "/"]
    assert visit(kit, lost.host_id, lost.token).ending == "closed"
    assert one(kit.engine, "SELECT isolate FROM hosts") == 0


def test_a_dispatcher_rung_a_hundred_times_offers_each_host_once(kit: Kit, web: Web) -> None:
    sites = [web.site() for _ in range(5)]
    start(kit, *(site.url() for site in sites))
    found = [offer for _ in range(100) for offer in offers(kit)]
    assert sorted(offer.name for offer in found) == sorted(site.host for site in sites)


@pytest.mark.parametrize(("offers_max", "expected"), [(4, 4), (8, 8), (400, 12)])
def test_no_more_is_offered_than_there_is_room_for(
    make: Callable[..., Kit], web: Web, offers_max: int, expected: int
) -> None:
    kit = make(offers_max=offers_max)
    start(kit, *(f"http://h{number}.test/" for number in range(12)))
    sql(kit.engine, "UPDATE hosts SET queue = 'host-0' || id % 4")
    assert len(offers(kit)) == expected
    assert len(offers(kit)) == 0


def test_a_queue_that_nobody_serves_does_not_hold_up_the_rest(make: Callable[..., Kit], web: Web) -> None:
    kit = make(offers_max=8)
    start(kit, *(f"http://h{number}.test/" for number in range(20)))
    sql(kit.engine, "UPDATE hosts SET queue = 'host-00'")
    sql(kit.engine, "UPDATE hosts SET queue = 'host-01' WHERE name = 'h7.test'")
    dead = [offer.queue for offer in offers(kit) + offers(kit)]
    assert dead.count("host-00") == 2, "a quarter of all"
    assert dead.count("host-01") == 1


def test_all_offers_wait_for_are_hosts_in_served_queues(make: Callable[..., Kit], web: Web) -> None:
    kit = make(pinned_queues="mine")
    start(kit, "http://a.test/", "http://b.test/")
    sql(kit.engine, "UPDATE hosts SET queue = CASE name WHEN 'a.test' THEN 'mine' ELSE 'unheard-of' END")
    assert [offer.queue for offer in offers(kit)] == ["mine"]


# --- the fence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 50])
def test_a_fenced_visit_writes_nothing_but_its_log(make: Callable[..., Kit], web: Web, batch: int) -> None:
    kit = make(settle_urls=batch)
    site = web.site()

    def stealing(_: Hit) -> Answer:
        steal(kit.engine)
        return html("/b", text="must not be kept")

    site.pages |= {"/": html("/a"), "/a": stealing}
    start(kit, site.url())
    (report,) = go(kit)
    assert report.ending == "fenced"
    found = url(kit.engine, site.url("/a"))
    assert (found["state"], found["attempts"], found["fetched_at"]) == ("queued", 0, None)
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE url LIKE '%/b'") == 0
    assert one(kit.engine, "SELECT count(*) FROM pages WHERE main_text LIKE '%must not%'") == 0
    logged = {row["url"]: row["fenced"] for row in sql(kit.engine, "SELECT url, fenced FROM fetches")}
    assert logged == {site.url("/robots.txt"): False, site.url(): False, site.url("/a"): True}
    assert one(kit.engine, "SELECT ending FROM visits") == "fenced"
    assert one(kit.engine, "SELECT state FROM hosts") == "offered", "the other's lease stands"


def test_what_a_fenced_visit_fetched_is_fetched_again(kit: Kit, web: Web) -> None:
    site = web.site()
    stolen = False

    def stealing(_: Hit) -> Answer:
        nonlocal stolen
        if not stolen:
            stolen = True
            steal(kit.engine)
        return html("/b")

    site.pages |= {"/": stealing, "/b": html()}
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/", "/b"]


def test_a_lease_lost_before_a_request_is_noticed_before_it(make: Callable[..., Kit], web: Web) -> None:
    """A lease too short for the next request is extended first; who cannot, sends nothing."""
    kit = make(request_deadline_s=2.0, lease_s=7.5, settle_s=100.0)
    site = web.site()
    clock = [0.0]

    def slow(_: Hit) -> Answer:
        steal(kit.engine)
        clock[0] += 5.0  # the lease is too short now for another request
        return html("/a")

    site.pages |= {"/": slow, "/b": html()}
    start(kit, site.url(), site.url("/b"))
    sql(kit.engine, "UPDATE urls SET score = 0.5 WHERE url LIKE '%/b'")
    base = kit.monotonic
    (report,) = go(replace(kit, monotonic=lambda: base() + clock[0]))
    assert report.ending == "fenced"
    assert site.pages_asked == ["/"]


def test_requests_of_a_batch_that_lost_its_lease_before_the_settle_are_logged(
    make: Callable[..., Kit], web: Web
) -> None:
    kit = make(request_deadline_s=2.0, lease_s=7.5, settle_s=100.0)
    site = web.site()
    clock = [0.0]

    def slow(_: Hit) -> Answer:
        steal(kit.engine)
        clock[0] += 5.0
        return html()

    site.pages |= {"/": slow, "/b": html()}
    start(kit, site.url(), site.url("/b"))
    sql(kit.engine, "UPDATE urls SET score = 0.5 WHERE url LIKE '%/b'")
    base = kit.monotonic
    go(replace(kit, monotonic=lambda: base() + clock[0]))
    assert one(kit.engine, "SELECT fenced FROM fetches WHERE url = :u", u=site.url()) is True


# --- isolation --------------------------------------------------------------------------------------------------


def test_after_a_crash_urls_are_taken_one_at_a_time_with_their_attempt_counted_first(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages |= {"/1": html(), "/2": html(), "/3": html()}
    start(kit, site.url("/1"), site.url("/2"), site.url("/3"))
    crash(kit, "robots.txt")
    seen: list[int] = []

    def attempts(hit: Hit) -> Answer:
        seen.append(url(kit.engine, site.url(hit.path))["attempts"])
        return html()

    site.pages = dict.fromkeys(site.pages, attempts)
    run(kit)
    assert seen == [1, 1, 1], "spent before the request"
    settled = sql(kit.engine, "SELECT count(*) AS n FROM fetches WHERE kind = 'page'")
    assert settled == [{"n": 3}]
    assert {row["attempts"] for row in sql(kit.engine, "SELECT attempts FROM urls")} == {0}
    assert one(kit.engine, "SELECT isolate FROM hosts") == kit.settings.settle_urls - 3


def test_a_visit_that_lost_its_lease_counts_no_attempt(kit: Kit, web: Web) -> None:
    """Invariant 1: every write after the take-up is fenced."""
    site = web.site()
    site.robots = lambda _: (steal(kit.engine), "")[1]
    site.pages["/"] = html()
    start(kit, site.url())
    crash(kit, "robots.txt")
    (report,) = go(kit)
    assert report.ending == "fenced"
    assert url(kit.engine, site.url())["attempts"] == 0


def test_an_isolated_host_is_like_any_other_once_it_has_behaved(make: Callable[..., Kit], web: Web) -> None:
    kit = make(settle_urls=2)
    site = web.site()
    site.pages = {f"/{number}": html() for number in range(5)}
    start(kit, *(site.url(path) for path in site.pages))
    crash(kit, "robots.txt")
    run(kit)
    assert one(kit.engine, "SELECT isolate FROM hosts") == 0
    assert len(site.pages_asked) == 5


def test_a_page_that_kills_its_visits_is_quarantined_and_its_host_goes_on(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/poison", "/1", "/2"), "/1": html(text="one"), "/2": html(text="two")}
    start(kit, site.url())
    deaths = 0
    for _ in range(20):
        for offer in offers(kit):
            try:
                visit(crash_at(kit, "/poison"), offer.host_id, offer.token)
            except Killed:
                deaths += 1
        run_out(kit.engine)
    found = url(kit.engine, site.url("/poison"))
    assert found["state"] == "quarantined"
    assert "poison" in found["cause"]
    assert deaths == kit.settings.attempts_max + 1, "once before it was isolated"
    # The crash cost the batch that was not settled, no more: at most one more fetch of each.
    assert set(site.pages_asked) == {"/", "/1", "/2"}
    assert {row["state"] for row in sql(kit.engine, "SELECT state FROM urls WHERE url NOT LIKE '%poison'")} == {
        "resting"
    }


def test_a_crash_repeats_at_most_one_batch(make: Callable[..., Kit], web: Web) -> None:
    kit = make(settle_urls=3)
    site = web.site()
    names = [f"/{number}" for number in range(12)]
    site.pages |= dict.fromkeys(names, html())
    start(kit, *(site.url(path) for path in names))
    order = [row["url"] for row in sql(kit.engine, "SELECT url FROM urls ORDER BY id")]
    crash(kit, order[7].removeprefix(site.url("")[:-1]))
    run(kit)
    assert set(site.pages_asked) == set(names)
    assert len(site.pages_asked) <= len(names) + 3


def test_a_host_in_trouble_costs_no_attempt_in_isolation_either(make: Callable[..., Kit], web: Web) -> None:
    kit = make(backoff_base_s=600.0, backoff_max_s=600.0)
    site = web.site()
    site.pages["/"] = Answer(status=429)
    start(kit, site.url())
    crash(kit, "robots.txt")
    go(kit)
    assert site.pages_asked == ["/"]
    assert url(kit.engine, site.url())["attempts"] == 0


def test_after_a_crash_nothing_is_sent_before_the_lease_and_the_delay_are_over(
    make: Callable[..., Kit], web: Web
) -> None:
    kit = make(default_delay_s=3.0)
    site = web.site()
    start(kit, site.url())
    for offer in offers(kit):
        with pytest.raises(Killed):
            visit(crash_at(kit, "robots.txt"), offer.host_id, offer.token)
    row = host(kit.engine, 1)
    assert (row["next_fetch_at"] - row["lease_until"]).total_seconds() == pytest.approx(3.0, abs=0.001)
    assert (row["lease_until"] - row["taken_at"]).total_seconds() >= kit.settings.lease_s - 0.001
    assert offers(kit) == []
