"""What a worker process has one of."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from app import config
from workers import process


@pytest.fixture
def fresh_process(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As a worker process starts: nothing made yet."""
    made = (config.current, process._engine, process._kit)
    monkeypatch.setenv("TIPTOE_DATABASE_URL", database_url)
    for cached in made:
        cached.cache_clear()
    yield
    process.engine().dispose()
    for cached in made:
        cached.cache_clear()


def test_all_threads_of_a_process_share_one_kit(fresh_process: None) -> None:
    """A kit each would be a sender each: as many connections to a host, and caches, as threads."""
    together = threading.Barrier(16)

    def ask(_: int) -> int:
        together.wait()
        return id(process.kit())

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1
