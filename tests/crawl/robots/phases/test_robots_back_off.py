"""How often a robots.txt that cannot be had is asked for, and when its origin is given up."""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.robots.phases.phases import ANSWERS, COPY, DAY, HOUR, SILENT, later, learn, lose, resting, states
from tests.crawl.web import Answer, Site, redirect
from tests.store.rows import one


def test_it_is_asked_for_all_the_while_with_back_off(make: Callable[..., Worker], site: Site) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=86_400.0, host_failures_max=100, new_host_failures_max=100)
    lose(worker, site, ANSWERS, "/a")
    waits = []
    for _ in range(4):
        waits.append(
            one(worker.engine, "SELECT CAST(extract(epoch FROM expires_at - fetched_at) AS integer) FROM robots")
        )
        later(worker, HOUR)
    assert waits == [1000, 2000, 3600, 3600]  # never above an hour
    assert site.paths == ["/robots.txt"] * 5


@pytest.mark.parametrize("status", [429, 503])
def test_under_a_copy_a_retry_after_on_robots_txt_holds_for_the_host(worker: Worker, site: Site, status: int) -> None:
    learn(worker, site)
    lose(worker, site, ANSWERS, "/a")
    site.robots = Answer(status=status, headers={"Retry-After": "7200"})
    later(worker, 12 * HOUR)
    assert site.paths == ["/robots.txt"] * 2
    assert one(worker.engine, "SELECT blocked_until > now() + interval '7190 s' FROM hosts")
    later(worker, 7180)
    assert site.paths == ["/robots.txt"] * 2
    later(worker, 30)
    assert site.paths == ["/robots.txt"] * 3  # the same again


def test_a_retry_after_on_a_redirect_of_robots_txt_holds_for_the_host(worker: Worker, site: Site) -> None:
    site.robots = Answer(status=301, headers={"Location": "/robots-2", "Retry-After": "7200"})
    site.pages["/robots-2"] = COPY
    start(worker, site.url("/a"))
    go(worker)
    assert site.paths == ["/robots.txt"]
    assert one(worker.engine, "SELECT blocked_until > now() + interval '7190 s' FROM hosts")
    assert one(worker.engine, "SELECT failures FROM robots") == 0
    site.robots = redirect("/robots-2")
    later(worker, 7201)
    assert site.paths[1:] == ["/robots.txt", "/robots-2", "/a"]


def test_a_robots_txt_that_fails_does_not_close_the_host_by_itself(make: Callable[..., Worker], site: Site) -> None:
    """The circuit breaker would keep the host closed for a day each time, and the one probe would be robots.txt."""
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=100, breaker_failures=3)
    learn(worker, site)
    lose(worker, site, ANSWERS, "/a")
    for _ in range(6):
        later(worker, HOUR)
    assert one(worker.engine, "SELECT breaker_trips FROM hosts") == 0
    later(worker, 6 * HOUR)
    assert site.pages_asked == ["/a"]


def test_a_host_that_cannot_be_connected_to_is_closed_all_the_same(make: Callable[..., Worker], site: Site) -> None:
    worker = make(
        backoff_base_s=1000.0,
        backoff_max_s=3600.0,
        host_failures_max=100,
        new_host_failures_max=100,
        breaker_failures=3,
    )
    start(worker, site.url("/a"))
    site.close()
    go(worker)
    for _ in range(2):
        later(worker, HOUR)
    assert one(worker.engine, "SELECT breaker_trips FROM hosts") == 1
    assert resting(worker) == "resting: breaker"


def test_an_origin_is_not_given_up_before_its_copy_comes_into_force(make: Callable[..., Worker], site: Site) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=2, new_host_failures_max=2)
    learn(worker, site)
    lose(worker, site, ANSWERS, "/a")
    for _ in range(5):
        later(worker, HOUR)
    assert states(worker) == {"/a": "queued"}
    later(worker, 8 * HOUR)
    assert states(worker) == {"/a": "resting"}


def test_an_origin_without_a_copy_is_given_up_so_that_a_crawl_ends(make: Callable[..., Worker], site: Site) -> None:
    worker = make(host_failures_max=2, new_host_failures_max=2)
    learn(worker, site, Answer(status=404))
    lose(worker, site, ANSWERS, "/a")
    run(worker)
    assert states(worker) == {"/a": "refused"}
    assert site.paths == ["/robots.txt"] * 2


def test_past_thirty_days_a_host_that_does_not_answer_is_given_up(make: Callable[..., Worker], site: Site) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=3, new_host_failures_max=3)
    learn(worker, site)
    lose(worker, site, SILENT, "/a")
    later(worker, 30 * DAY)
    later(worker, HOUR)
    assert states(worker) == {"/a": "refused"}


def test_a_crawl_that_keeps_fresh_gives_no_origin_up(make: Callable[..., Worker], site: Site) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=2, new_host_failures_max=2)
    start(worker, site.url("/a"), name="ends")
    lose(worker, site, ANSWERS, "/a", "/b", keep_fresh=True)
    for _ in range(4):
        later(worker, HOUR)
    assert (states(worker, "ends"), states(worker)) == ({"/a": "refused"}, {"/a": "queued", "/b": "queued"})
    later(worker, 30 * DAY)
    assert states(worker)["/b"] == "resting"
