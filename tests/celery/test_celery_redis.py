"""The pool of threads that tells when one of them is free; messages that nobody read."""

import threading
from collections.abc import Iterator

import pytest
import redis
from celery import Celery

from app.celery import make_app
from app.celery_redis import TaskPool, unread
from app.config import load
from app.errors import ServiceError

LONG_S = 30.0  # nothing here takes so long


class Pool:
    """Of two threads. A task ends when it is told to; `freed` counts the calls."""

    def __init__(self) -> None:
        self.freed = threading.Semaphore(0)
        self.pool = TaskPool(2, app=Celery())
        self.pool.on_free = self.freed.release
        self.pool.start()

    def begin(self) -> threading.Event:
        end = threading.Event()
        self.pool.apply_async(end.wait, (LONG_S,))
        return end

    def has_told(self, within_s: float = LONG_S) -> bool:
        return self.freed.acquire(timeout=within_s)


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.pool.stop()


def test_it_tells_when_a_thread_is_free_after_none_was(pool: Pool) -> None:
    first, second = pool.begin(), pool.begin()
    first.set()
    assert pool.has_told()
    third = pool.begin()
    second.set()
    assert pool.has_told()
    third.set()
    pool.pool.stop()
    assert not pool.has_told(within_s=0.0), "another thread had been free all the while"


def test_who_could_not_begin_holds_no_thread(pool: Pool) -> None:
    pool.pool.executor.shutdown()
    for _ in range(3):
        with pytest.raises(RuntimeError):
            pool.begin()
    assert pool.pool._in_hand == 0


# --- messages that nobody read -------------------------------------------------------------------------------------


@pytest.fixture
def client(broker_url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(broker_url, decode_responses=True) as client:
        yield client


def test_what_waits_is_counted_and_the_oldest_of_too_many_dropped(broker_url: str, client: "redis.Redis") -> None:
    for queue, count in (("host-00", 3), ("host-01", 8), ("host-02", 9), ("other", 9)):
        client.lpush(queue, *range(count))
    with make_app(load(broker_url=broker_url)).connection_for_write() as connection:
        told = unread(connection, ["host-00", "host-01", "host-02", "host-03"], 4)
    assert told == {"host-00": 3, "host-01": 8, "host-02": 8, "host-03": 0}
    assert client.lrange("host-02", 0, -1) == [str(number) for number in range(8, 0, -1)], "kombu reads from the right"
    assert client.llen("host-01") == 8
    assert client.llen("other") == 9


def test_a_connection_that_went_stale_is_asked_again(broker_url: str, client: "redis.Redis") -> None:
    with make_app(load(broker_url=broker_url)).connection_for_write() as connection:
        unread(connection, ["host-00"], 4)
        client.lpush("host-00", "a")
        client.client_kill_filter(_type="normal", skipme=True)
        assert unread(connection, ["host-00"], 4) == {"host-00": 1}


def test_a_broker_that_is_away_is_said_once() -> None:
    """Not for ever, as kombu would."""
    connection = make_app(load(broker_url="redis://127.0.0.1:1/0")).connection_for_write()
    with pytest.raises(ServiceError, match="the broker"):
        unread(connection, ["host-00"], 4)


def test_a_broker_that_cannot_be_asked_says_nothing() -> None:
    with make_app(load(broker_url="memory://")).connection_for_write() as connection:
        assert unread(connection, ["host-00"], 4) == {}
