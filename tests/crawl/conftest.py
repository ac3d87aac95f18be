"""A Worker on the module's own database, empty at the start of each test, and a small web."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from app.crawl.state.setup import make_sender, make_worker
from app.crawl.state.worker import Worker
from tests.crawl.loop import make_settings
from tests.crawl.web import Web
from tests.store.rows import clean


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def make(engine: Engine, database_url: str) -> Iterator[Callable[..., Worker]]:
    """make(**settings): a Worker as a worker process has one; several are several workers."""
    senders = []

    def worker(**overrides: object) -> Worker:
        settings = make_settings(database_url, **overrides)
        sender = make_sender(settings)
        senders.append(sender)
        made = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name=f"test:{len(senders)}")
        return replace(made, rng=random.Random(len(senders)))

    yield worker
    for sender in senders:
        sender.close()


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Worker:
    return make()
