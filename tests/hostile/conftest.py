"""The Kit of the crawl's tests, others in a hurry, and hostile hosts that end with the test."""

from collections.abc import Callable, Iterator

import pytest

from app.crawl.state.worker import Kit
from tests.crawl.conftest import engine, kit, make
from tests.hostile.judge import CAP_BYTES, LONG_S, ROBOTS_TRIES, TRIES
from tests.hostile.origin import NETWORK, HostileOrigin

__all__ = ["engine", "hurried", "hurry", "kit", "make", "origin"]


@pytest.fixture
def origin() -> Iterator[HostileOrigin]:
    with HostileOrigin() as origin:
        yield origin


@pytest.fixture
def hurry(make: Callable[..., Kit]) -> Callable[..., Kit]:
    """hurry(request_s, robots_s): a Kit with these deadlines and a small cap, that knows nobody but hostile hosts."""
    return lambda request_s=LONG_S, robots_s=LONG_S: make(
        allow_networks=NETWORK,
        request_deadline_s=request_s,
        robots_deadline_s=robots_s,
        max_body_bytes=CAP_BYTES,
        attempts_max=TRIES,
        new_host_failures_max=ROBOTS_TRIES,
    )


@pytest.fixture
def hurried(hurry: Callable[..., Kit]) -> Kit:
    return hurry()
