"""The level of a host rises and falls with its answers, the delay with the level (promise P2, P4). From the site and
the log."""

from collections import Counter
from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.answers import answering
from tests.crawl.clock import HOUR, STEP, TICK_S, host, logged_delays, step, steps
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import sql

Make = Callable[..., Worker]


def test_the_level_rises_and_falls_with_the_answers_and_outlives_visits_and_workers(make: Make, web: Web) -> None:
    workers = [make(adaptive_level_max=8, default_delay_s=0.5, **STEP) for _ in range(2)]
    engine = workers[0].engine
    site = web.site()
    answering(site, 200, 429, 200)
    start(workers[0], site.url())
    found = []
    for number in range(
        14
    ):  # robots.txt, /, a page, the 429, and good ones: with the seventh one in eleven was an error
        step(workers[number % 2], after_s=HOUR)
        row = host(engine)
        found.append((row["adaptive_level"], row["delay_s"]))
    assert found == [(0, 0.5)] * 3 + [(3, 8.0)] * 7 + [(2, 4.0), (1, 2.0), (0, 0.5), (0, 0.5)]
    in_force = [0.5] * 4 + [8.0] * 7 + [4.0, 2.0, 0.5]
    assert logged_delays(engine) == in_force, "what was known when the request started"
    assert {row["worker"] for row in sql(engine, "SELECT worker FROM visits")} == {"test:1", "test:2"}


def test_the_delay_in_force_is_kept(make: Make, web: Web) -> None:
    worker = make(adaptive_level_max=8, adaptive_base_min_s=0.02, default_delay_s=0.02, backoff_base_s=0.001)
    site = web.site()
    answering(site, 200, 200, 429, *[200] * 40, pages=12)
    start(worker, site.url())
    run(worker)
    assert Counter(site.pages_asked).most_common(1)[0][1] == 2, "the page of the 429 came later"
    for gap_s, delay_s in zip(site.gaps(), logged_delays(worker.engine)[1:], strict=True):
        assert gap_s >= delay_s
    assert max(logged_delays(worker.engine)) == pytest.approx(0.16)


# answers after the first page → level then
@pytest.mark.parametrize(
    ("statuses", "level"),
    [
        ([429], 3),
        ([503], 2),
        ([429, 503], 5),
        ([500] * 5, 1),
        ([403] * 6, 0),
        ([401, 404, 410], 0),
        ([429, 403, 403, 403], 3),  # held
    ],
)
def test_levels_of_a_site(make: Make, web: Web, statuses: list[int], level: int) -> None:
    worker = make(adaptive_level_max=8, default_delay_s=0.5, **STEP)
    site = web.site()
    answering(site, *statuses)
    start(worker, site.url())
    while len(site.pages_asked) <= len(statuses):
        assert step(worker, after_s=HOUR)
    row = host(worker.engine)
    assert row["recent_statuses"] == [404, 200, *statuses]
    assert row["adaptive_level"] == level


def test_connections_that_fail_are_remembered_as_no_answer(make: Make, web: Web) -> None:
    worker = make(adaptive_level_max=8, **STEP)
    site = web.site()
    site.pages |= {"/": html("/x"), "/x": Answer(cut=True, body=b"half")}
    start(worker, site.url())
    step(worker)
    assert host(worker.engine)["recent_statuses"] == [404, 200, 0]
    site.close()
    step(worker, after_s=HOUR)
    assert host(worker.engine)["recent_statuses"] == [404, 200, 0, 0]
    assert host(worker.engine)["adaptive_level"] == 0


def test_a_slow_host_is_left_alone_for_a_multiple_of_its_latency(make: Make, web: Web) -> None:
    worker = make(latency_factor=100.0, latency_weight=1.0, **STEP)
    site = web.site()
    site.robots = Answer(status=404, delay_s=0.05)
    site.pages |= {"/": html("/a", "/b", delay_s=0.05), "/a": html(), "/b": html()}
    start(worker, site.url())
    steps(worker, 2)
    row = host(worker.engine)
    assert site.paths == ["/robots.txt", "/"]
    assert 0.05 <= row["latency_s"] < 1.0
    assert row["delay_s"] == pytest.approx(100 * row["latency_s"])
    assert row["waits_s"] >= row["delay_s"] - TICK_S


def test_slow_answers_raise_the_level_once_a_window(make: Make, web: Web) -> None:
    worker = make(adaptive_level_max=8, adaptive_slow_s=0.001, adaptive_window=3, breaker_failures=3, **STEP)
    site = web.site()
    site.robots = Answer(status=404, delay_s=0.01)
    slow = html(delay_s=0.01)
    site.pages |= {"/": html(*(f"/{number}" for number in range(8)), delay_s=0.01)}
    site.pages |= {f"/{number}": slow for number in range(8)}
    start(worker, site.url())
    steps(worker, 8)
    assert logged_delays(worker.engine)[:9] == [0.0] * 3 + [2.0] * 3 + [4.0] * 3


def test_jitter_makes_rests_longer_and_never_shorter(make: Make, web: Web) -> None:
    worker = make(default_delay_s=100.0, jitter=0.5, **STEP)
    site = web.site()
    answering(site, 200)
    start(worker, site.url())
    waits = []
    for _ in range(8):
        step(worker, after_s=HOUR)
        waits.append(host(worker.engine)["polite_s"])
    assert all(100 <= wait <= 150.1 for wait in waits)
    assert len({round(wait) for wait in waits}) > 3, "drawn anew each time"
    assert set(logged_delays(worker.engine)) == {100.0}
