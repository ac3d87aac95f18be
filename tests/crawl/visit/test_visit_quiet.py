"""Quiet hours and delays that an operator sets for a host or a domain (promise P11)."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine

from app.admin import explain, hosts
from app.crawl.state.worker import Worker
from tests.crawl.answers import answering, words
from tests.crawl.clock import DAY, HOUR, STEP, host, step, steps
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql

Make = Callable[..., Worker]


def window(engine: Engine, from_h: float, to_h: float) -> str:
    """From so many hours from now to so many."""
    now: datetime = one(engine, "SELECT clock_timestamp() AT TIME ZONE 'UTC'")
    start_, end = (now + timedelta(hours=hours) for hours in (from_h, to_h))
    return f"{start_:%H:%M}-{end:%H:%M}"


def until_s(engine: Engine, text: str) -> float:
    """Seconds from the host's next contact to the end of the window."""
    end = text.partition("-")[2]
    query = "SELECT extract(epoch FROM next_fetch_at AT TIME ZONE 'UTC')::double precision FROM hosts"
    at = datetime.fromtimestamp(one(engine, query))  # naive
    hours, minutes = map(int, end.split(":"))
    away = (at.hour - hours) * HOUR + (at.minute - minutes) * 60 + at.second + at.microsecond / 1e6
    return (away + DAY / 2) % DAY - DAY / 2


def test_nothing_is_contacted_in_quiet_hours(make: Make, web: Web) -> None:
    worker = make(**STEP)
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    quiet = hosts.quiet(worker.engine, site.host, window(worker.engine, -1, 2))
    assert quiet is not None
    for _ in range(3):
        step(worker)
    row = host(worker.engine)
    assert (site.paths, row["resting_because"], row["state"]) == ([], "quiet hours", "idle")
    assert until_s(worker.engine, quiet) == pytest.approx(0, abs=1.0)
    (known,) = explain.why(worker.engine, worker.settings, site.url()).crawls
    assert known.waits_for[0].startswith("its rest (quiet hours) to end")


def test_quiet_hours_that_come_later_keep_nobody_out(make: Make, web: Web) -> None:
    worker = make(**STEP)
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    hosts.quiet(worker.engine, site.host, window(worker.engine, 1, 23))
    run(worker)
    assert site.paths == ["/robots.txt", "/"]


def test_quiet_hours_hold_in_the_middle_of_a_crawl(make: Make, web: Web) -> None:
    worker = make(default_delay_s=1.0, **STEP)
    site = web.site()
    answering(site, 200)
    start(worker, site.url())
    steps(worker, 3)
    asked = len(site.paths)
    hosts.quiet(worker.engine, site.host, window(worker.engine, -1, 2))
    step(worker, after_s=10)
    assert len(site.paths) == asked
    assert host(worker.engine)["resting_because"] == "quiet hours"


def test_default_lifts_quiet_hours(make: Make, web: Web) -> None:
    worker = make(**STEP)
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    hosts.quiet(worker.engine, site.host, window(worker.engine, -1, 2))
    step(worker)
    assert site.paths == []
    assert hosts.quiet(worker.engine, site.host, None) is None
    step(worker)
    assert site.paths == ["/robots.txt", "/"]


@pytest.fixture
def family(make: Make, web: Web) -> tuple[Worker, dict[str, Site]]:
    """Three hosts of one registrable domain and one of another, each a site of its own. Links lead from www to the
    rest."""
    names = ["www.shop.test", "a.shop.test", "b.shop.test", "www.other.test"]
    sites = {name: web.site() for name in names}
    worker = make(resolve=" ".join(f"{name}={site.host}" for name, site in sites.items()), **STEP)
    for site in sites.values():
        site.pages |= {f"/{number}": words for number in range(20)}
        site.pages["/"] = html(*site.pages)
    sites["www.shop.test"].pages["/"] = html(*(at(sites, name) for name in names), "/0", "/1")
    return worker, sites


def at(sites: dict[str, Site], name: str, path: str = "/") -> str:
    return f"http://{name}:{sites[name].port}{path}"


def asked(sites: dict[str, Site]) -> set[str]:
    return {name for name, site in sites.items() if site.paths}


def test_quiet_hours_of_a_domain_hold_for_hosts_known_and_met_later(family: tuple[Worker, dict[str, Site]]) -> None:
    worker, sites = family
    start(worker, at(sites, "www.shop.test"), scope="any")
    step(worker)
    assert asked(sites) == {"www.shop.test"}
    sites["www.shop.test"].log.clear()
    domain, known = hosts.quiet_domain(worker.engine, "b.shop.test", window(worker.engine, -1, 2))
    assert (domain, known) == ("shop.test", 3)
    start(worker, at(sites, "www.shop.test", "/2"), "http://c.shop.test/", name="later")
    steps(worker, 3, after_s=1)
    assert asked(sites) == {"www.other.test"}
    resting = {
        row["name"] for row in sql(worker.engine, "SELECT name FROM hosts WHERE resting_because = 'quiet hours'")
    }
    assert resting == {"www.shop.test", "a.shop.test", "b.shop.test", "c.shop.test"}


def test_a_robots_txt_that_is_elsewhere_is_not_fetched_in_the_quiet_hours_there(
    family: tuple[Worker, dict[str, Site]],
) -> None:
    worker, sites = family
    sites["b.shop.test"].pages["/"] = html()
    start(worker, at(sites, "b.shop.test"))
    run(worker)
    sites["b.shop.test"].log.clear()
    hosts.quiet(worker.engine, "b.shop.test", window(worker.engine, -1, 2))
    sites["a.shop.test"].robots = Answer(status=301, headers={"Location": at(sites, "b.shop.test", "/robots.txt")})
    start(worker, at(sites, "a.shop.test"), name="later")
    steps(worker, 3, after_s=60)
    assert asked(sites) == {"a.shop.test"}


def test_quiet_hours_of_a_host_come_before_its_domains(family: tuple[Worker, dict[str, Site]]) -> None:
    worker, sites = family
    start(worker, *(at(sites, name) for name in sites))
    hosts.quiet_domain(worker.engine, "shop.test", window(worker.engine, -1, 2))
    hosts.quiet(worker.engine, "a.shop.test", window(worker.engine, 3, 4))
    step(worker)
    assert asked(sites) == {"a.shop.test", "www.other.test"}


def test_default_lifts_quiet_hours_of_a_domain(family: tuple[Worker, dict[str, Site]]) -> None:
    worker, sites = family
    start(worker, *(at(sites, name) for name in sites))
    hosts.quiet_domain(worker.engine, "shop.test", window(worker.engine, -1, 2))
    step(worker)
    assert asked(sites) == {"www.other.test"}
    hosts.quiet_domain(worker.engine, "shop.test", None)
    step(worker)
    assert asked(sites) == set(sites)


def test_a_domains_delay_holds_for_hosts_known_and_met_later_and_a_hosts_own_comes_first(
    family: tuple[Worker, dict[str, Site]],
) -> None:
    worker, sites = family
    start(worker, at(sites, "www.shop.test"), at(sites, "a.shop.test"), scope="any")
    hosts.slow(worker.engine, "a.shop.test", 7.0)
    assert hosts.slow_domain(worker.engine, "www.shop.test", 30.0) == ("shop.test", 1)
    steps(worker, 8)
    delays = {row["name"]: row["delay_s"] for row in sql(worker.engine, "SELECT name, delay_s FROM hosts")}
    assert delays == {"www.shop.test": 30.0, "a.shop.test": 7.0, "b.shop.test": 30.0, "www.other.test": 0.0}
    gaps = sql(
        worker.engine,
        "SELECT name, max(f.delay_s) AS most FROM fetches AS f JOIN hosts AS h ON h.id = f.host_id GROUP BY name",
    )
    assert {row["name"]: row["most"] for row in gaps} == delays
    hosts.slow(worker.engine, "a.shop.test", None)
    steps(worker, 2)
    assert host(worker.engine, "a.shop.test")["delay_s"] == 30.0, "default gives the word back to the domain"
    hosts.slow_domain(worker.engine, "shop.test", None)
    steps(worker, 2)
    assert host(worker.engine, "a.shop.test")["delay_s"] == 0.0


def test_a_domains_delay_holds_for_a_host_that_is_met_by_a_redirect_of_robots_txt(
    family: tuple[Worker, dict[str, Site]],
) -> None:
    worker, sites = family
    hosts.slow_domain(worker.engine, "other.test", 30.0)
    sites["a.shop.test"].robots = Answer(status=301, headers={"Location": at(sites, "www.other.test", "/robots.txt")})
    start(worker, at(sites, "a.shop.test"))
    step(worker)
    assert sites["www.other.test"].paths == ["/robots.txt"]
    start(worker, at(sites, "www.other.test"), name="later")
    step(worker, after_s=20)
    assert sites["www.other.test"].paths == ["/robots.txt"]


def test_a_domains_delay_holds_at_once_for_who_was_contacted_just_now(family: tuple[Worker, dict[str, Site]]) -> None:
    worker, sites = family
    start(worker, at(sites, "b.shop.test"))
    hosts.slow(worker.engine, "b.shop.test", 1.0)
    step(worker)
    hosts.slow(worker.engine, "b.shop.test", None)
    seen = len(sites["b.shop.test"].paths)
    hosts.slow_domain(worker.engine, "shop.test", 300.0)
    step(worker, after_s=10)
    assert len(sites["b.shop.test"].paths) == seen
    step(worker, after_s=300)
    assert len(sites["b.shop.test"].paths) == seen + 1
