"""What an operator does with a host takes hold, and never lets it be contacted early."""

from collections.abc import Callable

import pytest

from app.admin import hosts
from app.crawl.state.worker import Kit
from app.errors import InputError
from app.policy.host import queue_for
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = "User-agent: *\nCrawl-delay: 0\n"
    site.pages |= {"/": html("/a"), "/a": html()}
    return site


def column(kit: Kit, name: str) -> object:
    return one(kit.engine, f"SELECT {name} FROM hosts")


def test_a_paused_host_is_left_alone_until_it_is_resumed(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    assert hosts.pause(kit.engine, site.host) == "paused"
    assert go(kit) == []
    hosts.resume(kit.engine, site.host)
    run(kit)
    assert site.pages_asked == ["/", "/a"]


def test_a_host_that_is_visited_pauses_when_the_visit_settles(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    said = []
    site.pages["/"] = lambda hit: said.append(hosts.pause(kit.engine, site.host)) or html("/a")
    go(kit)
    assert said == ["pauses when its running visit settles, in seconds"]
    assert column(kit, "state") == "paused"


def test_resume_does_not_hurry_a_host(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    sql(kit.engine, "UPDATE hosts SET polite_at = now() + interval '1 hour'")
    hosts.pause(kit.engine, site.host)
    hosts.resume(kit.engine, site.host)
    assert column(kit, "next_fetch_at = polite_at") is True


def test_release_ends_a_rest_but_not_the_delay(kit: Kit, site: Site) -> None:
    site.pages["/"] = Answer(status=429, headers={"Retry-After": "3600"})
    start(kit, site.url())
    go(kit)
    page = hosts.show(kit.engine, kit.settings, site.host)
    assert page.waits_for.startswith("its rest (rate_limited) to end, ")
    sql(kit.engine, "UPDATE hosts SET polite_at = now() + interval '1 minute'")
    hosts.release(kit.engine, site.host)
    assert hosts.show(kit.engine, kit.settings, site.host).host["resting_because"] is None
    assert column(kit, "next_fetch_at = polite_at") is True


def test_slow_holds_from_the_last_contact_on(kit: Kit, site: Site) -> None:
    start(kit, site.url(), keep_fresh=True)
    go(kit)
    hosts.slow(kit.engine, site.host, 30.0)
    assert column(kit, "polite_at >= last_contact_at + interval '30 s'") is True
    assert column(kit, "delay_override_s") == 30.0
    hosts.slow(kit.engine, site.host, None)
    assert column(kit, "delay_override_s") is None


@pytest.mark.parametrize("delay_s", [-1.0, 86_401.0, float("nan")])
def test_a_delay_that_cannot_be(kit: Kit, site: Site, delay_s: float) -> None:
    start(kit, site.url())
    with pytest.raises(InputError, match="use 0 to 86400 seconds"):
        hosts.slow(kit.engine, site.host, delay_s)


def test_pin_to_a_queue_that_is_served_and_back(make: Callable[..., Kit], site: Site) -> None:
    kit = make(pinned_queues="big-site")
    start(kit, site.url())
    assert hosts.pin(kit.engine, kit.settings, site.host, "big-site") == "big-site"
    assert (column(kit, "queue"), column(kit, "pinned")) == ("big-site", True)
    own = queue_for(site.host, kit.settings.queues)
    assert hosts.pin(kit.engine, kit.settings, site.host, None) == own
    assert (column(kit, "queue"), column(kit, "pinned")) == (own, False)


def test_pin_to_a_queue_that_nobody_serves(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    with pytest.raises(InputError, match="queue 'big-site': no worker serves it; set TIPTOE_PINNED_QUEUES=big-site"):
        hosts.pin(kit.engine, kit.settings, site.host, "big-site")


def test_forget_has_robots_fetched_anew(kit: Kit, site: Site) -> None:
    start(kit, site.url(), keep_fresh=True)
    go(kit)
    assert hosts.forget(kit.engine, site.host) == 1
    sql(kit.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(kit.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(kit)
    assert site.paths.count("/robots.txt") == 2


def test_show_has_everything(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    page = hosts.show(kit.engine, kit.settings, site.url("/some/page"))
    assert page.host["name"] == site.host
    assert page.waits_for == "nothing: no URL of it is queued in an active crawl"
    assert [(row["origin"], row["availability"], row["crawl_delay_s"]) for row in page.robots] == [
        (site.url(""), "available", 0.0)
    ]
    assert page.robots[0]["text"] == site.robots
    assert page.visits[0]["fetches"] == 3
    assert [row["url"] for row in page.fetches] == [site.url("/a"), site.url("/"), site.url("/robots.txt")]


def test_list_by_what_they_wait_for(kit: Kit) -> None:
    start(kit, "http://a.test/", "http://b.test/")
    hosts.pause(kit.engine, "b.test")
    assert [row["host"] for row in hosts.listed(kit.engine)] == ["a.test", "b.test"]
    assert [row["host"] for row in hosts.listed(kit.engine, waits_for="paused")] == ["b.test"]
    assert [row["host"] for row in hosts.listed(kit.engine, most=1)] == ["a.test"]


ACTS: list[Callable[[Kit, str], object]] = [
    lambda kit, name: hosts.show(kit.engine, kit.settings, name),
    lambda kit, name: hosts.pause(kit.engine, name),
    lambda kit, name: hosts.resume(kit.engine, name),
    lambda kit, name: hosts.release(kit.engine, name),
    lambda kit, name: hosts.slow(kit.engine, name, 1.0),
    lambda kit, name: hosts.pin(kit.engine, kit.settings, name, None),
    lambda kit, name: hosts.forget(kit.engine, name),
]


# command → the event it leaves, its detail
@pytest.mark.parametrize(
    ("act", "event", "detail"),
    [
        (lambda kit, name: hosts.pause(kit.engine, name), "paused", None),
        (lambda kit, name: hosts.resume(kit.engine, name), "resumed", None),
        (lambda kit, name: hosts.release(kit.engine, name), "released", None),
        (lambda kit, name: hosts.slow(kit.engine, name, 2.5), "slowed", "2.5 s"),
        (lambda kit, name: hosts.slow(kit.engine, name, None), "slowed", "default"),
        (lambda kit, name: hosts.pin(kit.engine, kit.settings, name, "host-01"), "pinned", "host-01"),
        (lambda kit, name: hosts.forget(kit.engine, name), "forgotten", "robots.txt of 0 origins"),
    ],
)
def test_what_an_operator_did_is_kept(
    kit: Kit, site: Site, act: Callable[[Kit, str], object], event: str, detail: str | None
) -> None:
    start(kit, site.url(), "http://other.test/")
    act(kit, site.host)
    (found,) = hosts.show(kit.engine, kit.settings, site.host).events
    assert (found["event"], found["detail"]) == (event, detail)
    assert hosts.show(kit.engine, kit.settings, "other.test").events == []


def test_what_was_not_done_leaves_no_event(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    with pytest.raises(InputError):
        hosts.slow(kit.engine, site.host, -1.0)
    with pytest.raises(InputError):
        hosts.release(kit.engine, "never.test")
    assert sql(kit.engine, "SELECT FROM host_events") == []


def test_the_latest_events_come_first(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    hosts.pause(kit.engine, site.host)
    hosts.resume(kit.engine, site.host)
    assert [row["event"] for row in hosts.show(kit.engine, kit.settings, site.host).events] == ["resumed", "paused"]
    assert [row["event"] for row in hosts.show(kit.engine, kit.settings, site.host, latest=1).events] == ["resumed"]


@pytest.mark.parametrize("act", ACTS)
def test_a_host_that_nobody_met(kit: Kit, act: Callable[[Kit, str], object]) -> None:
    with pytest.raises(InputError, match=r"host never\.test: no crawl has met it"):
        act(kit, "never.test")


# as given → name
@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("example.org", "example.org"),
        (" Example.ORG ", "example.org"),
        ("example.org.", "example.org"),
        ("https://example.org/a?b", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("[::1]", "[::1]"),
        ("example.org:8080", "example.org"),
    ],
)
def test_hostnames(given: str, name: str) -> None:
    assert hosts.hostname(given) == name


@pytest.mark.parametrize("given", ["", "a b", "ftp://a.test/", "http://"])
def test_no_hostnames(given: str) -> None:
    with pytest.raises(InputError, match="write a hostname"):
        hosts.hostname(given)
