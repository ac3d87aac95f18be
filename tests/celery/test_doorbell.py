"""The pool of threads that tells when one of them is free."""

import threading
from collections.abc import Iterator

import pytest
from celery import Celery

from app.doorbell import TaskPool

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
