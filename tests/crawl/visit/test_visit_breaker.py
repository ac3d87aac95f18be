"""A host that fails again and again is closed, probed, and given up at last (promise P6)."""

from collections import Counter
from collections.abc import Callable

import pytest

from app.admin import explain, hosts
from app.beat.finish import finish
from app.crawl.state.worker import Worker
from app.model import Cause
from tests.crawl.answers import answering, words
from tests.crawl.clock import DAY, HOUR, SLACK_S, STEP, TICK_S, host, logged, step, steps
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql

Make = Callable[..., Worker]


@pytest.fixture
def failing(make: Make, web: Web) -> tuple[Worker, Site, set[str]]:
    """A site whose pages, all but the first, fail until the set names them; each has tries left."""
    worker = make(attempts_max=50, host_failures_max=20, **STEP)
    site = web.site()
    good: set[str] = set()
    failures = [Answer(status=500), Answer(cut=True, body=b"half"), Answer(status=502)]
    for number in range(14):
        path = f"/{number}"
        site.pages[path] = lambda hit: words(hit) if hit.path in good else failures[len(site.log) % 3]
    site.pages["/"] = html(*site.pages)
    start(worker, site.url())
    return worker, site, good


def test_ten_failures_in_a_row_close_a_host_whatever_its_urls(failing: tuple[Worker, Site, set[str]]) -> None:
    worker, site, _ = failing
    step(worker)
    row = host(worker.engine)
    assert len(site.pages_asked) == 1 + 10
    assert max(Counter(site.pages_asked).values()) == 1, "ten URLs, each with one failure"
    assert (row["resting_because"], row["breaker_trips"]) == ("breaker", 1)
    assert row["rests_s"] == pytest.approx(HOUR, abs=SLACK_S)
    assert row["waits_s"] >= row["rests_s"] - TICK_S
    assert logged(worker.engine, "rest_s")[-1] == HOUR
    assert sql(worker.engine, "SELECT state FROM hosts WHERE next_fetch_at IS NULL") == []
    waiting = next(path for path in site.pages if path not in site.pages_asked)
    (known,) = explain.why(worker.engine, worker.settings, site.url(waiting)).crawls
    assert known.waits_for[0].startswith("its rest (breaker) to end")


def test_a_closed_host_gets_one_probe_a_rest_and_each_that_fails_doubles_it(
    failing: tuple[Worker, Site, set[str]],
) -> None:
    worker, site, _ = failing
    step(worker)
    asked = len(site.pages_asked)
    for trips, hours in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 24), (7, 24)):
        row = host(worker.engine)
        assert (row["breaker_trips"], row["rests_s"]) == (trips, pytest.approx(hours * HOUR, abs=SLACK_S))
        step(worker, after_s=hours * HOUR - 60)
        assert len(site.pages_asked) == asked, "not before"
        step(worker, after_s=60)
        step(worker)
        step(worker)
        asked += 1
        assert len(site.pages_asked) == asked, "one"


def test_a_probe_that_is_answered_well_opens_the_host(failing: tuple[Worker, Site, set[str]]) -> None:
    worker, site, good = failing
    steps(worker, 2)
    assert host(worker.engine)["breaker_trips"] == 2
    good |= set(site.pages)
    step(worker, after_s=2 * HOUR)
    row = host(worker.engine)
    assert (row["breaker_trips"], row["resting_because"]) == (0, None)
    run(worker)
    assert {row["state"] for row in sql(worker.engine, "SELECT state FROM urls")} == {"resting"}
    brought = Counter(hit.path for hit in site.log if hit.path in site.pages and hit.body_bytes > 10)
    assert brought == dict.fromkeys(site.pages, 1)


def test_a_host_that_stays_closed_is_given_up_with_its_cause(make: Make, web: Web) -> None:
    worker = make(host_failures_max=12, **STEP)
    site = web.site()
    answering(site, 500, pages=40)
    start(worker, site.url())
    run(worker)
    assert len(site.pages_asked) <= 1 + 12 + 10, "not every page has been asked for"
    assert one(worker.engine, "SELECT ended_because FROM crawls") == "done"
    causes = Counter(
        tuple(row.values()) for row in sql(worker.engine, "SELECT cause, detail FROM urls WHERE state = 'quarantined'")
    )
    assert sum(causes.values()) == 40
    assert causes[Cause.HOST_FAILS, "12 server errors or missing answers in a row, the last: server_error (500)"] >= 28
    assert None not in {cause for cause, _ in causes}


# what a host answers, and settings, that must not keep a crawl from ending
ENDLESS = [
    (Answer(status=429), {}),
    (Answer(status=429, headers={"Retry-After": "5"}), {}),
    (Answer(status=503, headers={"Retry-After": "5"}), {}),
    (Answer(status=503), {}),
    (Answer(status=503), {"host_failures_max": 25}),  # more than the window holds
    (Answer(status=500), {"attempts_max": 20}),
    (Answer(cut=True, body=b"half"), {"attempts_max": 20}),
]


@pytest.mark.parametrize(("answer", "settings"), ENDLESS)
def test_a_host_that_never_recovers_does_not_keep_its_crawl_from_ending(
    make: Make, web: Web, answer: Answer, settings: dict[str, int]
) -> None:
    worker = make(**settings, **STEP)
    site = web.site()
    site.pages |= {"/": html("/x", "/y"), "/x": answer, "/y": answer}
    start(worker, site.url())
    for _ in range(60):
        step(worker, after_s=DAY)
        ended = sql(worker.engine, "SELECT state, cause FROM urls WHERE url <> :seed", seed=site.url())
        if [row["state"] for row in ended] == ["quarantined"] * 2:
            break
    assert [row["state"] for row in ended] == ["quarantined"] * 2
    assert all(row["cause"] for row in ended)
    assert finish(worker.engine) == ["c"]


def test_an_operator_opens_it(failing: tuple[Worker, Site, set[str]]) -> None:
    worker, site, good = failing
    step(worker)
    good |= set(site.pages)
    hosts.release(worker.engine, site.host)
    step(worker)
    assert len(site.pages_asked) > 11 + 1
    assert host(worker.engine)["breaker_trips"] == 0


def test_robots_txt_alone_that_fails_does_not_close_its_host(make: Make, web: Web) -> None:
    worker = make(
        breaker_failures=2,
        new_host_failures_max=50,
        host_failures_max=50,
        backoff_base_s=9.0,
        backoff_max_s=9.0,
        **STEP,
    )
    site = web.site()
    site.robots = Answer(status=500)
    site.pages["/"] = html()
    start(worker, site.url())
    steps(worker, 5)
    row = host(worker.engine)
    assert (site.paths, row["breaker_trips"]) == (["/robots.txt"] * 5, 0)
    assert row["resting_because"] == "robots.txt out of reach"


def test_hosts_in_trouble_have_half_of_the_threads_at_most(make: Make, web: Web) -> None:
    worker = make(concurrency=4, default_delay_s=1.0, **STEP)
    sites = [web.site() for _ in range(4)]
    for site in sites:
        site.pages |= {"/": html("/1", "/2"), "/1": html(), "/2": html()}
    start(worker, *(site.url() for site in sites))
    step(worker)
    sql(worker.engine, "UPDATE hosts SET failures = 1")
    assert all(worker.stays.slow_slots.acquire(blocking=False) for _ in range(2)), (
        "as if two visits were at silent hosts"
    )
    before = [len(site.log) for site in sites]
    step(worker, after_s=2)
    assert [len(site.log) for site in sites] == before
    because = {row["resting_because"] for row in sql(worker.engine, "SELECT resting_because FROM hosts")}
    assert because == {"the slow hosts' share of threads"}
    worker.stays.slow_slots.release(2)
    step(worker, after_s=3)
    assert all(len(site.log) > count for site, count in zip(sites, before, strict=True))
