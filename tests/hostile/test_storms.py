"""Storms of 429 and 503, flapping, outages and silence (FT25, FT31, FT35): what is asked for meanwhile and afterwards.

Judged by the origin's own log and clock. Where a storm takes minutes they pass by SQL (`tests.crawl.clock`).
"""

import itertools
from collections import Counter
from collections.abc import Callable

import pytest

from app.admin.audit import audit
from app.crawl.state.worker import Worker
from tests.crawl.clock import STEP, host, step, work
from tests.crawl.loop import run, start
from tests.hostile import storms
from tests.hostile.judge import SHORT_S, assert_decent
from tests.hostile.origin import NETWORK, HostileOrigin
from tests.store.rows import one, sql

pytestmark = pytest.mark.faults

Make = Callable[..., Worker]
PAGES = 12
ALL = {"/", *(f"/{number}" for number in range(1, PAGES))}
BACKOFF_S, CAP_S = 0.4, 1.5
DELAY_S = 0.05
CLOCK_S = 0.01  # between our clock and the origin's


def settled(worker: Worker) -> set[str]:
    return {row["state"] for row in sql(worker.engine, "SELECT state FROM urls")}


# --- storms -----------------------------------------------------------------------------------------------------

# behaviour, its Retry-After, how many are refused → seconds before which nobody comes
STORMS = [
    ("storm429", "1", 3, 1.0),
    ("storm429date", lambda: storms.in_date(2), 2, 1.0),  # whole seconds: 1 to 2
    ("storm429absurd", storms.ABSURD, 2, CAP_S),
    ("storm429absent", None, 3, BACKOFF_S),
    ("storm503", "1", 3, 1.0),
    ("storm503date", lambda: storms.in_date(2), 2, 1.0),
    ("storm503absurd", storms.ABSURD, 2, CAP_S),
    ("storm503absent", None, 3, BACKOFF_S),
]


def test_nobody_comes_before_its_time_nothing_is_lost_and_others_do_not_notice(
    make: Make, origin: HostileOrigin
) -> None:
    worker = make(
        allow_networks=NETWORK,
        default_delay_s=DELAY_S,
        adaptive_level_max=2,
        adaptive_base_min_s=DELAY_S,
        backoff_base_s=BACKOFF_S,
        backoff_max_s=1.0,
        retry_after_max_s=CAP_S,
        dispatch_tick_s=0.02,
        linger_s=0.01,
    )
    stormy = [
        (
            origin.add(name, requests=refused, **({"retry_after": asks} if asks != storms.ABSURD else {})),
            refused,
            rest_s,
        )
        for name, asks, refused, rest_s in STORMS
    ]
    well = [origin.add("healthy", pages=PAGES) for _ in range(2)]
    start(worker, *(each.url() for each in [*well, *(row[0] for row in stormy)]))
    work(worker, threads=12)
    assert_decent(worker, origin)
    for bad, refused, rest_s in stormy:
        lines = [line for line in bad.log if line.path != "/robots.txt"]
        rests = [later.start - earlier.end for earlier, later in itertools.pairwise(lines) if earlier.end is not None]
        assert min(rests[:refused]) >= rest_s - CLOCK_S, (bad.name, rests)
        assert {line.path for line in lines[:refused]} == {"/"}
        assert Counter(line.path for line in lines[refused:]) == dict.fromkeys(ALL, 1), bad.name
    assert settled(worker) == {"resting"}
    proof = audit(worker.engine, worker.settings, None)
    assert (proof.violations, proof.disorder) == (0, 0), proof.verdict
    assert one(worker.engine, "SELECT max(failures) FROM hosts") == 0
    calm = min(line.start for bad, *_ in stormy for line in bad.log[-1:])
    for each in well:
        assert Counter(each.pages_asked) == dict.fromkeys(ALL, 1)
        assert each.log[-1].start < calm, "done before the first storm was over"
        row = host(worker.engine, each.address)
        assert (row["adaptive_level"], row["delay_s"], row["failures"]) == (0, DELAY_S, 0)


# behaviour, options → requests in ten minutes: the rests between them double from 10 s
@pytest.mark.parametrize(
    ("name", "options", "most"),
    [
        ("storm429absent", {}, 6),  # at 0, 10, 30, 70, 150, 310 s
        ("storm429", {"retry_after": "5"}, 6),
        ("storm429", {"retry_after": "200"}, 3),
        ("storm503", {"retry_after": "5"}, 6),
        ("storm503absurd", {}, 1),
    ],
)
def test_a_storm_without_end_costs_few_requests_and_no_url(
    make: Make, origin: HostileOrigin, name: str, options: dict[str, str], most: int
) -> None:
    worker = make(allow_networks=NETWORK, backoff_base_s=10.0, backoff_max_s=3_600.0, adaptive_level_max=8, **STEP)
    bad = origin.add(name, requests=None, **options)
    start(worker, *(bad.url(f"/{number}") for number in range(1, PAGES)))
    asked = []
    for _ in range(120):
        step(worker, after_s=5)
        asked.append(len(bad.pages_asked))
    moments = [number for number, (before, now) in enumerate(itertools.pairwise([0, *asked])) if now > before]
    assert asked[-1] <= most
    gaps = [later - earlier for earlier, later in itertools.pairwise(moments)]
    # A rest may take a step less than the one before, of the same length: a step takes time of its own.
    assert all(later >= earlier - 1 for earlier, later in itertools.pairwise(gaps)), f"they grow: {gaps}"
    rows = sql(worker.engine, "SELECT state, attempts FROM urls")
    assert {(row["state"], row["attempts"]) for row in rows} == {("queued", 0)}


# --- a host that comes and goes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [1, 2])
def test_a_flapping_host_is_crawled_to_its_end(make: Make, origin: HostileOrigin, bad: int) -> None:
    worker = make(allow_networks=NETWORK, adaptive_level_max=8, **STEP)
    flapping = origin.add("flap", bad=bad, of=3)
    start(worker, flapping.url())
    run(worker)
    assert_decent(worker, origin)
    assert settled(worker) == {"resting"}
    assert set(flapping.pages_asked) == ALL
    assert len(flapping.pages_asked) <= 3 * PAGES, "no page is asked for again once it was had"


# settings → most tries in the five minutes of an outage
OUTAGES = [
    ({"backoff_base_s": 10.0, "backoff_max_s": 60.0}, 8),  # after 10, 20, 40, 60 s, and so on
    (
        {"backoff_max_s": 1.0, "breaker_failures": 4, "breaker_base_s": 100.0, "breaker_max_s": 150.0},
        6,
    ),  # closed with the 4th
]


@pytest.mark.parametrize(("settings", "most"), OUTAGES, ids=["backoff", "breaker"])
def test_an_outage_costs_few_tries_and_no_page(
    make: Make, origin: HostileOrigin, settings: dict[str, float], most: int
) -> None:
    worker = make(allow_networks=NETWORK, default_delay_s=1.0, adaptive_level_max=8, **settings, **STEP)
    bad, well = origin.add("outage"), origin.add("healthy", pages=PAGES)
    start(worker, bad.url(), well.url())
    for _ in range(6):
        step(worker, after_s=2)
    had = len(bad.pages_asked)
    assert 2 <= had < PAGES
    origin.down("outage")
    for _ in range(150):
        step(worker, after_s=2)
    tries = one(worker.engine, "SELECT count(*) FROM fetches WHERE failure IS NOT NULL")
    assert 3 <= tries <= most
    assert len(bad.pages_asked) == had
    assert Counter(well.pages_asked) == dict.fromkeys(ALL, 1), "the other one went on"
    origin.up("outage")
    for _ in range(120):
        step(worker, after_s=5)
    run(worker)
    assert_decent(worker, origin)
    assert Counter(bad.pages_asked) == dict.fromkeys(ALL, 1), "nothing is lost, nothing comes twice"
    assert settled(worker) == {"resting"}


# --- silence ----------------------------------------------------------------------------------------------------


def test_ten_silent_hosts_do_not_hold_up_healthy_ones(make: Make, origin: HostileOrigin) -> None:
    worker = make(
        allow_networks=NETWORK,
        default_delay_s=DELAY_S,
        request_deadline_s=3 * SHORT_S,  # three in a row give a busy machine time for the healthy ones
        max_body_bytes=100_000,
        dispatch_tick_s=0.02,
        linger_s=0.1,
    )
    silent = [origin.add("silent") for _ in range(10)]
    well = [origin.add("healthy", pages=PAGES) for _ in range(3)]
    start(worker, *(each.url() for each in silent), *(each.url() for each in well))
    work(worker, threads=14)
    assert_decent(worker, origin)
    for each in silent:
        assert each.pages_asked == ["/"] * 3
        assert all(line.hung_up for line in each.log if line.path == "/")
    ends = sorted(each.log[-1].start for each in silent)
    for each in well:
        assert Counter(each.pages_asked) == dict.fromkeys(ALL, 1)
        assert each.log[-1].start < ends[0]
    states = Counter((row["state"], row["outcome"]) for row in sql(worker.engine, "SELECT state, outcome FROM urls"))
    assert states == {("resting", "page"): 3 * PAGES, ("quarantined", "broken"): 10}
