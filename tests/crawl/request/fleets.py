"""Visits of hosts that share an address."""

from collections.abc import Callable

from sqlalchemy import Engine

from app.crawl.state.worker import Worker
from tests.crawl.clock import step
from tests.crawl.crowd import Shared
from tests.store.rows import one

Make = Callable[..., Worker]


def go_on(worker: Worker, shared: Shared, *, after_s: float, most: int) -> None:
    """Steps, each so much later, until everything was asked for, each thing once."""
    for _ in range(most):
        if shared.asked == shared.everything:
            return
        step(worker, after_s=after_s)
    raise AssertionError(f"after {most} steps: {shared.asked}")


def tries(engine: Engine) -> int:
    return int(one(engine, "SELECT count(*) FROM fetches WHERE failure = 'refused'"))
