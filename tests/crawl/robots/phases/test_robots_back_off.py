"""How often a robots.txt that cannot be had is asked for, and when its origin is given up."""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Kit
from tests.crawl.loop import go, run, start
from tests.crawl.robots.phases.phases import ANSWERS, COPY, DAY, HOUR, SILENT, later, learn, lose, resting, states
from tests.crawl.web import Answer, Site, redirect
from tests.store.rows import one


def test_it_is_asked_for_all_the_while_with_back_off(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=86_400.0, host_failures_max=100, new_host_failures_max=100)
    lose(kit, site, ANSWERS, "/a")
    waits = []
    for _ in range(4):
        waits.append(one(kit.engine, "SELECT CAST(extract(epoch FROM expires_at - fetched_at) AS integer) FROM robots"))
        later(kit, HOUR)
    assert waits == [1000, 2000, 3600, 3600]  # never above an hour
    assert site.paths == ["/robots.txt"] * 5


@pytest.mark.parametrize("status", [429, 503])
def test_under_a_copy_a_retry_after_on_robots_txt_holds_for_the_host(kit: Kit, site: Site, status: int) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    site.robots = Answer(status=status, headers={"Retry-After": "7200"})
    later(kit, 12 * HOUR)
    assert site.paths == ["/robots.txt"] * 2
    assert one(kit.engine, "SELECT blocked_until > now() + interval '7190 s' FROM hosts")
    later(kit, 7180)
    assert site.paths == ["/robots.txt"] * 2
    later(kit, 30)
    assert site.paths == ["/robots.txt"] * 3  # the same again


def test_a_retry_after_on_a_redirect_of_robots_txt_holds_for_the_host(kit: Kit, site: Site) -> None:
    site.robots = Answer(status=301, headers={"Location": "/robots-2", "Retry-After": "7200"})
    site.pages["/robots-2"] = COPY
    start(kit, site.url("/a"))
    go(kit)
    assert site.paths == ["/robots.txt"]
    assert one(kit.engine, "SELECT blocked_until > now() + interval '7190 s' FROM hosts")
    assert one(kit.engine, "SELECT failures FROM robots") == 0
    site.robots = redirect("/robots-2")
    later(kit, 7201)
    assert site.paths[1:] == ["/robots.txt", "/robots-2", "/a"]


def test_a_robots_txt_that_fails_does_not_close_the_host_by_itself(make: Callable[..., Kit], site: Site) -> None:
    """The circuit breaker would keep the host closed for a day each time, and the one probe would be robots.txt."""
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=100, breaker_failures=3)
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    for _ in range(6):
        later(kit, HOUR)
    assert one(kit.engine, "SELECT breaker_trips FROM hosts") == 0
    later(kit, 6 * HOUR)
    assert site.pages_asked == ["/a"]


def test_a_host_that_cannot_be_connected_to_is_closed_all_the_same(make: Callable[..., Kit], site: Site) -> None:
    kit = make(
        backoff_base_s=1000.0,
        backoff_max_s=3600.0,
        host_failures_max=100,
        new_host_failures_max=100,
        breaker_failures=3,
    )
    start(kit, site.url("/a"))
    site.close()
    go(kit)
    for _ in range(2):
        later(kit, HOUR)
    assert one(kit.engine, "SELECT breaker_trips FROM hosts") == 1
    assert resting(kit) == "resting: breaker"


def test_an_origin_is_not_given_up_before_its_copy_comes_into_force(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=2, new_host_failures_max=2)
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    for _ in range(5):
        later(kit, HOUR)
    assert states(kit) == {"/a": "queued"}
    later(kit, 8 * HOUR)
    assert states(kit) == {"/a": "resting"}


def test_an_origin_without_a_copy_is_given_up_so_that_a_crawl_ends(make: Callable[..., Kit], site: Site) -> None:
    kit = make(host_failures_max=2, new_host_failures_max=2)
    learn(kit, site, Answer(status=404))
    lose(kit, site, ANSWERS, "/a")
    run(kit)
    assert states(kit) == {"/a": "refused"}
    assert site.paths == ["/robots.txt"] * 2


def test_past_thirty_days_a_host_that_does_not_answer_is_given_up(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=3, new_host_failures_max=3)
    learn(kit, site)
    lose(kit, site, SILENT, "/a")
    later(kit, 30 * DAY)
    later(kit, HOUR)
    assert states(kit) == {"/a": "refused"}


def test_a_crawl_that_keeps_fresh_gives_no_origin_up(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=2, new_host_failures_max=2)
    start(kit, site.url("/a"), name="ends")
    lose(kit, site, ANSWERS, "/a", "/b", keep_fresh=True)
    for _ in range(4):
        later(kit, HOUR)
    assert (states(kit, "ends"), states(kit)) == ({"/a": "refused"}, {"/a": "queued", "/b": "queued"})
    later(kit, 30 * DAY)
    assert states(kit)["/b"] == "resting"
