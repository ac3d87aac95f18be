"""The Worker of the crawl's tests, others in a hurry, and hostile hosts that end with the test."""

from collections.abc import Callable, Iterator

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.conftest import engine, make, worker
from tests.hostile.judge import CAP_BYTES, LONG_S, ROBOTS_TRIES, TRIES
from tests.hostile.origin import NETWORK, HostileOrigin

__all__ = ["engine", "hurried", "hurry", "make", "origin", "worker"]


@pytest.fixture
def origin() -> Iterator[HostileOrigin]:
    with HostileOrigin() as origin:
        yield origin


@pytest.fixture
def hurry(make: Callable[..., Worker]) -> Callable[..., Worker]:
    """hurry(request_s, robots_s): a Worker with these deadlines and a small cap, that knows only hostile hosts."""
    return lambda request_s=LONG_S, robots_s=LONG_S: make(
        allow_networks=NETWORK,
        request_deadline_s=request_s,
        robots_deadline_s=robots_s,
        max_body_bytes=CAP_BYTES,
        attempts_max=TRIES,
        new_host_failures_max=ROBOTS_TRIES,
    )


@pytest.fixture
def hurried(hurry: Callable[..., Worker]) -> Worker:
    return hurry()
