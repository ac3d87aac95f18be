"""A new worker keeps as many doorbells as there are offers."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
import redis
from sqlalchemy import Engine

from app.celery import make_app
from app.config import load
from tests.store.rows import claim, clean, make_due_host
from workers import stale


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def client(broker_url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(broker_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def drop(broker_url: str, engine: Engine) -> Callable[[Sequence[str]], None]:
    return partial(stale.drop, engine=engine, broker=make_app(load(broker_url=broker_url)))


# messages in the queue, offers that stand; messages kept
ROWS = [(100_000, 0, 0), (100_000, 3, 3), (3, 3, 3), (2, 3, 2), (0, 3, 0)]


@pytest.mark.parametrize(("messages", "offers", "kept"), ROWS)
def test_the_newest_are_kept(
    client: "redis.Redis", drop: Callable[[Sequence[str]], None], engine: Engine, messages: int, offers: int, kept: int
) -> None:
    if messages:
        client.lpush("host-00", *range(messages))
    for _ in range(offers):
        make_due_host(engine)
    claim(engine)
    drop(["host-00", "host-01"])
    assert client.lrange("host-00", 0, -1) == [str(messages - 1 - n) for n in range(kept)]


def test_what_other_queues_hold_is_left_alone(client: "redis.Redis", drop: Callable[[Sequence[str]], None]) -> None:
    for queue in ("host-01", "maintenance"):
        client.lpush(queue, *range(99))
    drop(["host-00"])
    assert (client.llen("host-01"), client.llen("maintenance")) == (99, 99)
    drop(["host-00", "maintenance"])
    assert client.llen("maintenance") == 64
