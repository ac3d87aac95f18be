"""What `bench road` says of the machine: which cores a crawler could have had, and how fast it met the hosts."""

import os
from dataclasses import replace

import pytest

from bench import road, road_judge
from bench.road import Sizes
from bench.road_web import Request

REQUEST = Request(
    arrived=100.0,
    end=100.1,
    host="a.road.test",
    address="127.0.40.1",
    path="/robots.txt",
    status=200,
    tls=False,
    imposed_s=0.1,
    connection=1,
    is_first=True,
)


def test_the_cores_of_the_web_and_of_the_bench_are_not_the_crawlers() -> None:
    run = road.Run(row={}, pages_s=100.0, allowed_s=10_000.0, page_s=0.004, away_cores=0.5)
    cores = (os.cpu_count() or 1) - 0.5
    shares = road._shares(run, page_s=0.005)  # noqa: SLF001  # what the bench judges with
    assert shares["of cores/s"] == pytest.approx(cores / 0.005, abs=0.1)
    assert shares["share"] == pytest.approx(100.0 / (cores / 0.005), abs=0.001)


def test_cores_are_counted_between_two_moments() -> None:
    sizes = Sizes(words=())
    sizes.busy = [(0.0, 10.0), (10.0, 25.0), (20.0, 45.0)]
    sizes.own = [(0.0, 1.0), (10.0, 2.0), (20.0, 4.0)]
    assert sizes.cores(5.0, 15.0) == pytest.approx((1.75, 0.15))


def test_a_look_notes_what_the_bench_itself_used() -> None:
    sizes = Sizes(words=(b"no such process",))
    sizes()
    ((_, own_s),) = sizes.own
    assert own_s > 0


def test_hosts_count_as_met_from_their_first_request_on() -> None:
    requests = [
        REQUEST,
        replace(REQUEST, arrived=103.0, host="dead.road.test"),
        replace(REQUEST, arrived=109.0),
        replace(REQUEST, arrived=115.0, host="b.road.test"),
    ]
    hosts = {"a.road.test", "b.road.test", "never.road.test"}
    assert road_judge.met_after(requests, hosts, (0.0, 10.0, 15.0)) == [1, 1, 2]
