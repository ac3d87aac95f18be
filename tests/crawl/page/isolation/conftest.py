"""Readers that are poisoned, and gone with the test."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from app.crawl.state.worker import Worker
from app.sandbox.readers import Readers
from tests.crawl.page.isolation.isolated import Make
from tests.crawl.poisoned import poisoned_readers, reader_pids


@pytest.fixture
def own_readers() -> Callable[[], set[int]]:
    """Readers that are the test's: another's worker may live on in this process, and its readers with it."""
    others = reader_pids()
    return lambda: reader_pids() - others


@pytest.fixture
def poisoned(make: Make, own_readers: Callable[[], set[int]]) -> Iterator[Make]:
    """poisoned(readers={…}, **settings): a Worker whose readers are poisoned."""
    made: list[Readers] = []

    def worker(readers: dict[str, object] | None = None, **settings: object) -> Worker:
        made.append(poisoned_readers(**(readers or {})))
        worker = make(**settings)
        return replace(worker, reading=replace(worker.reading, readers=made[-1]))

    yield worker
    for each in made:
        each.close()
    assert own_readers() == set()
