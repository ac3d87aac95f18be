"""Handlers in files of their own, and the processes that run them."""

import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.features.extract import process
from app.features.extract.process import HandlerProcess, PageForHandler, handler_pool
from app.features.extract.run import Runner
from app.features.extract.write import Extraction
from tests.features.extract.archived import Shelf
from tests.store.rows import clean

MEMORY_BYTES = 512 * 1024**2


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """write(text, name="books.py"): a file with handlers. Returns its path."""

    def write(text: str, name: str = "books.py") -> str:
        path = tmp_path / name
        path.write_text("from app.features.extract.handlers import follow, handler\n" + textwrap.dedent(text))
        return str(path)

    return write


@pytest.fixture
def start(write: Callable[..., str]) -> Iterator[Callable[..., HandlerProcess]]:
    """start(text): a process with the handlers of this text."""
    with ExitStack() as started:

        def start(text: str, memory_bytes: int = MEMORY_BYTES) -> HandlerProcess:
            made = process.start([write(text)], memory_bytes=memory_bytes)
            started.callback(made.end)
            return made

        yield start


def page(
    body: bytes = b"<title>A book</title>", url: str = "http://a.test/books/1", capture: int = 7
) -> PageForHandler:
    values = {
        "url": url,
        "crawl": "shop",
        "status": 200,
        "headers": [["Content-Type", "text/html"]],
        "fetched_at": "2026-11-23T10:00:00+00:00",
        "is_cut": False,
        "capture": capture,
    }
    return PageForHandler(values=values, body=body)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def shelf(engine: Engine, tmp_path: Path, database_url: str) -> Shelf:
    return Shelf(engine, tmp_path, database_url)


@pytest.fixture
def shared(shelf: Shelf, write: Callable[..., str]) -> Iterator[Callable[..., Extraction]]:
    """shared(text, …): what runners share, with the handlers of this text; links are kept in `followed`."""
    with ExitStack() as pools:

        def shared(text: str, **given: Any) -> Extraction:
            pool = handler_pool([write(text)], memory_bytes=MEMORY_BYTES)
            pools.callback(pool.close)
            settings = given.pop("settings", None) or shelf.settings(handler_deadline_s=2)
            given.setdefault("admit", lambda found: None)
            return Extraction(engine=shelf.engine, settings=settings, pool=pool, **given)

        yield shared


def work(shared: Extraction) -> int:
    """Let one runner handle what is due. Returns how many rows it took."""
    runner = Runner(shared)
    try:
        return runner.run()
    finally:
        runner.close()
