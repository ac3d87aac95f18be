"""An address that refuses connections, or resets them, rests as a whole."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.crawl.state.worker import Worker
from app.model import Whereabouts
from tests.crawl.clock import HOUR, STEP, step
from tests.crawl.crowd import Shared, names, unhurried
from tests.crawl.loop import start
from tests.crawl.request.fleets import Make, go_on, tries
from tests.crawl.web import Answer, Hit, Web, html
from tests.store.rows import one, sql


def first_try(worker: Worker) -> None:
    """At once; or, where a start had passed on a busy machine before there was a connection, a gap later."""
    for _ in range(30):
        if tries(worker.engine):
            return
        step(worker, after_s=1)
    raise AssertionError("nobody tried")


@pytest.fixture
def refusing(make: Make, web: Web) -> tuple[Worker, Shared]:
    return refusing_for(make, web, 10.0)


def refusing_for(make: Make, web: Web, base_s: float) -> tuple[Worker, Shared]:
    """Six hosts on an address where nobody listens.   base_s: of its first rest"""
    shared = Shared(web, names(6), pages=2)
    worker = unhurried(
        make(
            address_gap_s=0.5,
            backoff_base_s=base_s,
            backoff_max_s=100 * base_s,
            new_host_failures_max=100,
            resolve=shared.resolve,
            **STEP,
        )
    )
    start(worker, *shared.urls)
    shared.down()
    return worker, shared


def test_an_address_that_refuses_connections_rests_as_a_whole(make: Make, web: Web) -> None:
    worker, _ = refusing_for(make, web, HOUR)
    first_try(worker)
    assert tries(worker.engine) == 1, "one host tried, five know"
    (budget,) = sql(
        worker.engine,
        "SELECT failures, resting_because, extract(epoch FROM blocked_until - clock_timestamp())::float AS s "
        "FROM budgets",
    )
    assert (budget["failures"], budget["resting_because"], budget["s"]) == (1, "refused", pytest.approx(HOUR, rel=0.1))
    for _ in range(4):
        step(worker, after_s=HOUR / 5)
    assert tries(worker.engine) == 1
    because = Counter(row["resting_because"] for row in sql(worker.engine, "SELECT resting_because FROM hosts"))
    assert because == {"robots.txt out of reach": 1, "address rests": 5}


def test_one_host_tries_it_after_each_rest_and_each_is_longer(refusing: tuple[Worker, Shared]) -> None:
    worker, _ = refusing
    first_try(worker)
    left_out_s, tried = 0.0, [(now_s(worker), now_s(worker))]
    for _ in range(90):
        before = tries(worker.engine)
        left_out_s += 5
        earliest = now_s(worker) + left_out_s
        step(worker, after_s=5)
        assert tries(worker.engine) <= before + 1
        if tries(worker.engine) > before:
            tried.append((earliest, now_s(worker) + left_out_s))
    for (was_from, was_to), (since, until), rest_s in zip(tried, tried[1:], (10, 20, 40, 80, 160), strict=False):
        assert until - was_from >= rest_s, "when it is over"
        assert since - was_to <= rest_s + 20, "or as soon as the next one comes who was told to"
    assert len(tried) > 5, tried


def now_s(worker: Worker) -> float:
    """Rests pass while a step runs, too."""
    return float(one(worker.engine, "SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)"))


def test_visits_at_the_same_time_do_not_all_find_out_by_themselves(make: Make, web: Web) -> None:
    shared = Shared(web, names(8), pages=1)
    worker = make(
        address_gap_s=0.5, backoff_base_s=HOUR, backoff_max_s=HOUR, resolve=shared.resolve, dispatch_tick_s=0.25
    )
    start(worker, *shared.urls)
    shared.down()
    for _ in range(3):
        step(worker, threads=8)
    assert tries(worker.engine) <= 2, "a second one may have had its start before the first was refused"


def test_who_waited_for_an_address_goes_on_when_it_answers(refusing: tuple[Worker, Shared], web: Web) -> None:
    worker, shared = refusing
    first_try(worker)
    shared.up(web)
    go_on(worker, shared, after_s=5, most=300)
    assert tries(worker.engine) == 1
    (budget,) = sql(worker.engine, "SELECT failures, blocked_until, resting_because FROM budgets")
    assert budget == {"failures": 0, "blocked_until": None, "resting_because": None}


def test_the_probe_of_an_address_comes_when_its_rest_is_over_however_many_wait(
    refusing: tuple[Worker, Shared], web: Web
) -> None:
    worker, shared = refusing
    first_try(worker)
    shared.up(web)
    step(worker, after_s=11)
    assert len(shared.site.log) >= 1


def test_a_name_whose_first_address_refuses_is_reached_at_another(make: Make, web: Web) -> None:
    """As by browsers: many a site has an IPv6 address at which nobody listens. The host rests as long as the address,
    which is asked no sooner than the others then."""
    shared = Shared(web, names(1), pages=2)
    dead = web.site()
    dead.close()
    made = make(address_gap_s=0.5, backoff_base_s=1.0, backoff_max_s=100.0, resolve=shared.resolve, **STEP)
    addresses = (dead.host, shared.site.host)
    worker = unhurried(replace(made, where=lambda *_: Whereabouts(addresses=addresses, dns_ms=0.0)))
    start(worker, *shared.urls)
    go_on(worker, shared, after_s=5, most=20)
    assert tries(worker.engine) == 1


def test_a_hop_of_robots_txt_goes_to_another_address_of_its_host(make: Make, web: Web) -> None:
    shared = Shared(web, names(1), pages=1)
    dead, other = web.site(), web.site()
    dead.close()
    other.robots = Answer(status=301, headers={"Location": shared.url("host0.test", "/robots.txt")})
    made = make(address_gap_s=0.5, backoff_base_s=1.0, backoff_max_s=100.0, resolve=shared.resolve, **STEP)
    found = {other.url("/robots.txt"): (other.host,), other.url(): (other.host,)}
    addresses = (dead.host, shared.site.host)
    worker = unhurried(
        replace(made, where=lambda url, *_: Whereabouts(addresses=found.get(url, addresses), dns_ms=0.0))
    )
    other.pages["/"] = html(text="It has words of its own.")
    start(worker, other.url())
    for _ in range(20):
        step(worker, after_s=5)
    assert shared.asked == {("host0.test", "/robots.txt"): 1}
    assert (tries(worker.engine), [hit.path for hit in other.log][-1]) == (1, "/")


def resetting(*hosts: str) -> Callable[[Hit], Answer]:
    """robots.txt of these names: the connection is dropped. Of the others: allow all."""
    return lambda hit: Answer(drop=True) if hit.headers["Host"].startswith(hosts) else Answer(status=404)


def test_connections_of_one_name_that_are_reset_rest_that_name_alone(make: Make, web: Web) -> None:
    shared = Shared(web, names(3), pages=1)
    shared.site.robots = resetting("host0.")
    worker = unhurried(make(address_gap_s=0.5, backoff_base_s=HOUR, backoff_max_s=HOUR, resolve=shared.resolve, **STEP))
    start(worker, *shared.urls)
    for _ in range(12):
        step(worker, after_s=2)
    assert shared.asked == {
        ("host0.test", "/robots.txt"): 1,
        **{(name, path): 1 for name in ("host1.test", "host2.test") for path in ("/robots.txt", "/")},
    }
    assert one(worker.engine, "SELECT resting_because FROM budgets") is None
    assert (
        one(worker.engine, "SELECT count(*) FROM hosts WHERE next_fetch_at > clock_timestamp() + interval '30 min'")
        == 1
    )


def test_connections_of_two_names_that_are_reset_rest_the_address(make: Make, web: Web) -> None:
    shared = Shared(web, names(3), pages=1)
    shared.site.robots = resetting("host")
    worker = unhurried(make(address_gap_s=0.5, backoff_base_s=HOUR, backoff_max_s=HOUR, resolve=shared.resolve, **STEP))
    start(worker, *shared.urls)
    for _ in range(12):
        step(worker, after_s=2)
    assert len(shared.site.log) == 2, "two tried, the third knows"
    assert one(worker.engine, "SELECT resting_because FROM budgets") == "reset"


def test_errors_of_one_host_do_not_rest_its_neighbours(make: Make, web: Web) -> None:
    shared = Shared(web, names(3), pages=2)
    shared.site.pages["/"] = lambda hit: (
        Answer(status=503, headers={"Retry-After": "600"})
        if hit.headers["Host"].startswith("host0.")
        else html("/1", text=hit.headers["Host"])
    )
    worker = unhurried(make(address_gap_s=0.5, resolve=shared.resolve, **STEP))
    start(worker, *shared.urls)
    for _ in range(30):
        step(worker, after_s=1)
    asked = shared.asked
    assert (asked["host0.test", "/"], asked["host0.test", "/1"]) == (1, 0)
    assert (asked["host1.test", "/1"], asked["host2.test", "/1"]) == (1, 1)
    assert one(worker.engine, "SELECT failures FROM budgets") == 0
