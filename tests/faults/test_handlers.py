"""Handlers in a fleet: workers killed, messages lost and doubled, handlers that raise, hang, exit and eat memory."""

import random
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from sqlalchemy import Engine

from app.celery import EXTRACT, make_app
from app.config import load
from app.local.services import Services
from app.model.handler import HandlerSpec
from tests.faults.fleet import Fleet
from tests.faults.pace import quick_or_long
from tests.faults.waiting import until
from tests.features.extract.archived import Shelf, items
from tests.store.rows import clean, one, sql

pytestmark = pytest.mark.faults
PATIENCE_S = 240.0

HANDLERS = """
    import os, time
    from app.features.extract.handlers import handler

    @handler(match=r"/books/")
    def books(page):
        yield {"title": page.title}
        yield {"heads": page.css("h1::text").getall()}

    @handler(match=r"/books/")
    def moody(page):
        n = int(page.url.rsplit("/", 1)[1])
        if n % 50 == 0:
            raise ValueError(n)
        if n % 50 == 10:
            time.sleep(60)
        if n % 50 == 20:
            os._exit(n % 256)
        if n % 50 == 30:
            bytearray(8 << 30)
        yield {"n": n}

    @handler(match=r"/books/.*[05]$")
    def slow(page):
        time.sleep(0.01)
        yield {"slow": page.url}
"""
NAMES = ("books", "moody", "slow")


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def fleet(services: Services, engine: Engine, database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Fleet]:
    path = tmp_path / "books.py"
    path.write_text(textwrap.dedent(HANDLERS))
    env = {
        "TIPTOE_HOME": str(tmp_path),
        "TIPTOE_DATABASE_URL": database_url,
        "TIPTOE_BROKER_URL": broker_url,
        "TIPTOE_HANDLERS": str(path),
        "TIPTOE_CONSTANT_HANDLER_DEADLINE_S": "1",
    }
    made = Fleet(tmp_path, env)
    yield made
    made.close()


def test_fh1_workers_killed_messages_lost_and_doubled(
    fleet: Fleet, engine: Engine, tmp_path: Path, database_url: str, broker_url: str
) -> None:
    """kill -9 of workers with handlers, messages lost and doubled, handlers that fail in every way: items exact."""
    pages, kills, rng = quick_or_long(200, 2_000), quick_or_long(3, 20), random.Random(16)
    shelf = Shelf(engine, tmp_path, database_url)
    found = shelf.put_all(
        [(f"/books/{n}", f"<title>Book {n}</title><h1>One</h1><h1>{n}</h1>".encode()) for n in range(pages)]
    )
    specs = [HandlerSpec(name=name, match=("/books/",)) for name in NAMES[:2]]
    shelf.due(found, *specs, HandlerSpec(name="slow", match=("/books/.*[05]$",)))
    bells = make_app(load(broker_url=broker_url))
    fleet.beat()
    for _ in range(2):
        fleet.worker(8)
    with redis.Redis.from_url(broker_url) as broker:
        for _ in range(kills):
            wanted = ended(engine) + rng.randint(10, 60)
            until(lambda wanted=wanted: ended(engine) >= wanted or waiting(engine) == 0, "more pages", PATIENCE_S)  # type: ignore[misc]
            for _ in range(10):
                bells.send_task("tiptoe.extract", queue=EXTRACT)
            rng.choice(fleet.workers).kill()
            if rng.random() < 0.5:
                broker.flushdb()
            fleet.worker(8)
        until(lambda: hurry(engine) == 0, "every page is at its end", PATIENCE_S)
    assert_exact(engine, pages)


def ended(engine: Engine) -> int:
    return int(one(engine, "SELECT count(*) FROM extractions WHERE state <> 'due'"))


def waiting(engine: Engine) -> int:
    return int(one(engine, "SELECT count(*) FROM extractions WHERE state = 'due'"))


def hurry(engine: Engine) -> int:
    """Rows that wait. Their rests after a failure are cut short: a test cannot wait for them."""
    sql(engine, "UPDATE extractions SET due_at = now() WHERE state = 'due' AND taken_until IS NULL AND due_at > now()")
    return waiting(engine)


def assert_exact(engine: Engine, pages: int) -> None:
    """Each page's items are there once, those that must fail have failed for their own reason, and no others."""
    made = items(engine)
    wanted: dict[str, Callable[[int], list[object]]] = {
        "books": lambda n: [{"title": f"Book {n}"}, {"heads": ["One", str(n)]}],
        "moody": lambda n: [] if n % 50 in (0, 10, 20, 30) else [{"n": n}],
        "slow": lambda n: [{"slow": f"http://shop.test/books/{n}"}] if n % 5 == 0 else [],
    }
    for handler, of in wanted.items():
        kept = sorted((row["url"], row["n"], str(row["item"])) for row in made if row["handler"] == handler)
        truth = sorted(
            (f"http://shop.test/books/{n}", place, str(item)) for n in range(pages) for place, item in enumerate(of(n))
        )
        assert kept == truth, handler
    causes = sql(engine, "SELECT url, cause FROM extractions WHERE state = 'failed'")
    words = {0: "raised ValueError", 10: "took longer than 1 s", 20: "ended its process", 30: "needed more than"}
    assert len(causes) == sum(n % 50 in words for n in range(pages))
    for row in causes:
        assert words[int(row["url"].rsplit("/", 1)[1]) % 50] in row["cause"]
