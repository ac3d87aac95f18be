"""Handlers in files of their own, and the processes that run them."""

import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.extract import process
from app.extract.process import HandlerProcess, PageForHandler

MEMORY_BYTES = 512 * 1024**2


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """write(text, name="books.py"): a file with handlers. Returns its path."""

    def write(text: str, name: str = "books.py") -> str:
        path = tmp_path / name
        path.write_text("from app.extract.handlers import follow, handler\n" + textwrap.dedent(text))
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
