"""The task that hands pages to handlers: its threads, when it is rung for, and what it does without any."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
import structlog
from sqlalchemy import Engine

from app import config
from app.celery import EXTRACT, make_app
from app.config import load
from app.features.extract.process import processors
from app.features.extract.run import AT_ONCE
from app.model.handler import HandlerSpec
from tests.features.extract.archived import Shelf, body, items
from tests.store.rows import clean, sql
from workers import extract, process

BOOKS = HandlerSpec(name="books", match=("/books/",))


# queues that the worker serves, its threads, processors → threads for handlers
@pytest.mark.parametrize(
    ("queues", "concurrency", "processors", "threads"),
    [
        (["maintenance", "extract", "host-00"], 64, 2, 2),
        (["maintenance", "extract", "host-00"], 64, 64, 16),
        (["extract", "host-00"], 3, 8, 1),
        (["extract"], 64, 8, 8),
        (["extract"], 4, 8, 4),
    ],
)
def test_handlers_take_a_bounded_share_of_the_threads(
    queues: list[str], concurrency: int, processors: int, threads: int
) -> None:
    assert extract.share(queues, concurrency, processors) == threads


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def shelf(engine: Engine, tmp_path: Path, database_url: str) -> Shelf:
    return Shelf(engine, tmp_path, database_url)


@pytest.fixture
def client(broker_url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(broker_url) as client:
        yield client


@pytest.fixture
def begin(
    database_url: str, broker_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], None]]:
    """begin(text): as a worker's process starts, with the handlers of this text."""
    made = (config.current, process.engine, process.worker, extract.extraction, extract._threads)

    def begin(text: str) -> None:
        if text:
            (tmp_path / "books.py").write_text(text)
            monkeypatch.setenv("TIPTOE_HANDLERS", str(tmp_path / "books.py"))
        monkeypatch.setenv("TIPTOE_DATABASE_URL", database_url)
        monkeypatch.setenv("TIPTOE_HOME", str(tmp_path))
        for cached in made:
            cached.clear()
        app = make_app(load(broker_url=broker_url))
        monkeypatch.setattr(extract, "app", app)

    yield begin
    extract._stopped()
    process._stopped()
    process.engine().dispose()
    for cached in made:
        cached.clear()


HANDLERS = """
from app.features.extract.handlers import handler

@handler(match="/books/")
def books(page):
    yield {"title": page.title}
"""


def test_a_turn_handles_what_is_due_and_rings_for_nothing_more(
    begin: Callable[[str], None], shelf: Shelf, client: "redis.Redis"
) -> None:
    begin(HANDLERS)
    shelf.due(shelf.put_all([(f"/books/{n}", body(f"Book {n}")) for n in range(3)]), BOOKS)
    assert extract.extract.run() == 3
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["Book 0", "Book 1", "Book 2"]
    assert (extract.extract.run(), client.llen(EXTRACT)) == (0, 0)


# due rows, messages unread → messages in all
@pytest.mark.parametrize(
    ("due", "unread", "messages"), [(0, 0, 0), (1, 0, 1), (1, 1, 1), (AT_ONCE + 1, 1, 2), (3, 40, 32)]
)
def test_as_many_turns_are_rung_for_as_can_be_used(
    begin: Callable[[str], None], shelf: Shelf, client: "redis.Redis", due: int, unread: int, messages: int
) -> None:
    begin(HANDLERS)
    shelf.due(shelf.put_all([(f"/books/{n}", body(f"Book {n}")) for n in range(due)]), BOOKS)
    for _ in range(unread):
        client.lpush(EXTRACT, "a message")
    extract.ring.run()
    assert client.llen(EXTRACT) == messages


def test_without_handlers_it_takes_nothing(begin: Callable[[str], None], shelf: Shelf) -> None:
    begin("")
    shelf.due([shelf.put("/books/1", body("One"))], BOOKS)
    assert extract.extract.run() == 0
    assert sql(shelf.engine, "SELECT takes FROM extractions") == [{"takes": 0}]


def test_handlers_that_do_not_load_are_a_line_of_the_log_and_the_rows_wait(
    begin: Callable[[str], None], shelf: Shelf
) -> None:
    begin("import nothing_of_this_name\n")
    shelf.due([shelf.put("/books/1", body("One"))], BOOKS)
    with structlog.testing.capture_logs() as logs:
        assert extract.extract.run() == 0
    (line,) = [log for log in logs if log["event"] == "extract.failed"]
    assert "does not import: ModuleNotFoundError" in line["error"]
    assert sql(shelf.engine, "SELECT state, takes FROM extractions") == [{"state": "due", "takes": 0}]


def test_a_thread_is_free_again_after_its_turn(begin: Callable[[str], None], shelf: Shelf) -> None:
    begin("import nothing_of_this_name\n")
    for _ in range(processors() + 1):  # there are no more of them than processors
        extract.extract.run()
    with extract._turn() as is_ours:
        assert is_ours
