"""What an operator does with a host takes hold, and never lets it be contacted early."""

from collections.abc import Callable

import pytest

from app.admin import hosts
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.policy.host import queue_for
from app.policy.url import hostname
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = "User-agent: *\nCrawl-delay: 0\n"
    site.pages |= {"/": html("/a"), "/a": html()}
    return site


def column(worker: Worker, name: str) -> object:
    return one(worker.engine, f"SELECT {name} FROM hosts")


def test_a_paused_host_is_left_alone_until_it_is_resumed(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    assert hosts.pause(worker.engine, site.host) == "paused"
    assert go(worker) == []
    hosts.resume(worker.engine, site.host)
    run(worker)
    assert site.pages_asked == ["/", "/a"]


def test_a_host_that_is_visited_pauses_when_the_visit_settles(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    said = []
    site.pages["/"] = lambda hit: said.append(hosts.pause(worker.engine, site.host)) or html("/a")
    go(worker)
    assert said == ["pauses when its running visit settles, in seconds"]
    assert column(worker, "state") == "paused"


def test_resume_does_not_hurry_a_host(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    sql(worker.engine, "UPDATE hosts SET polite_at = now() + interval '1 hour'")
    hosts.pause(worker.engine, site.host)
    hosts.resume(worker.engine, site.host)
    assert column(worker, "next_fetch_at = polite_at") is True


def test_release_ends_a_rest_but_not_the_delay(worker: Worker, site: Site) -> None:
    site.pages["/"] = Answer(status=429, headers={"Retry-After": "3600"})
    start(worker, site.url())
    go(worker)
    page = hosts.show(worker.engine, worker.settings, site.host)
    assert page.waits_for.startswith("its rest (rate_limited) to end, ")
    sql(worker.engine, "UPDATE hosts SET polite_at = now() + interval '1 minute'")
    hosts.release(worker.engine, site.host)
    assert hosts.show(worker.engine, worker.settings, site.host).host["resting_because"] is None
    assert column(worker, "next_fetch_at = polite_at") is True


def test_slow_holds_from_the_last_contact_on(worker: Worker, site: Site) -> None:
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    hosts.slow(worker.engine, site.host, 30.0)
    assert column(worker, "polite_at >= last_contact_at + interval '30 s'") is True
    assert column(worker, "delay_override_s") == 30.0
    hosts.slow(worker.engine, site.host, None)
    assert column(worker, "delay_override_s") is None


# what raises the delay of a host that is about to be visited: an operator's delay that is doubled, or a setting
@pytest.mark.parametrize(("slowed_s", "level", "default_s"), [(30.0, 5, 0.0), (None, 0, 900.0)])
def test_a_delay_that_was_raised_is_waited_out_by_the_next_visits_too(
    make: Callable[..., Worker], site: Site, slowed_s: float | None, level: int, default_s: float
) -> None:
    """The first visit finds that it has to wait, and leaves without a request; the one after it must wait as well."""
    site.robots = "User-agent: *\n"
    first = make()
    start(first, site.url(), keep_fresh=True)
    go(first)
    if slowed_s is not None:
        hosts.slow(first.engine, site.host, slowed_s)
    sql(
        first.engine,
        """UPDATE hosts SET adaptive_level = :level, last_contact_at = now() - interval '60 s', next_fetch_at = now(),
                            polite_at = now() - interval '1 s'""",
        level=level,
    )
    sql(first.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    asked = list(site.pages_asked)
    second = make(default_delay_s=default_s)
    for _ in range(3):
        go(second)
    assert site.pages_asked == asked
    assert column(second, "polite_at >= last_contact_at + interval '900 s' AND next_fetch_at >= polite_at") is True


@pytest.mark.parametrize("delay_s", [-1.0, 86_401.0, float("nan")])
def test_a_delay_that_cannot_be(worker: Worker, site: Site, delay_s: float) -> None:
    start(worker, site.url())
    with pytest.raises(InputError, match="use 0 to 86400 seconds"):
        hosts.slow(worker.engine, site.host, delay_s)


def test_pin_to_a_queue_that_is_served_and_back(make: Callable[..., Worker], site: Site) -> None:
    worker = make(pinned_queues="big-site")
    start(worker, site.url())
    assert hosts.pin(worker.engine, worker.settings, site.host, "big-site") == "big-site"
    assert (column(worker, "queue"), column(worker, "pinned")) == ("big-site", True)
    own = queue_for(site.host, worker.settings.queues)
    assert hosts.pin(worker.engine, worker.settings, site.host, None) == own
    assert (column(worker, "queue"), column(worker, "pinned")) == (own, False)


def test_pin_to_a_queue_that_nobody_serves(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    with pytest.raises(InputError, match="queue 'big-site': no worker serves it; set TIPTOE_PINNED_QUEUES=big-site"):
        hosts.pin(worker.engine, worker.settings, site.host, "big-site")


def test_forget_has_robots_fetched_anew(worker: Worker, site: Site) -> None:
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    assert hosts.forget(worker.engine, site.host) == 1
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    assert site.paths.count("/robots.txt") == 2


def test_show_has_everything(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    page = hosts.show(worker.engine, worker.settings, site.url("/some/page"))
    assert page.host["name"] == site.host
    assert page.waits_for == "nothing: no URL of it is queued in an active crawl"
    assert [(row["origin"], row["availability"], row["crawl_delay_s"]) for row in page.robots] == [
        (site.url(""), "available", 0.0)
    ]
    assert page.robots[0]["text"] == site.robots
    assert page.visits[0]["fetches"] == 3
    assert [row["url"] for row in page.fetches] == [site.url("/a"), site.url("/"), site.url("/robots.txt")]


def test_list_by_what_they_wait_for(worker: Worker) -> None:
    start(worker, "http://a.test/", "http://b.test/")
    hosts.pause(worker.engine, "b.test")
    assert [row["host"] for row in hosts.listed(worker.engine)] == ["a.test", "b.test"]
    assert [row["host"] for row in hosts.listed(worker.engine, waits_for="paused")] == ["b.test"]
    assert [row["host"] for row in hosts.listed(worker.engine, most=1)] == ["a.test"]


ACTS: list[Callable[[Worker, str], object]] = [
    lambda worker, name: hosts.show(worker.engine, worker.settings, name),
    lambda worker, name: hosts.pause(worker.engine, name),
    lambda worker, name: hosts.resume(worker.engine, name),
    lambda worker, name: hosts.release(worker.engine, name),
    lambda worker, name: hosts.slow(worker.engine, name, 1.0),
    lambda worker, name: hosts.pin(worker.engine, worker.settings, name, None),
    lambda worker, name: hosts.forget(worker.engine, name),
]


# command → the event it leaves, its detail
@pytest.mark.parametrize(
    ("act", "event", "detail"),
    [
        (lambda worker, name: hosts.pause(worker.engine, name), "paused", None),
        (lambda worker, name: hosts.resume(worker.engine, name), "resumed", None),
        (lambda worker, name: hosts.release(worker.engine, name), "released", None),
        (lambda worker, name: hosts.slow(worker.engine, name, 2.5), "slowed", "2.5 s"),
        (lambda worker, name: hosts.slow(worker.engine, name, None), "slowed", "default"),
        (lambda worker, name: hosts.pin(worker.engine, worker.settings, name, "host-01"), "pinned", "host-01"),
        (lambda worker, name: hosts.forget(worker.engine, name), "forgotten", "robots.txt of 0 origins"),
    ],
)
def test_what_an_operator_did_is_kept(
    worker: Worker, site: Site, act: Callable[[Worker, str], object], event: str, detail: str | None
) -> None:
    start(worker, site.url(), "http://other.test/")
    act(worker, site.host)
    (found,) = hosts.show(worker.engine, worker.settings, site.host).events
    assert (found["event"], found["detail"]) == (event, detail)
    assert hosts.show(worker.engine, worker.settings, "other.test").events == []


def test_what_was_not_done_leaves_no_event(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    with pytest.raises(InputError):
        hosts.slow(worker.engine, site.host, -1.0)
    with pytest.raises(InputError):
        hosts.release(worker.engine, "never.test")
    assert sql(worker.engine, "SELECT FROM host_events") == []


def test_the_latest_events_come_first(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    hosts.pause(worker.engine, site.host)
    hosts.resume(worker.engine, site.host)
    assert [row["event"] for row in hosts.show(worker.engine, worker.settings, site.host).events] == [
        "resumed",
        "paused",
    ]
    assert [row["event"] for row in hosts.show(worker.engine, worker.settings, site.host, latest=1).events] == [
        "resumed"
    ]


@pytest.mark.parametrize("act", ACTS)
def test_a_host_that_nobody_met(worker: Worker, act: Callable[[Worker, str], object]) -> None:
    with pytest.raises(InputError, match=r"host never\.test: no crawl has met it"):
        act(worker, "never.test")


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
    assert hostname(given) == name


@pytest.mark.parametrize("given", ["", "a b", "ftp://a.test/", "http://"])
def test_no_hostnames(given: str) -> None:
    with pytest.raises(InputError, match="write a hostname"):
        hostname(given)
